//! Requests over HTTP.

use std::sync::Arc;
use std::time::Instant;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{Buckets, Counters, Histograms, Metrics, add};

/// Seconds until an answer begins: most take a millisecond, calls as long as they take.
const UNTIL_ANSWER: Buckets = Buckets(&[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0,
]);

/// The methods that are labels. Any other method of a client is `other`.
const METHODS: [&str; 7] = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH"];

#[derive(Debug)]
pub(super) struct Http {
    requests: Counters,
    duration: Histograms,
    in_flight: Gauge,
}

impl Http {
    pub(super) fn register(r: &mut Registry) -> Self {
        Self {
            requests: add(
                r,
                "http_requests",
                "Requests that were answered",
                Counters::default(),
            ),
            duration: add(
                r,
                "http_request_duration_seconds",
                "Time until an answer began",
                Family::new_with_constructor(UNTIL_ANSWER),
            ),
            in_flight: add(
                r,
                "http_requests_in_flight",
                "Requests whose answer has not begun",
                Gauge::default(),
            ),
        }
    }
}

/// A request whose answer has not begun. If it is dropped before that, the client has left.
#[derive(Debug)]
pub struct InFlight {
    metrics: Metrics,
    /// The pattern of the route, as it is in the program: few, and none of a client.
    route: Arc<str>,
    method: &'static str,
    began: Instant,
    status: &'static str,
}

impl Metrics {
    /// Counts a request until the returned guard is dropped.
    pub fn http_request_began(&self, route: Option<&str>, method: &str) -> InFlight {
        self.inner.http.in_flight.inc();
        let mut methods = METHODS.into_iter();
        InFlight {
            metrics: self.clone(),
            route: route.unwrap_or("none").into(),
            method: methods.find(|known| *known == method).unwrap_or("other"),
            began: Instant::now(),
            status: "left",
        }
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
        let http = &self.metrics.inner.http;
        http.in_flight.dec();
        let route = ("route", Arc::clone(&self.route));
        let seconds = self.began.elapsed().as_secs_f64();
        let histogram = http.duration.get_or_create_owned(&vec![route.clone()]);
        histogram.observe(seconds);
        let labels = vec![
            route,
            ("method", self.method.into()),
            ("status", self.status.into()),
        ];
        http.requests.get_or_create(&labels).inc();
    }
}
