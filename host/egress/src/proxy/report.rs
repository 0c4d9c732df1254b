//! Reports to the observer. Their number is bounded, so that a command in a loop cannot fill the audit trail.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::EgressError;
use super::observer::Observer;
use crate::rules::Target;

/// The length of a window.
const WINDOW: Duration = Duration::from_secs(60);

/// The most reports of connections in a window.
const CONNECTIONS: u64 = 256;

/// The most reports of refusals in a window.
const REFUSALS: u64 = 64;

/// The reporter of a proxy, which keeps to the bounds.
#[derive(Debug)]
pub(super) struct Reports {
    observer: Arc<dyn Observer>,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    connected: Count,
    refused: Count,
}

#[derive(Debug, Default)]
struct Count {
    reported: u64,
    left_out: u64,
}

impl Count {
    /// Counts an event, and returns whether to report it.
    fn take(&mut self, most: u64) -> bool {
        if self.reported < most {
            self.reported += 1;
            return true;
        }
        self.left_out += 1;
        false
    }
}

impl Window {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            connected: Count::default(),
            refused: Count::default(),
        }
    }
}

impl Reports {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self {
            observer,
            window: Mutex::new(Window::new()),
        }
    }

    pub(super) fn connected(&self, target: &Target, address: IpAddr) {
        if self.count(|window| window.connected.take(CONNECTIONS)) {
            self.observer.connected(target, address);
        }
    }

    pub(super) fn refused(&self, target: &str, why: &EgressError) {
        if self.count(|window| window.refused.take(REFUSALS)) {
            self.observer.refused(target, why);
        }
    }

    /// Counts an event in the current window, and returns whether to report it. If a window has ended, reports what it left out.
    fn count(&self, take: impl FnOnce(&mut Window) -> bool) -> bool {
        let (is_reported, ended) = {
            let mut window = self.window.lock();
            let over = window.began.elapsed() >= WINDOW;
            let ended = over.then(|| std::mem::replace(&mut *window, Window::new()));
            (take(&mut window), ended)
        };
        if let Some(ended) = ended {
            self.report_left_out(&ended);
        }
        is_reported
    }

    fn report_left_out(&self, window: &Window) {
        let (connected, refused) = (window.connected.left_out, window.refused.left_out);
        if connected > 0 || refused > 0 {
            self.observer.left_out(connected, refused);
        }
    }
}

/// Reports what the last window left out.
impl Drop for Reports {
    fn drop(&mut self) {
        let window = std::mem::replace(self.window.get_mut(), Window::new());
        self.report_left_out(&window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Recorder(Mutex<Vec<(u64, u64)>>, Mutex<(u64, u64)>);

    impl Observer for Recorder {
        fn connected(&self, _: &Target, _: IpAddr) {
            self.1.lock().0 += 1;
        }

        fn refused(&self, _: &str, _: &EgressError) {
            self.1.lock().1 += 1;
        }

        fn left_out(&self, connected: u64, refused: u64) {
            self.0.lock().push((connected, refused));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reports_are_bounded_for_each_minute_and_the_rest_is_counted() {
        let recorder = Arc::new(Recorder::default());
        let reports = Reports::new(Arc::clone(&recorder) as Arc<dyn Observer>);
        let target = Target::parse("a:1", None).unwrap();
        let address = IpAddr::from([127, 0, 0, 1]);
        for _ in 0..300 {
            reports.refused("a:1", &EgressError::NotListed);
        }
        // Refusals do not take the place of connections.
        reports.connected(&target, address);
        assert_eq!(*recorder.1.lock(), (1, 64));
        assert!(recorder.0.lock().is_empty());

        tokio::time::advance(WINDOW).await;
        reports.refused("a:1", &EgressError::NotListed);
        assert_eq!(*recorder.0.lock(), [(0, 236)]);
        assert_eq!(*recorder.1.lock(), (1, 65));

        for _ in 0..260 {
            reports.connected(&target, address);
        }
        drop(reports);
        assert_eq!(*recorder.0.lock(), [(0, 236), (4, 0)]);
        assert_eq!(*recorder.1.lock(), (257, 65));
    }
}
