//! Answers to requests that a test gives in place of the network.

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, Response, Uri};
use parking_lot::Mutex;

/// Answers to the requests of one call, in place of the network.
#[derive(Debug, Default)]
pub struct Answers {
    script: Mutex<Vec<Answer>>,
    unanswered: Mutex<Vec<String>>,
}

/// The answer to a request with this method and address.
#[derive(Debug)]
struct Answer {
    method: Method,
    uri: Uri,
    response: Response<Bytes>,
}

/// An answer that cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The method is none.
    #[error("{0:?} is no method of HTTP, such as GET")]
    Method(String),
    /// The address is not absolute.
    #[error("{0:?} is not an absolute URL that begins with http:// or https://")]
    Url(String),
    /// The status or a header is none.
    #[error("its status or a header is not valid: {0}")]
    Response(String),
}

impl Answers {
    /// Adds an answer. Several for the same method and address are given in this order, and the last one again and again.
    ///
    /// # Errors
    ///
    /// If the method, the address, the status or a header is not valid.
    pub fn add<'a>(
        &self,
        (method, url): (&str, &str),
        status: u16,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: impl Into<Bytes>,
    ) -> Result<(), AnswerError> {
        let parsed = method.to_ascii_uppercase().parse();
        let method = parsed.map_err(|_| AnswerError::Method(method.to_owned()))?;
        let uri: Option<Uri> = url.parse().ok();
        let is_web = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
        let uri = uri.filter(is_web);
        let uri = uri.ok_or_else(|| AnswerError::Url(url.to_owned()))?;
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        let response = response.body(body.into());
        let response = response.map_err(|error| AnswerError::Response(error.to_string()))?;
        self.script.lock().push(Answer {
            method,
            uri,
            response,
        });
        Ok(())
    }

    /// Returns a line for each request that had no answer.
    pub fn unanswered(&self) -> Vec<String> {
        self.unanswered.lock().clone()
    }

    /// Returns the answer to a request, or a text that says what there is instead.
    pub(crate) fn take(&self, request: &Parts) -> Result<Response<Bytes>, String> {
        let mut script = self.script.lock();
        let is_meant =
            |answer: &Answer| (&answer.method, &answer.uri) == (&request.method, &request.uri);
        let mut meant = script.iter().enumerate().filter(|(_, one)| is_meant(one));
        match (meant.next().map(|(index, _)| index), meant.next()) {
            (Some(first), Some(_)) => Ok(script.remove(first).response),
            (Some(only), None) => Ok(script
                .get(only)
                .map(|one| one.response.clone())
                .unwrap_or_default()),
            (None, _) => {
                let line = none_for(request, &script);
                self.unanswered.lock().push(line.clone());
                Err(line)
            }
        }
    }
}

/// Says that there is no answer to a request, and which answers there are.
fn none_for(request: &Parts, script: &[Answer]) -> String {
    let Parts { method, uri, .. } = request;
    let same_url = script.iter().filter(|answer| answer.uri == *uri);
    let methods: Vec<_> = same_url.map(|answer| answer.method.to_string()).collect();
    let there_is = match methods.is_empty() {
        false => format!("there is one for {}", methods.join(" and ")),
        true if script.is_empty() => "there are no answers".to_owned(),
        true => {
            let all = script.iter();
            let all = all.map(|answer| format!("{} {}", answer.method, answer.uri));
            format!("there is one for {}", all.collect::<Vec<_>>().join(" and "))
        }
    };
    format!("no answer for {method} {uri}; {there_is}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn parts(method: &str, url: &str) -> Parts {
        let request = Request::builder().method(method).uri(url);
        request.body(()).unwrap().into_parts().0
    }

    fn script(answers: &[(&str, &str, &'static str)]) -> Answers {
        let script = Answers::default();
        for (method, url, body) in answers {
            script.add((method, url), 200, [], *body).unwrap();
        }
        script
    }

    #[test]
    fn answers_come_in_order_and_the_last_one_stays() {
        let script = script(&[
            ("GET", "https://a", "one"),
            ("get", "https://A/", "two"),
            ("POST", "https://a/", "three"),
        ]);
        let body = |method| {
            script
                .take(&parts(method, "https://a/"))
                .unwrap()
                .into_body()
        };
        assert_eq!(body("GET"), "one");
        assert_eq!(body("POST"), "three");
        assert_eq!([body("GET"), body("GET")], ["two", "two"]);
        assert!(script.unanswered().is_empty());
    }

    #[test]
    fn a_request_without_an_answer_names_what_there_is() {
        let answers = script(&[("GET", "https://a/b?c", ""), ("PUT", "https://d/", "")]);
        let refused = |method, url| answers.take(&parts(method, url)).unwrap_err();
        let wrong_method = "no answer for POST https://a/b?c; there is one for GET";
        assert_eq!(refused("POST", "https://a/b?c"), wrong_method);
        let wrong_url =
            "no answer for GET https://a/b; there is one for GET https://a/b?c and PUT https://d/";
        assert_eq!(refused("GET", "https://a/b"), wrong_url);
        assert_eq!(answers.unanswered(), [wrong_method, wrong_url]);
        let nothing = script(&[]).take(&parts("GET", "http://a/")).unwrap_err();
        assert_eq!(nothing, "no answer for GET http://a/; there are no answers");
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let add = |method, url, status, headers: &[(&str, &str)]| {
            let added = Answers::default().add((method, url), status, headers.iter().copied(), "");
            added.unwrap_err().to_string()
        };
        assert!(add("G T", "https://a", 200, &[]).contains("no method of HTTP"));
        for url in ["/a", "ftp://a", "a", ""] {
            assert!(
                add("GET", url, 200, &[]).contains("not an absolute URL"),
                "{url}"
            );
        }
        assert!(add("GET", "https://a", 7, &[]).contains("not valid"));
        assert!(add("GET", "https://a", 200, &[("a b", "")]).contains("not valid"));
    }
}
