//! The notices of a chat as a resource, which changes when something is told.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents};
use serde_json::json;

use super::caller::Caller;
use super::errors;
use toolhost_call::events::{Event, Listener};
use toolhost_core::Host;
use toolhost_http::notice_values::Notice;

/// Its address.
pub(super) const URI: &str = "toolhost://notices";

/// Returns the resource, if the chat has notices that the caller may see.
pub(super) async fn resource(host: &Host, caller: &Caller) -> Option<Resource> {
    let notices = host.notices(&caller.chat, caller.principal.actor()).await;
    let resource = Resource::new(URI, "notices")
        .with_title("Notices of processes")
        .with_description(
            "The events of processes that were asked for, and which of them have happened",
        )
        .with_mime_type("application/json");
    (!notices.is_empty()).then_some(resource)
}

/// Reads it.
pub(super) async fn read(host: &Host, caller: &Caller) -> Result<ReadResourceResult, ErrorData> {
    let notices = host.notices(&caller.chat, caller.principal.actor()).await;
    let notices = notices.iter().map(|notice| Notice::from(&**notice));
    let notices = json!({ "notices": notices.collect::<Vec<_>>() });
    let text = serde_json::to_string(&notices);
    let text = text.map_err(|error| errors::internal(error.to_string()))?;
    let contents = ResourceContents::text(text, URI).with_mime_type("application/json");
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Waits until something is told that the caller may see. Returns `false` if nothing more will be.
pub(super) async fn is_told(host: &Host, caller: &Caller, listener: &mut Listener) -> bool {
    while let Some(numbered) = listener.next().await {
        let process = match numbered.event {
            Event::Notice { process, .. } => process,
            // A notice may be among the events that are missing.
            Event::Reset(_) => return true,
            _ => continue,
        };
        let (actor, call) = (caller.principal.actor(), process.call.as_ref());
        if host.may_see_call(actor, &caller.chat, call).await {
            return true;
        }
    }
    false
}
