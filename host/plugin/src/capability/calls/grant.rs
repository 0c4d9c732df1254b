//! The grant to call other tools: patterns of their names.

use crate::grants::{GrantValue, InvalidGrant};
use toolhost_state::pattern;

/// Returns whether one of the granted patterns stands for the name of a tool.
pub(super) fn includes(value: Option<&GrantValue>, tool: &str) -> bool {
    match value {
        Some(GrantValue::List(patterns)) => patterns
            .iter()
            .any(|pattern| pattern::matches(pattern, tool)),
        _ => false,
    }
}

/// Reads a list of patterns, or one pattern.
pub(super) fn read(value: GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>) {
    let texts = match value {
        GrantValue::Text(text) => vec![text],
        GrantValue::List(texts) => texts,
        GrantValue::Table(_) => {
            let what = r#"a list of names of tools, such as ["read_file", "weather__*"]"#;
            return (None, vec![InvalidGrant::must_be(what)]);
        }
    };
    let (mut patterns, mut problems) = (Vec::new(), Vec::new());
    for (index, text) in texts.into_iter().enumerate() {
        match pattern::is_of_tools(&text) {
            true => patterns.push(text),
            false => problems.push(InvalidGrant {
                part: format!("[{index}]"),
                text: format!(
                    "{text:?} is not the name of a tool; write a name such as \"read_file\", with * at most at its end"
                ),
            }),
        }
    }
    let granted = (!patterns.is_empty()).then_some(GrantValue::List(patterns));
    (granted, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_or_beginnings_of_names() {
        let value = GrantValue::List(vec!["read_file".into(), "weather__*".into()]);
        let (value, problems) = read(value);
        assert_eq!(problems, []);
        for (tool, is_included) in [
            ("read_file", true),
            ("read_files", false),
            ("weather__now", true),
            ("weather_now", false),
            ("", false),
        ] {
            assert_eq!(includes(value.as_ref(), tool), is_included, "{tool}");
        }
        let (all, _) = read(GrantValue::Text("*".into()));
        assert!(includes(all.as_ref(), "execute"));
        assert!(!includes(None, "execute"));
    }

    #[test]
    fn other_texts_are_no_patterns() {
        for text in ["", "*a", "a*b", "Read", "a b", "a.b", &"x".repeat(65)] {
            let (value, problems) = read(GrantValue::Text(text.into()));
            assert_eq!((value, problems.len()), (None, 1), "{text:?}");
        }
        let (value, problems) = read(GrantValue::Table([].into()));
        assert_eq!((value, problems.len()), (None, 1));
    }
}
