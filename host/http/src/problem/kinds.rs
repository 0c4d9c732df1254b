//! The kinds of problems: a closed list, which docs/http.md repeats and `/openapi.json` is made with.

use serde_json::{Value, json};

use super::URN;

/// One kind of problem.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word for programs.
    pub code: &'static str,
    /// The status that it always has.
    pub status: u16,
    /// The meaning of the kind, for people; the same for all its problems.
    pub title: &'static str,
    /// An example of a detail.
    example: &'static str,
}

const fn kind(status: u16, code: &'static str, title: &'static str, example: &'static str) -> Kind {
    Kind {
        code,
        status,
        title,
        example,
    }
}

/// All kinds of problems, ordered by status.
pub const KINDS: &[Kind] = &[
    kind(
        400,
        "broken_request",
        "The request is not what this takes",
        "the body is not what this takes: missing field `tool` at line 1 column 2",
    ),
    kind(
        401,
        "no_token",
        "A token is needed",
        "send `Authorization: Bearer <token>`",
    ),
    kind(
        401,
        "wrong_token",
        "The token is not known",
        "The bearer token is not valid.",
    ),
    kind(
        403,
        "missing_scope",
        "The token is not good for this",
        "this token lacks the scope \"admin\"",
    ),
    kind(
        403,
        "foreign_chat",
        "The token is for other chats",
        "this token is for chats with another prefix",
    ),
    kind(
        403,
        "bounded_token",
        "The token is only for some chats or tools",
        "this token is for some chats or tools only, and this concerns all of them",
    ),
    kind(
        403,
        "foreign_host",
        "The server is not known by this name",
        "the host \"evil.example\" is not known here; `--allow-host` makes it known",
    ),
    kind(
        403,
        "foreign_origin",
        "Pages of this origin may not use the server",
        "pages of \"http://evil.example\" may not use this server; `--allow-origin` lets them",
    ),
    kind(
        404,
        "not_found",
        "There is nothing at this address",
        "there is nothing at /v1/nothing",
    ),
    kind(
        404,
        "unknown_tool",
        "There is no such tool",
        "there is no tool \"exec\"; the tools are execute, read_file",
    ),
    kind(
        404,
        "unknown_call",
        "There is no such call",
        "there is no call \"call_7Qx\" in this chat",
    ),
    kind(
        404,
        "unknown_process",
        "There is no such process",
        "there is no process \"proc_7Qx\" in this chat",
    ),
    kind(
        404,
        "unknown_plugin",
        "There is no such plugin",
        "there is no plugin \"wether\"; the plugins are shell, files, weather",
    ),
    kind(
        405,
        "method_not_allowed",
        "This address does not have the method",
        "PATCH is not possible at /v1/tools",
    ),
    kind(
        406,
        "not_acceptable",
        "The client does not take what the reply would be",
        "Not Acceptable: Client must accept text/event-stream",
    ),
    kind(
        408,
        "slow_body",
        "The body took too long",
        "the body took too long",
    ),
    kind(
        409,
        "input_mismatch",
        "The call id was used for something else",
        "this call id was used with another tool or other arguments",
    ),
    kind(
        409,
        "cancelled",
        "The call was cancelled",
        "the call was cancelled",
    ),
    kind(
        410,
        "gone",
        "The reply is no longer kept",
        "reply no longer kept",
    ),
    kind(
        413,
        "too_large",
        "The request is too large",
        "the arguments have 1048577 bytes, the most is 1048576",
    ),
    kind(
        415,
        "unsupported_media_type",
        "The body is not JSON",
        "the body is \"text/xml\", and must be application/json",
    ),
    kind(
        422,
        "plugin_does_not_load",
        "The plugin does not load",
        "plugin weather cannot be loaded: the component is no component",
    ),
    kind(
        429,
        "busy",
        "There is no place for it now",
        "1024 requests are under way, and no more are taken",
    ),
    kind(
        429,
        "too_many_sessions",
        "There is no place for another session of MCP",
        "there are too many sessions; end one, or use revision 2026-07-28, which needs none",
    ),
    kind(
        431,
        "large_headers",
        "The headers are too large",
        "the headers have 70000 bytes, and may have 65536",
    ),
    kind(500, "internal", "The server failed", "the host failed"),
    kind(
        503,
        "quarantined",
        "The plugin is left alone for a while",
        "plugin weather is quarantined for another 30 s, because it trapped 3 times in a row; other tools can be used",
    ),
    kind(
        503,
        "shutting_down",
        "The server is shutting down",
        "the host is shutting down",
    ),
    kind(
        503,
        "unrecorded",
        "The call cannot be written down",
        "the call cannot be written down, and does not run: no space left on device",
    ),
    kind(
        503,
        "workspace_unavailable",
        "The workspace cannot be reached",
        "the workspace cannot be reached: connection refused",
    ),
];

impl Kind {
    /// Finds the kind with this code.
    pub(crate) fn of(code: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.code == code)
    }

    /// Returns an example document.
    pub fn example(&self) -> Value {
        json!({
            "type": format!("{URN}{}", self.code), "title": self.title, "status": self.status,
            "code": self.code, "detail": self.example,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use regex::Regex;

    use super::*;

    fn texts(directory: &Path, texts: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                texts_below(&path, texts);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                texts.push((path.display().to_string(), text));
            }
        }
    }

    /// The agent API has a form of its own.
    fn texts_below(directory: &Path, found: &mut Vec<(String, String)>) {
        if !directory.ends_with("agent") {
            texts(directory, found);
        }
    }

    #[test]
    fn the_list_has_every_code_that_is_used() {
        let mut sources = Vec::new();
        for krate in ["http", "server"] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            texts(&root.join(krate).join("src"), &mut sources);
        }
        let used = Regex::new(r#"StatusCode::([A-Z_]+),\s*"([a-z_]+)""#).unwrap();
        let mut count = 0;
        for (file, text) in &sources {
            for found in used.captures_iter(text) {
                let kind = Kind::of(&found[2]).unwrap_or_else(|| {
                    panic!("{file} uses the code {}, which is not listed", &found[2])
                });
                let status = axum::http::StatusCode::from_u16(kind.status).unwrap();
                let constant = status.canonical_reason().unwrap().to_uppercase();
                assert_eq!(found[1], constant.replace([' ', '-'], "_"), "{}", kind.code);
                count += 1;
            }
        }
        assert!(count > 10, "{count} uses");
    }

    #[test]
    fn the_documentation_lists_them() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http.md");
        let text = std::fs::read_to_string(path).unwrap();
        for kind in KINDS {
            let row = format!("| {} | `{}` |", kind.status, kind.code);
            assert!(text.contains(&row), "docs/http.md lacks {row}");
        }
        let rows = text.lines().filter(|line| {
            let mut cells = line.split('|').skip(1).map(str::trim);
            cells.next().is_some_and(|cell| cell.parse::<u16>().is_ok())
                && cells.next().is_some_and(|cell| cell.starts_with('`'))
        });
        assert_eq!(rows.count(), KINDS.len());
    }
}
