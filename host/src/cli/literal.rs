//! Literals that JSON and TOML share, for configurations that this program writes.

use std::path::Path;

use anyhow::Context as _;

/// Returns a text as a literal. JSON alone would not escape DEL, which TOML refuses.
pub(super) fn quoted(text: &str) -> String {
    let text = serde_json::Value::from(text).to_string();
    text.replace('\u{7f}', "\\u007F")
}

/// Returns texts as an array in one line.
pub(super) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let texts: Vec<_> = texts.into_iter().map(quoted).collect();
    format!("[{}]", texts.join(", "))
}

/// Returns the text of a path; fails if it is not UTF-8, which a literal must be.
pub(super) fn utf8(path: &Path) -> anyhow::Result<&str> {
    let text = path.to_str();
    text.with_context(|| format!("the path {} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_toml_read_the_same_text() {
        let text = "ä \"\\ \u{7f} \u{1b} \u{0} \n \u{1f600}";
        let literal = quoted(text);
        assert_eq!(serde_json::from_str::<String>(&literal).unwrap(), text);
        let read: toml::Table = toml::from_str(&format!("key = {literal}")).unwrap();
        assert_eq!(read["key"].as_str(), Some(text));
        assert_eq!(list(["a", "\""]), r#"["a", "\""]"#);
    }
}
