//! Signals that this process was started with as ignored, as `nohup` does with SIGHUP. An exec keeps a signal ignored, and a
//! shell cannot trap a signal that was ignored when it began.
//!
//! The spawner resets these signals. Without a spawner, each gets a handler in this process, which does nothing either: an
//! exec turns a handler into the default action.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// Makes programs that this process starts from now on begin with the default actions. Only the first call has an effect.
///
/// # Panics
///
/// Outside of a tokio runtime with I/O.
pub(super) fn make_default() {
    static LOOKED: Once = Once::new();
    LOOKED.call_once(|| {
        for number in ignored(&status()) {
            // The standard library resets SIGPIPE, which it ignores itself, in every program that it starts.
            if number != nix::libc::SIGPIPE
                && let Err(error) = signal(SignalKind::from_raw(number))
            {
                tracing::debug!(number, %error, "commands begin with a signal that is ignored");
            }
        }
    });
}

/// Returns whether this process ignores a signal now.
pub fn is_ignored(number: i32) -> bool {
    ignored(&status()).contains(&number)
}

fn status() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap_or_default()
}

/// Returns the numbers of the signals that are ignored according to `/proc/self/status`.
fn ignored(status: &str) -> Vec<i32> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    (1..=64)
        .filter(|number| mask >> (number - 1) & 1 == 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_the_kernel_is_read() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), [1, 13]);
        assert!(ignored("").is_empty() && ignored("SigIgn:\tx\n").is_empty());
    }
}
