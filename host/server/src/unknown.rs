//! What is said of things that do not exist, or not for whoever asks: nothing tells the two apart.

use toolhost_core::Host;
use toolhost_http::access::Principal;

/// The most that is repeated of a name that a client made up.
const SHOWN: usize = 100;

/// Says that there is no such tool, and which there are.
pub(super) fn tool(host: &Host, principal: &Principal, name: &str) -> String {
    let tools = host.tools();
    let known: Vec<_> = tools
        .iter()
        .map(|tool| tool.name.as_str())
        .filter(|tool| principal.may_use(tool))
        .collect();
    let mut text = format!("there is no tool {}", cut(name));
    if !known.is_empty() {
        text += &format!("; the tools are {}", known.join(", "));
    }
    text
}

/// Returns a name in quotes, and not all of it if it is long.
pub(super) fn cut(name: &str) -> String {
    let shown = name
        .get(..name.floor_char_boundary(SHOWN))
        .unwrap_or_default();
    let rest = if shown.len() < name.len() { "…" } else { "" };
    format!("{shown:?}{rest}")
}
