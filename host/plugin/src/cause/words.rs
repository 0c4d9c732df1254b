//! The last words of a guest: one line made of its standard error, in the form of the language that wrote it.

use crate::text::shown_up_to;

/// The most bytes of the line.
const MAX_WORDS: usize = 600;

/// What the runtime of StarlingMonkey adds when it ends, below the exception.
const FAREWELL: &str = "Redirecting call to abort() to ";

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
    Some(message.fold(format!("panicked at {place}"), |text, line| {
        format!("{text} {}", line.trim())
    }))
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
            Some("panicked at src/lib.rs:30:29: text too long by 3")
        );
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
