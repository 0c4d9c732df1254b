//! The functions that a guest was in when it ended.

use wasmtime::WasmBacktrace;

use crate::text::shown_up_to;

/// How many functions are kept, and how many bytes of the name of each.
const MOST_FRAMES: usize = 16;
const MAX_NAME: usize = 200;

/// How the functions begin that report a panic in Rust, or end the program. The place of the mistake is below them.
const MACHINERY: [&str; 10] = [
    "__rust",
    "rust_",
    "_Exit",
    "abort",
    "std::panicking",
    "std::process",
    "std::sys",
    "core::panicking",
    "core::option::",
    "core::result::",
];

/// Between the name of a function and its offset in the core module, with which `wasm-tools addr2line` finds the line.
pub(super) const AT: &str = " at 0x";

/// Returns the functions of a backtrace, the innermost first, without the machinery of a panic at its beginning. A function that
/// calls itself is there once in a row.
pub(super) fn frames(trace: &WasmBacktrace) -> Vec<String> {
    let mut previous = None;
    let frames = trace.frames().iter().filter(|frame| {
        let function = Some(frame.func_index());
        std::mem::replace(&mut previous, function) != function
    });
    let frames = frames.map(|frame| {
        let name = match frame.func_name() {
            Some(name) => demangled(name),
            None => format!("function {}", frame.func_index()),
        };
        match frame.module_offset() {
            Some(offset) => format!("{name}{AT}{offset:x}"),
            None => name,
        }
    });
    let frames = frames.skip_while(|frame| is_machinery(frame));
    frames.take(MOST_FRAMES).collect()
}

/// Returns the name of a function as its author wrote it, without the hash that Rust adds.
fn demangled(name: &str) -> String {
    // The reader of names takes time that grows with their length.
    let name = name
        .get(..name.floor_char_boundary(8 * MAX_NAME))
        .unwrap_or(name);
    shown_up_to(&format!("{:#}", rustc_demangle::demangle(name)), MAX_NAME)
}

/// Returns the name of the innermost function. Without a name, returns its index and offset.
pub(super) fn place(frames: &[String]) -> Option<&str> {
    let innermost = frames.first()?;
    let named = innermost.split_once(AT).map(|(name, _)| name);
    Some(match named.filter(|name| !name.starts_with("function ")) {
        Some(name) => name,
        None => innermost,
    })
}

fn is_machinery(frame: &str) -> bool {
    let name = frame.trim_start_matches('<');
    MACHINERY.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_author() {
        assert_eq!(
            demangled("_ZN10word_count4call17h0123456789abcdefE"),
            "word_count::call"
        );
        assert_eq!(demangled("plain"), "plain");
        assert_eq!(demangled("a\u{1b}[2J"), "a\\u{1b}[2J");
    }

    #[test]
    fn the_place_is_below_the_machinery() {
        for machinery in [
            "__rustc::__rust_start_panic at 0x1",
            "<std::panicking::Payload as core::panic::PanicPayload>::get at 0x2",
            "core::option::unwrap_failed at 0x3",
        ] {
            assert!(is_machinery(machinery), "{machinery}");
        }
        assert!(!is_machinery("word_count::call at 0x4"));
        let place = |frame: &str| place(&[frame.to_owned()]).map(str::to_owned);
        assert_eq!(
            place("word_count::call at 0x4").as_deref(),
            Some("word_count::call")
        );
        assert_eq!(
            place("function 7 at 0x4").as_deref(),
            Some("function 7 at 0x4")
        );
    }
}
