//! Requests over HTTP.

use std::sync::Arc;
use std::time::Instant;

use super::Metrics;

/// The methods that are labels. Any other method of a client is `other`.
const METHODS: [&str; 7] = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH"];

/// A request whose answer has not begun. If it is dropped before that, the client has left.
#[derive(Debug)]
pub struct InFlight {
    metrics: Metrics,
    /// The pattern of the route, not the path of the client: there are only few patterns.
    route: Arc<str>,
    method: &'static str,
    began: Instant,
    status: &'static str,
}

impl Metrics {
    /// Counts a request until the returned guard is dropped.
    pub fn http_request_began(&self, route: Option<&str>, method: &str) -> InFlight {
        self.inner.counted.in_flight.inc();
        let mut methods = METHODS.into_iter();
        InFlight {
            metrics: self.clone(),
            route: route.unwrap_or("none").into(),
            method: methods.find(|known| *known == method).unwrap_or("other"),
            began: Instant::now(),
            status: "left",
        }
    }

    /// Counts a request that was sent on to another host: whether that answered, or the code of the problem.
    pub fn request_forwarded(&self, answer: &'static str) {
        let labels = vec![("answer", Arc::from(answer))];
        let counted = &self.inner.counted;
        counted.forwarded.get_or_create(&labels).inc();
    }
}

impl InFlight {
    /// Counts the answer, and returns how long it took.
    pub fn answered(mut self, status: u16) -> std::time::Duration {
        self.status = match status / 100 {
            1 => "1xx",
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            _ => "5xx",
        };
        self.began.elapsed()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let counted = &self.metrics.inner.counted;
        counted.in_flight.dec();
        let route = ("route", Arc::clone(&self.route));
        let seconds = self.began.elapsed().as_secs_f64();
        let histogram = counted
            .until_answer
            .get_or_create_owned(&vec![route.clone()]);
        histogram.observe(seconds);
        let labels = vec![
            route,
            ("method", self.method.into()),
            ("status", self.status.into()),
        ];
        counted.requests.get_or_create(&labels).inc();
    }
}
