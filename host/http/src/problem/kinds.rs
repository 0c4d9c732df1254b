//! The kinds of problems: a closed list, which docs/http.md repeats and `/openapi.json` is made with.

use serde_json::{Value, json};

use super::URN;

/// One kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Makes a constant of each kind, and the list of all.
macro_rules! kinds {
    ($($name:ident = $status:literal, $code:literal, $title:literal, $example:literal;)*) => {
        impl Kind {
            $(
                #[doc = $title]
                pub const $name: Self =
                    Self { code: $code, status: $status, title: $title, example: $example };
            )*
        }

        /// All kinds of problems, ordered by status.
        pub const KINDS: &[Kind] = &[$(Kind::$name),*];
    };
}

kinds! {
    BROKEN_REQUEST = 400, "broken_request", "The request is not what this takes",
        "the body is not what this takes: missing field `tool` at line 1 column 2";
    NO_TOKEN = 401, "no_token", "A token is needed",
        "send `Authorization: Bearer <token>`";
    WRONG_TOKEN = 401, "wrong_token", "The token is not known",
        "The bearer token is not valid: ask the operator for one (`toolhost token`).";
    MISSING_SCOPE = 403, "missing_scope", "The token is not good for this",
        "this token lacks the scope \"admin\"";
    FOREIGN_CHAT = 403, "foreign_chat", "The token is for other chats",
        "this token is for chats with another prefix";
    BOUNDED_TOKEN = 403, "bounded_token", "The token is only for some chats or tools",
        "this token is for some chats or tools only, and this concerns all of them";
    FOREIGN_WORKSPACE = 403, "foreign_workspace", "The token is for other workspaces",
        "this token is for other workspaces";
    NOT_APPROVED = 403, "not_approved", "The operator's hook did not approve it",
        "the call was not approved: no input without a person";
    FOREIGN_HOST = 403, "foreign_host", "The server is not known by this name",
        "the host \"evil.example\" is not known here; `--allow-host` makes it known";
    FOREIGN_ORIGIN = 403, "foreign_origin", "Pages of this origin may not use the server",
        "pages of \"http://evil.example\" may not use this server; `--allow-origin` lets them";
    FILE_REFUSED = 403, "file_refused", "The file may not be used",
        "/etc/passwd is outside of the workspace /srv/project";
    CONSOLE_HEADER = 403, "console_header", "A request with the cookie of the console needs its header",
        "a request with the cookie of the console needs the header `Toolhost-Console: 1`";
    NOT_FOUND = 404, "not_found", "There is nothing at this address",
        "there is nothing at /v1/nothing";
    UNKNOWN_CALL = 404, "unknown_call", "There is no such call",
        "there is no call \"call_7Qx\" in this chat";
    UNKNOWN_PROCESS = 404, "unknown_process", "There is no such process",
        "there is no process \"proc_7Qx\" in this chat";
    UNKNOWN_NOTICE = 404, "unknown_notice", "There is no such notice",
        "there is no notice \"notice_7Qx\" in this chat";
    UNKNOWN_FILE = 404, "unknown_file", "There is no such file",
        "there is no file \"report.pdf\" in the workspace of this chat";
    UNKNOWN_LINK = 404, "unknown_link", "There is no such link",
        "this is no link of this server";
    UNKNOWN_PORT = 404, "unknown_port", "Nothing is shown at this port",
        "nothing of this chat listens at port 5173";
    UNKNOWN_PLUGIN = 404, "unknown_plugin", "There is no such plugin",
        "there is no plugin \"wether\"; the plugins are shell, files, weather";
    UNKNOWN_WORKSPACE = 404, "unknown_workspace", "There is no such workspace",
        "there is no workspace \"team-a/web\": make it with PUT /v1/workspaces/team-a/web";
    UNKNOWN_TEMPLATE = 404, "unknown_template", "There is no such template",
        "there is no template \"debian\" of machines: GET /v1/templates has them";
    METHOD_NOT_ALLOWED = 405, "method_not_allowed", "This address does not have the method",
        "PATCH is not possible at /v1/tools";
    NOT_ACCEPTABLE = 406, "not_acceptable", "The client does not take what the reply would be",
        "Not Acceptable: Client must accept text/event-stream";
    SLOW_BODY = 408, "slow_body", "The body took too long",
        "the body took too long";
    INPUT_MISMATCH = 409, "input_mismatch", "The call id was used for something else",
        "this call id was used with another tool or other arguments";
    NO_INPUT = 409, "no_input", "The process does not take the input",
        "its standard input is not open: only that of a process which was started with an open input or a terminal is, until it is closed";
    CANCELLED = 409, "cancelled", "The call was cancelled",
        "the call was cancelled";
    CHAT_BOUND = 409, "chat_bound", "The chat belongs to another workspace",
        "the chat support-42 belongs to the workspace \"default\" since its first call: use another chat";
    WORKSPACE_EXISTS = 409, "workspace_exists", "There is another workspace of this name",
        "the workspace \"team-a/web\" was made from another template, repository or quota: remove it first, or choose another name";
    WORKSPACE_IN_USE = 409, "workspace_in_use", "Something runs in the workspace",
        "1 calls and 2 processes run in the workspace \"team-a/web\": end them, or remove it with force";
    DEFAULT_WORKSPACE = 409, "default_workspace", "The workspace is that of the server",
        "the default workspace is that of the server, and is not removed";
    FILE_CONFLICT = 409, "file_conflict", "What is at the path does not fit the request",
        "\"out\": directory not empty; to remove all that is in it, ask with ?recursive=true";
    GONE = 410, "gone", "The reply is no longer kept",
        "reply no longer kept";
    LINK_EXPIRED = 410, "link_expired", "The link has expired",
        "the link has expired: ask for a new one";
    FILE_CHANGED = 412, "file_changed", "The file is not as the request expects it",
        "\"report.pdf\": file changed since it was read";
    TOO_LARGE = 413, "too_large", "The request is too large",
        "the body has more than 1114112 bytes, which is the most";
    UNSUPPORTED_MEDIA_TYPE = 415, "unsupported_media_type", "The body is not JSON",
        "the body is \"text/xml\", and must be application/json";
    NO_RANGE = 416, "no_range", "The file has no such bytes",
        "the file has 4096 bytes, and the range begins at 5000";
    OTHER_HOST = 421, "other_host", "Another host has the workspace of the chat",
        "the chat support-42 runs on the host tools-2 at https://tools-2.example.com: send its calls there";
    PLUGIN_DOES_NOT_LOAD = 422, "plugin_does_not_load", "The plugin does not load",
        "plugin weather cannot be loaded: the component is no component";
    NO_ADDRESS = 422, "no_address", "People cannot reach the server",
        "this server has no address at which a person could open a link: tell the person the path of the file instead";
    NO_PROVIDER = 422, "no_provider", "The server has no such workspaces",
        "this server has no workspaces of the provider \"directory\": its operator names a directory for them as `root` in [workspaces], or an agent of this name connects";
    OTHER_VERSION = 426, "other_version", "The versions of agent and server do not fit",
        "this host (Toolhost 0.2.0) has version 2 of the operations, and the agent has 1: update the older one";
    BUSY = 429, "busy", "There is no place for it now",
        "1024 requests are under way, and no more are taken";
    TOO_MANY_SESSIONS = 429, "too_many_sessions", "There is no place for another session of MCP",
        "there are too many sessions; end one, or use revision 2026-07-28, which needs none";
    LARGE_HEADERS = 431, "large_headers", "The headers are too large",
        "the headers have 70000 bytes, and may have 65536";
    INTERNAL = 500, "internal", "The server failed",
        "the host failed";
    HOST_LOST = 502, "host_lost", "The connection to the host that has the workspace of the chat broke",
        "the connection broke (connection reset by peer) before the answer of the host tools-2 was there, so the request may have run: repeat a call with the same id";
    QUARANTINED = 503, "quarantined", "The plugin is left alone for a while",
        "plugin weather is quarantined for another 30 s, because it trapped 3 times in a row; other tools can be used";
    SHUTTING_DOWN = 503, "shutting_down", "The server is shutting down",
        "the host is shutting down";
    LOADING = 503, "loading", "Plugins are still being loaded",
        "there is no tool \"weather\" yet: plugins are still being loaded; try again in a moment";
    UNRECORDED = 503, "unrecorded", "The call cannot be recorded",
        "the call was not started, because it cannot be recorded (the disk of /var/lib/toolhost/store.db is full: free some space there); repeat it once that is repaired";
    UNREADABLE = 503, "unreadable", "What is recorded cannot be read now",
        "the records of calls cannot be reached now (the database does not answer); ask again in a moment";
    HOST_UNREACHABLE = 503, "host_unreachable", "The host that has the workspace of the chat cannot be reached",
        "the host tools-2 cannot be reached (connection refused): nothing ran; repeat the request once it is back";
    WORKSPACE_UNAVAILABLE = 503, "workspace_unavailable", "The workspace cannot be reached",
        "the workspace cannot be reached: connection refused";
    DISK_FULL = 507, "disk_full", "The disk of the workspace is full",
        "\"report.pdf\": no space left on device";
}

impl Kind {
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

    use super::*;

    #[test]
    fn codes_and_statuses_are_sound() {
        let codes: std::collections::BTreeSet<_> = KINDS.iter().map(|kind| kind.code).collect();
        assert_eq!(codes.len(), KINDS.len());
        assert!(KINDS.is_sorted_by_key(|kind| kind.status));
        for kind in KINDS {
            let status = axum::http::StatusCode::from_u16(kind.status).unwrap();
            assert!(status.is_client_error() || status.is_server_error());
        }
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
