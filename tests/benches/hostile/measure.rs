//! What the benchmark of hostile guests looks at: times, memory, descriptors, slopes.

use std::time::Duration;

pub(crate) fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    let last = times.len().saturating_sub(1);
    times.get(last * percent / 100).copied().unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

/// A value of `/proc/self/status` in KiB, by its name without the colon. One that is not there is no 0, which would look like
/// a good result.
pub(crate) fn kib(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the status can be read");
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
    number.expect("the status has this number")
}

/// Begins a new peak, where this user may.
pub(crate) fn forget_peak() {
    _ = std::fs::write("/proc/self/clear_refs", "5");
}

pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// The CPU time of this process.
pub(crate) fn cpu() -> Duration {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF);
    let usage = usage.expect("the system says what was used");
    let time = |value: nix::sys::time::TimeVal| {
        let seconds = u64::try_from(value.tv_sec()).unwrap_or(0);
        let micros = u64::try_from(value.tv_usec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    time(usage.user_time()) + time(usage.system_time())
}

/// The slope of the line that fits points best.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    covariance / variance
}
