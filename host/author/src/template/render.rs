//! Filling in one file of a template.

/// Returns the text with its values, without the lines of flags that are not set.
pub(super) fn text(
    template: &str,
    values: &[(&str, String)],
    is_set: impl Fn(&str) -> bool,
) -> String {
    let mut text = String::new();
    // For each flag around the line, whether it is set.
    let mut around = Vec::new();
    for line in template.lines() {
        let mark = line.trim().strip_prefix("{{");
        let mark = mark.and_then(|mark| mark.strip_suffix("}}"));
        if let Some(flag) = mark.and_then(|mark| mark.strip_prefix('#')) {
            around.push(is_set(flag));
        } else if mark.is_some_and(|mark| mark.starts_with('/')) {
            around.pop();
        } else if around.iter().all(|set| *set) {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (key, value) in values {
        text = text.replace(&format!("{{{{{key}}}}}"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_flags_that_are_not_set_are_left_out() {
        let template = "{{name}}\n{{#a}}\na\n  {{#b}}\nab {{name}}\n  {{/b}}\n{{/a}}\nend";
        let values = [("name", "n".to_owned())];
        let with = |flags: &[&str]| text(template, &values, |flag| flags.contains(&flag));
        assert_eq!(with(&[]), "n\nend\n");
        assert_eq!(with(&["a"]), "n\na\nend\n");
        assert_eq!(with(&["b"]), "n\nend\n");
        assert_eq!(with(&["a", "b"]), "n\na\nab n\nend\n");
    }
}
