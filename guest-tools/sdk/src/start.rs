//! Preparations before the first call: the destinations of panics and log records.

#[cfg(not(target_family = "wasm"))]
use std::sync::Once;
#[cfg(target_family = "wasm")]
use std::sync::atomic::{AtomicBool, Ordering};

/// The `Once` of a component, which has one thread: a flag.
#[cfg(target_family = "wasm")]
struct Once(AtomicBool);

#[cfg(target_family = "wasm")]
impl Once {
    const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    fn call_once(&self, run: impl FnOnce()) {
        if !self.0.swap(true, Ordering::Relaxed) {
            run();
        }
    }
}

/// Sends panics, and the records of the crates `log` and `tracing`, to the host.
pub(crate) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        #[cfg(target_family = "wasm")]
        panics::report();
        #[cfg(feature = "log")]
        crate::log::facade::install();
        #[cfg(feature = "tracing")]
        crate::log::subscriber::install();
    });
}

/// One line on standard error for a panic: the host puts it into its report of the broken call.
#[cfg(any(target_family = "wasm", test))]
mod panics {
    /// Replaces the lines that Rust prints, the first of which is empty.
    #[cfg(target_family = "wasm")]
    pub(super) fn report() {
        use std::io::Write as _;

        use crate::parameters::{decimal, text};

        std::panic::set_hook(Box::new(|panic| {
            let words = panic.payload_as_str().unwrap_or("no text");
            let place = panic.location().map_or_else(String::new, |place| {
                let number = |number: u32| decimal(false, number.into());
                text(&[
                    place.file(),
                    ":",
                    &number(place.line()),
                    ":",
                    &number(place.column()),
                ])
            });
            let line = line(words, &place);
            // There is no place to report that the line cannot be written.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }));
    }

    /// Joins the lines of a text, since those of `assert_eq!` are three.
    pub(super) fn line(words: &str, place: &str) -> String {
        let mut line = ["panicked at ", place, ":"].concat();
        let mut separator = " ";
        for part in words
            .split('\n')
            .map(str::trim_ascii)
            .filter(|part| !part.is_empty())
        {
            line.push_str(separator);
            line.push_str(part);
            separator = "; ";
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::panics::line;

    #[test]
    fn a_panic_is_one_line() {
        assert_eq!(
            line("text too long", "src/lib.rs:30:29"),
            "panicked at src/lib.rs:30:29: text too long\n"
        );
        assert_eq!(
            line(
                "assertion `left == right` failed\n  left: 1\n right: 2",
                "a"
            ),
            "panicked at a: assertion `left == right` failed; left: 1; right: 2\n"
        );
    }
}
