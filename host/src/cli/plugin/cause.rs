//! The cause of a failure of a guest, as the author of the plugin reads it.

use std::path::Path;

use bytes::Bytes;

use toolhost_author::Language;
use toolhost_plugin::Cause;
use toolhost_service::stderr;

/// Returns the words of the guest, and where it was.
pub(super) fn lines(cause: &Cause) -> Vec<String> {
    let mut lines = vec![format!("cause     {}", cause.text)];
    lines.extend(cause.stderr.iter().map(|line| format!("          {line}")));
    lines.extend(places(cause));
    lines
}

/// Returns a line for each function that the guest was in.
fn places(cause: &Cause) -> impl Iterator<Item = String> {
    let frames = cause.backtrace.iter();
    frames.map(|frame| format!("          in {frame}"))
}

/// Prints where a guest was that failed, with the lines that its component has. The log has its words.
pub(super) async fn print_places(
    cause: Cause,
    component: &Path,
    language: Option<Language>,
) -> anyhow::Result<()> {
    let component = super::component(component)?;
    let cause = cause.with_lines(Bytes::from(component)).await;
    places(&cause).for_each(|line| stderr::line(&line));
    if let Some(hint) = language.and_then(|language| hint(&cause, language)) {
        stderr::line(hint);
    }
    Ok(())
}

/// Returns how to find the lines of the source, if the component does not have them and can.
fn hint(cause: &Cause, language: Language) -> Option<&'static str> {
    let has_lines = cause.backtrace.iter().any(|frame| frame.ends_with(')'));
    let can_have = matches!(language, Language::Rust | Language::C);
    (can_have && !has_lines && !cause.backtrace.is_empty()).then_some(
        "toolhost: to see the lines of the source, build with `toolhost plugin build --debug`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(frame: &str) -> Cause {
        Cause {
            text: "broken".into(),
            stderr: vec!["line".into()],
            backtrace: vec![frame.into()],
        }
    }

    #[test]
    fn words_come_before_places() {
        let expected = [
            "cause     broken",
            "          line",
            "          in f at 0x1",
        ];
        assert_eq!(lines(&cause("f at 0x1")), expected);
    }

    #[test]
    fn a_component_without_lines_is_built_with_them() {
        let without = cause("function 7 at 0x1");
        assert!(hint(&without, Language::Rust).is_some_and(|hint| hint.contains("--debug")));
        assert_eq!(hint(&without, Language::Python), None);
        assert_eq!(
            hint(&cause("f at 0x1 (src/lib.rs:7)"), Language::Rust),
            None
        );
    }
}
