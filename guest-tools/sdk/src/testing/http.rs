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
/// let http = FakeHttp::new().answers("GET", "https://example.com/a", 200, "hi");
/// let response = http.send(&Request::get("https://example.com/a"))?;
/// assert_eq!(response.text(), "hi");
/// assert_eq!(http.sent()[0].method, "GET");
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
}

/// The outcome of a request with this method and address.
#[derive(Debug)]
struct Answer {
    method: String,
    url: String,
    outcome: Result<Response, Error>,
}

impl FakeHttp {
    /// Makes a network that answers nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers one request with a response without headers. Answers for the same method and address come in the order of the script.
    #[must_use]
    pub fn answers(self, method: &str, url: &str, status: u16, body: impl Into<Vec<u8>>) -> Self {
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

    /// Returns the requests that were sent, also those that failed.
    #[must_use]
    pub fn sent(&self) -> Vec<Request> {
        self.network.borrow().sent.clone()
    }
}

impl Http for FakeHttp {
    fn send(&self, request: &Request) -> Result<Response, Error> {
        Url::read(&request.url)?;
        let mut network = self.network.borrow_mut();
        network.sent.push(request.clone());
        let is_meant =
            |answer: &Answer| answer.method == request.method && answer.url == request.url;
        let found = network.to_answer.iter().position(is_meant);
        let answer = found.and_then(|found| network.to_answer.remove(found));
        let outcome = answer.map(|answer| answer.outcome).unwrap_or_else(|| {
            let (method, url) = (&request.method, &request.url);
            Err(Error::Failed(format!(
                "the test has no script for {method} {url}"
            )))
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
            .answers("GET", url, 200, "one")
            .answers("POST", url, 201, "two")
            .answers("GET", url, 404, "three")
            .gives("GET", "https://c", Err(Error::Denied("no".to_owned())));
        let get = Request::get(url).header("accept", "text/plain");
        assert_eq!(http.send(&get).unwrap().text(), "one");
        assert_eq!(http.send(&get).unwrap().status, 404);
        let post = Request::post(url, "text/plain", "x");
        assert_eq!(http.send(&post).unwrap().status, 201);
        let denied = http.send(&Request::get("https://c")).unwrap_err();
        assert_eq!(ToolError::from(denied), ToolError::Denied("no".to_owned()));
        let error = http.send(&get).unwrap_err().to_string();
        assert_eq!(error, "the test has no script for GET https://a/b");
        assert_eq!(http.sent().len(), 5);
        assert_eq!(
            http.sent()[2].headers,
            [("content-type".to_owned(), "text/plain".to_owned())]
        );
        assert_eq!(http.sent()[2].body, b"x");
    }

    #[test]
    fn bounds_bodies_and_reads_addresses_as_the_host_does() {
        let http = FakeHttp::new().answers("GET", "https://a", 200, "long");
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
