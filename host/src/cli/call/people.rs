//! The reply of a call for people: how it ended, and what the output does not show.

use std::time::Duration;

use serde_json::{Map, Value};

use super::screen::{Streamed, escaped};
use crate::cli::show::text;
use crate::cli::table::{duration, short_id};
use toolhost_call::call::Outcome;
use toolhost_call::tool::Content;
use toolhost_plugin::shown;

/// Fields that the first lines show.
const IN_HEAD: [&str; 6] = [
    "success",
    "exit_code",
    "signal",
    "wall_duration_ms",
    "cancelled",
    "survivors",
];

/// Fields of a command that say nothing new: the caller knows the command and its shell, and the cursor is for the next call of a model.
const KNOWN: [&str; 4] = ["command", "shell", "backgrounded", "cursor"];

/// Fields of a command that has ended as most do.
const USUAL: [(&str, &str); 3] = [
    ("running", "false"),
    ("status", "\"exited\""),
    ("cause", "\"itself\""),
];

/// Fields about output, which a terminal has shown.
const OF_OUTPUT: [&str; 2] = ["output", "truncated"];

/// Returns the lines about a reply.
pub(super) fn lines(outcome: &Outcome, streamed: Streamed) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let reply = match &outcome.result {
        Err(error) => {
            lines.push(head(outcome, &Map::new()));
            text::block(&error.message, &mut lines);
            return Ok(lines);
        }
        Ok(reply) => reply,
    };
    let [Content::Json { json }] = reply.content.as_slice() else {
        text::parts(&reply.content, &mut lines)?;
        lines.push(head(outcome, &Map::new()));
        return Ok(lines);
    };
    let Value::Object(mut fields) = serde_json::from_str(json.get())? else {
        text::parts(&reply.content, &mut lines)?;
        lines.push(head(outcome, &Map::new()));
        return Ok(lines);
    };
    let was_shown = streamed.any && !streamed.lost;
    if !was_shown && let Some(Value::String(output)) = fields.get("output") {
        let output = output.trim_end_matches('\n').split('\n');
        lines.extend(output.map(escaped));
        fields.shift_remove("output");
    }
    lines.push(head(outcome, &fields));
    lines.extend(survivors(&fields));
    let is_command = fields.contains_key("exit_code") || fields.contains_key("status");
    fields.retain(|name, value| {
        let name = name.as_str();
        let is_usual = || USUAL.contains(&(name, &value.to_string()));
        !(IN_HEAD.contains(&name)
            || is_command && (KNOWN.contains(&name) || is_usual())
            || was_shown && OF_OUTPUT.contains(&name))
    });
    if !fields.is_empty() {
        text::value(&Value::Object(fields), &mut lines);
    }
    Ok(lines)
}

/// Returns how the call ended, and after how long.
fn head(outcome: &Outcome, fields: &Map<String, Value>) -> String {
    let code = fields.get("exit_code").and_then(Value::as_i64);
    let signal = fields.get("signal").and_then(Value::as_str);
    let runs = fields.get("running") == Some(&Value::Bool(true));
    let failed = outcome.is_error() || fields.get("success") == Some(&Value::Bool(false));
    let end = match (outcome.state().name(), code, signal) {
        ("finished", _, Some(signal)) => format!("ended by {}", shown(signal)),
        ("finished", Some(code), None) if !runs && code >= 0 => format!("exit code {code}"),
        ("finished", ..) if failed => "error".to_owned(),
        ("finished", ..) => "done".to_owned(),
        (state, _, Some(signal)) => format!("{state}, ended by {}", shown(signal)),
        (state, ..) => state.to_owned(),
    };
    let mut head = format!(
        "[{}] {end} after {}",
        shown(&outcome.tool),
        duration(outcome.duration)
    );
    if outcome.queued >= Duration::from_secs(1) {
        head.push_str(&format!(", queued for {}", duration(outcome.queued)));
    }
    let processes: Vec<_> = outcome
        .processes
        .iter()
        .map(|id| shown(short_id(id)))
        .collect();
    if !processes.is_empty() {
        let word = if processes.len() == 1 {
            "process"
        } else {
            "processes"
        };
        head.push_str(&format!(", {word} {}", processes.join(", ")));
    }
    head
}

/// Returns a line for each process that outlives its shell.
fn survivors(fields: &Map<String, Value>) -> Vec<String> {
    let survivors = fields.get("survivors").and_then(Value::as_array);
    let survivors = survivors.into_iter().flatten().map(|survivor| {
        let pid = survivor
            .get("pid")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let command = survivor.get("command").and_then(Value::as_str);
        format!("  survivor: {pid} ({})", shown(command.unwrap_or_default()))
    });
    survivors.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(outcome: Value, streamed: bool) -> String {
        let mut whole = json!({
            "id": "1", "tool": "execute", "state": "finished", "is_error": false, "processes": [], "duration_ms": 1234, "queued_ms": 0,
            "content": [],
        });
        let Value::Object(more) = outcome else {
            unreachable!("the test gives an object")
        };
        whole.as_object_mut().unwrap().extend(more);
        let outcome: Outcome = serde_json::from_value(whole).unwrap();
        let streamed = Streamed {
            any: streamed,
            lost: false,
        };
        lines(&outcome, streamed).unwrap().join("\n")
    }

    fn of_json(reply: &Value) -> Value {
        json!({ "content": [{ "type": "json", "json": reply }], "processes": ["0b0c8f5e-7a5f-4d0e"] })
    }

    #[test]
    fn a_reply_of_a_command_is_what_its_output_does_not_show() {
        let reply = json!({
            "success": false, "output": "a\n\u{1b}[2Jb\n", "exit_code": 2, "wall_duration_ms": 7, "command": "make", "shell": "bash", "running": false, "backgrounded": false,
            "status": "exited", "cause": "itself", "cursor": 7, "note": "One\u{7}.\nTwo.",
            "survivors": [{ "pid": 42, "command": "sleep\t1\u{1b}c" }],
        });
        insta::assert_snapshot!(said(of_json(&reply), true), @r"
        [execute] exit code 2 after 1.2s, process 0b0c8f5e-7a5
          survivor: 42 (sleep\t1\u{1b}c)
          note:
            One\u{7}.
            Two.
        ");
        insta::assert_snapshot!(said(of_json(&reply), false), @r"
        a
        \u{1b}[2Jb
        [execute] exit code 2 after 1.2s, process 0b0c8f5e-7a5
          survivor: 42 (sleep\t1\u{1b}c)
          note:
            One\u{7}.
            Two.
        ");
    }

    #[test]
    fn other_ends_are_told_in_a_word() {
        let killed = json!({ "success": false, "exit_code": -1, "signal": "SIGKILL" });
        insta::assert_snapshot!(said(of_json(&killed), false), @"[execute] ended by SIGKILL after 1.2s, process 0b0c8f5e-7a5");
        let cancelled = json!({ "state": "cancelled", "content": [{ "type": "json", "json": killed }], "queued_ms": 3000 });
        insta::assert_snapshot!(said(cancelled, false), @"[execute] cancelled, ended by SIGKILL after 1.2s, queued for 3.0s");
        let failed = json!({ "state": "failed", "is_error": true, "error": { "kind": "limit", "message": "too\u{7} much" } });
        insta::assert_snapshot!(said(failed, false), @r"
        [execute] failed after 1.2s
          too\u{7} much
        ");
        let texts = json!({ "content": [{ "type": "text", "text": "one\ntwo" }] });
        insta::assert_snapshot!(said(texts, false), @r"
          one
          two
        [execute] done after 1.2s
        ");
    }
}
