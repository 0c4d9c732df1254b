//! The last words of a guest: one line made of its standard error, in the form of the language that wrote it.

use crate::text::shown_up_to;

/// The most bytes of the line.
const MAX_WORDS: usize = 600;

/// What the runtime of StarlingMonkey adds when it ends, below the exception.
const FAREWELL: &str = "Redirecting call to abort() to ";

/// The line above the frames of an exception that the runtime of StarlingMonkey itself throws.
const STACK: &str = "Stack:";

/// Returns what a guest said last, and where, in one line. Returns `None` if it said nothing.
pub(super) fn of(lines: &[String]) -> Option<String> {
    let lines = match lines.split_last() {
        Some((last, rest)) if last.starts_with(FAREWELL) && !rest.is_empty() => rest,
        _ => lines,
    };
    let words = quickjs(lines)
        .or_else(|| python(lines))
        .or_else(|| rust(lines))
        .or_else(|| go(lines))
        .or_else(|| starlingmonkey(lines))
        .or_else(|| last(lines))?;
    Some(shown_up_to(&words, MAX_WORDS))
}

/// Reads the exception that the runtime of QuickJS prints within a panic of its own:
/// `Exception { message: Some("…"), stack: Some("    at run (plugin.js:46:56)\n …`.
fn quickjs(lines: &[String]) -> Option<String> {
    let line = lines
        .iter()
        .rfind(|line| line.contains("Exception { message: Some("))?;
    let message = between(line, "message: Some(\"", "\")")?;
    let place = between(line, "stack: Some(\"", "\\n");
    Some(match place {
        Some(place) => format!("{message}, {}", place.trim()),
        None => message.into(),
    })
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// Reads a panic of Rust: `thread '<unnamed>' panicked at src/lib.rs:30:29:`, its message in the lines below, and a note.
fn rust(lines: &[String]) -> Option<String> {
    let at = lines
        .iter()
        .rposition(|line| line.contains("panicked at "))?;
    let (_, place) = lines.get(at)?.split_once("panicked at ")?;
    let message = lines.iter().skip(at + 1);
    let message = message
        .take_while(|line| !line.starts_with("note: ") && !line.starts_with("stack backtrace:"));
    let message = message.map(|line| line.trim());
    let message: Vec<_> = message.filter(|line| !line.is_empty()).collect();
    let message = message.join("; ");
    // The number that WASI has for a file that does not exist.
    let advice = match message.contains("Os { code: 44,") {
        true => "; std::fs reaches no files of the workspace: use toolhost_sdk::files",
        false => "",
    };
    Some(
        format!("panicked at {place} {message}{advice}")
            .trim_end()
            .into(),
    )
}

/// Returns whether a line is one of those that Rust prints around the message of a panic. They say nothing that [`of`] does not.
pub(super) fn is_around_panic(line: &str) -> bool {
    line.is_empty()
        || (line.starts_with("thread '") && line.contains(" panicked at "))
        || line.starts_with("note: run with `RUST_BACKTRACE=1` ")
}

/// Reads a traceback of Python: the places, the innermost last, and then the exception. The panic of its runtime below says less.
fn python(lines: &[String]) -> Option<String> {
    let at = lines
        .iter()
        .rposition(|line| line.starts_with("Traceback (most recent call last)"))?;
    let trace = lines.get(at + 1..)?;
    let exception = trace
        .iter()
        .find(|line| !line.starts_with(char::is_whitespace))?;
    let place = trace
        .iter()
        .rfind(|line| line.trim_start().starts_with("File \""));
    Some(match place {
        Some(place) => format!("{exception}, at {}", place.trim()),
        None => exception.clone(),
    })
}

/// Reads a panic or fatal error of Go: its message, and the place of the innermost function of the goroutine below it.
fn go(lines: &[String]) -> Option<String> {
    let is_end = |line: &&String| line.starts_with("panic: ") || line.starts_with("fatal error: ");
    let message = lines.iter().find(is_end)?;
    let mut below = lines
        .iter()
        .skip_while(|line| !line.starts_with("goroutine "));
    let is_place = |line: &&String| {
        line.trim_start()
            .split(':')
            .next()
            .is_some_and(|path| path.ends_with(".go"))
    };
    let place = below.find(is_place);
    Some(match place {
        Some(place) => {
            // Behind the line stands the offset in the function.
            let place = place.trim();
            let place = place.split_once(' ').map_or(place, |(place, _)| place);
            format!("{message}, at {place}")
        }
        None => message.clone(),
    })
}

/// Reads the exception that the runtime of StarlingMonkey prints: a message, and frames such as `run@bundle.js:619:46` below it. If the
/// exception is no error of the contract, a second one follows that says so. Its frames are below a line `Stack:`.
fn starlingmonkey(lines: &[String]) -> Option<String> {
    let frames = |message: &str, frame: &str| !is_frame(message) && is_frame(frame);
    let first = lines.windows(2).rev().find_map(|window| match window {
        [message, frame] if message != STACK && frames(message, frame) => Some((message, frame)),
        _ => None,
    });
    let second = || {
        lines.windows(3).rev().find_map(|window| match window {
            [message, stack, frame] if stack == STACK && is_frame(frame) => Some((message, frame)),
            _ => None,
        })
    };
    let (message, frame) = first.or_else(second)?;
    Some(format!("{message}, at {}", frame.trim()))
}

/// Returns whether a line is a frame as SpiderMonkey writes it: `function@file:line:column`.
fn is_frame(line: &str) -> bool {
    let is_number = |text: Option<&str>| text.is_some_and(|text| text.parse::<u32>().is_ok());
    let Some((_, place)) = line.split_once('@') else {
        return false;
    };
    let mut parts = place.rsplit(':');
    is_number(parts.next()) && is_number(parts.next())
}

/// Takes the last line that is not indented, and the first indented one below it, as JavaScript shows an error.
fn last(lines: &[String]) -> Option<String> {
    let is_indented = |line: &&String| line.starts_with(char::is_whitespace);
    let at = lines.iter().rposition(|line| !is_indented(&line));
    let at = at.unwrap_or_default();
    let line = lines.get(at)?.trim();
    Some(match lines.get(at + 1) {
        Some(place) => format!("{line}, {}", place.trim()),
        None => line.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<String> {
        of(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_panic_is_its_place_and_its_message() {
        let panic = "thread '<unnamed>' (1) panicked at src/lib.rs:30:29:\ntext too long\nby 3\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        assert_eq!(
            words(panic).as_deref(),
            Some("panicked at src/lib.rs:30:29: text too long; by 3")
        );
    }

    #[test]
    fn a_panic_about_a_file_says_how_to_reach_files() {
        let panic = "thread 'main' panicked at src/lib.rs:9:58:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 44, kind: NotFound, message: \"No such file or directory\" }";
        let words = words(panic).unwrap();
        assert!(
            words.ends_with(
                " }; std::fs reaches no files of the workspace: use toolhost_sdk::files"
            ),
            "{words}"
        );
    }

    #[test]
    fn the_lines_around_a_panic_add_nothing() {
        let panic = "\nthread '<unnamed>' (1) panicked at src/lib.rs:30:29:\ntext too long\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let others: Vec<_> = panic
            .lines()
            .filter(|line| !is_around_panic(line))
            .collect();
        assert_eq!(others, ["text too long"]);
    }

    #[test]
    fn a_traceback_is_its_exception_and_its_innermost_place() {
        let trace = "Traceback (most recent call last):\n  File \"/0/app.py\", line 5, in call_tool\n    run()\n  File \"/0/app.py\", line 30, in run\n    int(\"many\")\n    ~~~^^^^^^^^\nValueError: invalid literal for int()";
        assert_eq!(
            words(trace).as_deref(),
            Some("ValueError: invalid literal for int(), at File \"/0/app.py\", line 30, in run")
        );
    }

    #[test]
    fn an_exception_of_quickjs_is_found_within_the_panic_of_its_runtime() {
        let panic = "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'callTool': Value(Exception(\nException { message: Some(\"kaputt\"), stack: Some(\"    at run (/a/plugin.js:46:56)\\n    at callTool (/a/plugin.js:129:42)\\n\") })\n)\nnote: run with `RUST_BACKTRACE=1`";
        assert_eq!(
            words(panic).as_deref(),
            Some("kaputt, at run (/a/plugin.js:46:56)")
        );
    }

    #[test]
    fn a_panic_of_go_is_its_message_and_its_innermost_place() {
        let trace = "panic: kaputt [recovered]\n\ngoroutine 1 [running]:\nwit_component/export.fail({0x1, 0x2})\n\t/a/export/plugin.go:102 +0x34\nwit_component/export.CallTool(...)\n\t/a/export/tools.go:55";
        assert_eq!(
            words(trace).as_deref(),
            Some("panic: kaputt [recovered], at /a/export/plugin.go:102")
        );
        assert_eq!(
            words("fatal error: out of memory").as_deref(),
            Some("fatal error: out of memory")
        );
    }

    #[test]
    fn an_exception_of_starlingmonkey_is_its_message_and_its_innermost_place() {
        let thrown = "TypeError: URL constructor: nowhere is not a valid URL.\nrun@bundle.js:619:46\ncall@bundle.js:536:25\nfn@/tmp/c2c30a7d2f60/sources/initializer.js:3554:33\n";
        let runtime = "invalid variant tag value `undefined` (received `TypeError: URL constructor: nowhere is not a valid URL.`) specified for `ToolError`\nStack:\n  export_tools_0_1_0$callTool@/tmp/c2c30a7d2f60/sources/initializer.js:3834:15\n";
        let farewell = "Redirecting call to abort() to mozalloc_abort";
        assert_eq!(
            words(&format!("{thrown}{runtime}{farewell}")).as_deref(),
            Some(
                "TypeError: URL constructor: nowhere is not a valid URL., at run@bundle.js:619:46"
            )
        );
        assert_eq!(
            words(&format!("{runtime}{farewell}")).as_deref(),
            Some(
                "invalid variant tag value `undefined` (received `TypeError: URL constructor: nowhere is not a valid URL.`) specified for `ToolError`, at export_tools_0_1_0$callTool@/tmp/c2c30a7d2f60/sources/initializer.js:3834:15"
            )
        );
    }

    #[test]
    fn other_words_are_the_last_ones() {
        assert_eq!(words(""), None);
        assert_eq!(
            words("one\nTypeError: x is null\n    at run (plugin.js:1:2)\n    at main").as_deref(),
            Some("TypeError: x is null, at run (plugin.js:1:2)")
        );
        assert_eq!(words("a\nb").as_deref(), Some("b"));
        let farewell = "Redirecting call to abort() to mozalloc_abort";
        let ended = format!("TypeError: x is null\n    at run (plugin.js:1:2)\n{farewell}");
        assert_eq!(
            words(&ended).as_deref(),
            Some("TypeError: x is null, at run (plugin.js:1:2)")
        );
        assert_eq!(words(farewell).as_deref(), Some(farewell));
    }
}
