//! Messages about things that do not exist or that the client may not see. The client cannot tell the two apart.

use toolhost_core::{FIND_TOOLS, Host, RUN_SCRIPT};
use toolhost_http::access::Principal;

/// The maximum length of a client's made-up name in a message.
const SHOWN: usize = 100;

/// Returns the message that a tool does not exist, with the tools that do.
pub(super) fn tool(host: &Host, principal: &Principal, name: &str) -> String {
    let tools = host.tools();
    let known: Vec<_> = tools
        .iter()
        .map(|tool| tool.name.as_str())
        .filter(|tool| principal.may_use(tool))
        .collect();
    let mut text = format!("there is no tool {}", cut(name));
    if !tools.iter().any(|tool| tool.name.as_str() == name) {
        text += match name {
            RUN_SCRIPT => ": scripts are off, and `tool_mode` of the server turns them on",
            FIND_TOOLS => {
                ": the search for tools is off, and `tool_mode` of the server turns it on"
            }
            _ => "",
        };
    }
    if !known.is_empty() {
        text += &format!("; the tools are {}", known.join(", "));
    }
    text
}

/// Returns a name in quotes, cut if it is long.
pub(super) fn cut(name: &str) -> String {
    let shown = name
        .get(..name.floor_char_boundary(SHOWN))
        .unwrap_or_default();
    let rest = if shown.len() < name.len() { "…" } else { "" };
    format!("{shown:?}{rest}")
}
