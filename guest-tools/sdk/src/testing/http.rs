//! Requests, all of them scripted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::http::{Error, Http, Request, Response, Url};

/// Stands in for the host's HTTP, follows a script, and remembers the requests.
///
/// ```
/// use toolhost_sdk::http::{Http, Request};
/// use toolhost_sdk::testing::FakeHttp;
///
/// let http = FakeHttp::new().responds("GET", "https://example.com/a", 200, "hi");
/// let response = http.send(&Request::get("https://example.com/a"))?;
/// assert_eq!(response.text(), "hi");
/// assert_eq!(http.requests()[0].method, "GET");
/// # Ok::<(), toolhost_sdk::http::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FakeHttp {
    network: Rc<RefCell<Network>>,
}

#[derive(Debug, Default)]
struct Network {
    to_answer: VecDeque<Answer>,
    sent: Vec<Request>,
    /// A line for each request without an answer.
    unanswered: Vec<String>,
    /// Whether the last answer for a method and an address stays.
    repeats: bool,
}

/// The outcome of a request with this method and address.
#[derive(Debug)]
struct Answer {
    method: String,
    url: String,
    outcome: Result<Response, Error>,
}

impl Answer {
    fn has_url(&self, url: &str) -> bool {
        match (Url::read(&self.url), Url::read(url)) {
            (Ok(own), Ok(other)) => own == other,
            _ => self.url == url,
        }
    }

    fn is_for(&self, request: &Request) -> bool {
        self.method == request.method && self.has_url(&request.url)
    }
}

impl Network {
    /// Takes the next answer to a request.
    fn answer(&mut self, request: &Request) -> Option<Result<Response, Error>> {
        let mut meant = self.to_answer.iter().enumerate();
        let (found, answer) = meant.find(|(_, answer)| answer.is_for(request))?;
        if self.repeats && !meant.any(|(_, answer)| answer.is_for(request)) {
            return Some(answer.outcome.clone());
        }
        self.to_answer.remove(found).map(|answer| answer.outcome)
    }

    /// Says that there is no answer to a request, and which answers there are.
    fn none_for(&self, request: &Request) -> String {
        let (method, url) = (&request.method, &request.url);
        let same_url = self.to_answer.iter().filter(|answer| answer.has_url(url));
        let mut known: Vec<_> = same_url.map(|answer| answer.method.clone()).collect();
        if known.is_empty() {
            let all = self.to_answer.iter();
            known = all
                .map(|answer| format!("{} {}", answer.method, answer.url))
                .collect();
        }
        let there_is = match known.is_empty() {
            true => "there are no answers".to_owned(),
            false => format!("there is one for {}", known.join(" and ")),
        };
        format!("no answer for {method} {url}; {there_is}")
    }
}

impl FakeHttp {
    /// Makes a network that answers nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers one request with a response without headers. Answers for the same method and address come in the order of the script.
    #[must_use]
    pub fn responds(self, method: &str, url: &str, status: u16, body: impl Into<Vec<u8>>) -> Self {
        let response = Response {
            status,
            body: body.into(),
            ..Response::default()
        };
        self.gives(method, url, Ok(response))
    }

    /// Gives one request this outcome.
    #[must_use]
    pub fn gives(self, method: &str, url: &str, outcome: Result<Response, Error>) -> Self {
        self.network.borrow_mut().to_answer.push_back(Answer {
            method: method.to_owned(),
            url: url.to_owned(),
            outcome,
        });
        self
    }

    /// Answers like the network of a case: the last answer for a method and an address is given again and again.
    pub(super) fn repeating(self) -> Self {
        self.network.borrow_mut().repeats = true;
        self
    }

    /// Returns a line for each request that had no answer.
    pub(super) fn unanswered(&self) -> Vec<String> {
        self.network.borrow().unanswered.clone()
    }

    /// Returns the requests that were sent, also those that failed.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.network.borrow().sent.clone()
    }
}

impl Http for FakeHttp {
    fn send(&self, request: &Request) -> Result<Response, Error> {
        Url::read(&request.url)?;
        let mut network = self.network.borrow_mut();
        network.sent.push(request.clone());
        let outcome = network.answer(request).unwrap_or_else(|| {
            let text = network.none_for(request);
            network.unanswered.push(text.clone());
            Err(Error::Failed(text))
        });
        match outcome {
            Ok(response) if response.body.len() > request.max_response => {
                Err(Error::TooLarge(request.max_response))
            }
            outcome => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolError;

    #[test]
    fn follows_its_script() {
        let url = "https://a/b";
        let http = FakeHttp::new()
            .responds("GET", url, 200, "one")
            .responds("POST", url, 201, "two")
            .responds("GET", url, 404, "three")
            .gives("GET", "https://c", Err(Error::Denied("no".to_owned())));
        let get = Request::get(url).header("accept", "text/plain");
        assert_eq!(http.send(&get).unwrap().text(), "one");
        assert_eq!(http.send(&get).unwrap().status, 404);
        let post = Request::post(url, "text/plain", "x");
        assert_eq!(http.send(&post).unwrap().status, 201);
        let denied = http.send(&Request::get("https://c")).unwrap_err();
        assert_eq!(ToolError::from(denied), ToolError::Denied("no".to_owned()));
        let error = http.send(&get).unwrap_err().to_string();
        assert_eq!(error, "no answer for GET https://a/b; there are no answers");
        assert_eq!(http.requests().len(), 5);
        assert_eq!(
            http.requests()[2].headers,
            [("content-type".to_owned(), "text/plain".to_owned())]
        );
        assert_eq!(http.requests()[2].body, b"x");
    }

    #[test]
    fn a_request_with_another_method_names_that_of_the_answer() {
        let http = FakeHttp::new()
            .responds("GET", "https://a", 200, "one")
            .repeating();
        for _ in 0..2 {
            assert_eq!(
                http.send(&Request::get("https://a/")).unwrap().text(),
                "one"
            );
        }
        let post = Request::post("https://a/", "text/plain", "x");
        let text = "no answer for POST https://a/; there is one for GET";
        assert_eq!(http.send(&post), Err(Error::Failed(text.to_owned())));
        assert_eq!(http.unanswered(), [text]);
    }

    #[test]
    fn bounds_bodies_and_reads_addresses_as_the_host_does() {
        let http = FakeHttp::new().responds("GET", "https://a", 200, "long");
        let short = Request {
            max_response: 3,
            ..Request::get("https://a")
        };
        assert_eq!(http.send(&short), Err(Error::TooLarge(3)));
        assert!(matches!(
            http.send(&Request::get("a")),
            Err(Error::Invalid(_))
        ));
    }
}
