//! One workspace as text for people: a line for each fact.

use std::time::Duration;

use serde_json::Value;
use toolhost_plugin::shown;

use crate::cli::table;

/// Returns everything about a workspace.
pub(super) fn render(workspace: &Value) -> String {
    let fields = workspace.as_object().into_iter().flatten();
    let facts = fields.filter_map(|(key, value)| fact(key, value));
    let lines = facts.map(|(name, value)| format!("{name:<9}  {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the name and the text of a fact; `None` if there is nothing to say.
fn fact(key: &str, value: &Value) -> Option<(String, String)> {
    let is_nothing = match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    };
    if is_nothing {
        return None;
    }
    if let (Some(name), Some(ms)) = (key.strip_suffix("_at_unix_ms"), value.as_u64()) {
        return Some((shown(name), table::time(ms)));
    }
    if let ("idle_seconds", Some(seconds)) = (key, value.as_u64()) {
        let time = humantime::format_duration(Duration::from_secs(seconds));
        return Some((
            "idle".to_owned(),
            format!("removed after {time} without use"),
        ));
    }
    Some((shown(key), text(value)))
}

/// Returns a value on one line.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join("; "),
        Value::Object(all) => {
            let all = all.iter().filter(|(_, value)| !value.is_null());
            let all = all.map(|(key, value)| format!("{} {}", shown(key), text(value)));
            all.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Returns how a workspace was removed.
pub(super) fn removed(name: &str, answer: &Value) -> String {
    let ended = answer.get("ended").and_then(Value::as_array);
    let mut lines = vec![format!("the workspace {name} is removed, with its files")];
    for process in ended.into_iter().flatten() {
        let part = |key: &str| process.get(key).and_then(Value::as_str).unwrap_or_default();
        lines.push(format!(
            "process {} has ended ({})",
            shown(table::short_id(part("id"))),
            shown(part("command"))
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workspace_has_a_line_for_each_fact() {
        let workspace = json!({
            "name": "team-a/web", "provider": "directory", "git": { "url": "https://git.example.com/\u{1b}[2J", "branch": null },
            "quota": { "bytes": 1000, "required": true }, "idle_seconds": 5400, "state": "open", "chats": 2, "gaps": [],
            "used_at_unix_ms": 1_700_000_000_000_u64,
        });
        let used = table::time(1_700_000_000_000);
        let expected = format!(
            "name       team-a/web\nprovider   directory\ngit        url https://git.example.com/\\u{{1b}}[2J\n\
             quota      bytes 1000, required true\nidle       removed after 1h 30m without use\nstate      open\nchats      2\nused       {used}"
        );
        assert_eq!(render(&workspace), expected);
    }

    #[test]
    fn a_removal_names_the_processes_that_ended() {
        let ended = json!({ "ended": [{ "id": "0b0c8f5e-7a5f-4d0e", "command": "npm run dev" }] });
        assert_eq!(
            removed("a", &ended),
            "the workspace a is removed, with its files\nprocess 0b0c8f5e-7a5 has ended (npm run dev)"
        );
    }
}
