//! Resources that a client can read by their address: the outputs of processes, notices, and documents that tools return.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::{errors, notices, outputs, reply};
use toolhost_call::call::{Arguments, Outcome, Request};
use toolhost_call::tool::{self, Content, Definition, ErrorKind};
use toolhost_core::{CallError, Host};
use toolhost_state::id::CallId;

/// Lists the resources that have a fixed address.
pub(super) async fn list(host: &Host, caller: &Caller) -> Result<Vec<Resource>, ErrorData> {
    let mut listed = outputs::list(host, caller).await?;
    listed.extend(notices::resource(host, caller).await);
    let tools = host.tools();
    let fixed = all(&tools, caller).filter(|(_, resource)| resource.uri.is_fixed());
    listed.extend(fixed.map(|(_, resource)| {
        let mut listed = Resource::new(resource.uri.as_str(), resource.name.clone());
        listed.title.clone_from(&resource.title);
        listed.description.clone_from(&resource.description);
        listed.mime_type.clone_from(&resource.media_type);
        listed
    }));
    Ok(listed)
}

/// Lists the patterns of resource addresses.
pub(super) fn templates(host: &Host, caller: &Caller) -> Vec<ResourceTemplate> {
    let mut listed = outputs::templates();
    let tools = host.tools();
    let patterns = all(&tools, caller).filter(|(_, resource)| !resource.uri.is_fixed());
    listed.extend(patterns.map(|(_, resource)| {
        let mut listed = ResourceTemplate::new(resource.uri.as_str(), resource.name.clone());
        listed.title.clone_from(&resource.title);
        listed.description.clone_from(&resource.description);
        listed.mime_type.clone_from(&resource.media_type);
        listed
    }));
    listed
}

/// Reads the resource at an address.
pub(super) async fn read(
    host: &Host,
    caller: &Caller,
    uri: &str,
    cancelled: &CancellationToken,
) -> Result<ReadResourceResult, ErrorData> {
    match owner(host, caller, uri) {
        None if uri == notices::URI => notices::read(host, caller).await,
        None => outputs::read(host, caller, uri).await,
        Some(tool) => of_tool(host, caller, &tool, uri, cancelled).await,
    }
}

/// Returns the resources of the tools that the caller may use, each with its tool.
fn all<'a>(
    tools: &'a [Definition],
    caller: &'a Caller,
) -> impl Iterator<Item = (&'a Definition, &'a tool::Resource)> {
    let usable = tools
        .iter()
        .filter(|tool| caller.principal.may_use(&tool.name));
    usable.flat_map(|tool| tool.resources.iter().map(move |resource| (tool, resource)))
}

/// Returns the tool that serves the resource at an address. A tool with that fixed address comes before a tool with a pattern.
pub(super) fn owner(host: &Host, caller: &Caller, uri: &str) -> Option<String> {
    let tools = host.tools();
    let fitting = all(&tools, caller).filter(|(_, resource)| resource.uri.matches(uri));
    // The first of several is found.
    let found = fitting.min_by_key(|(_, resource)| !resource.uri.is_fixed());
    found.map(|(tool, _)| tool.name.clone())
}

async fn of_tool(
    host: &Host,
    caller: &Caller,
    tool: &str,
    uri: &str,
    cancelled: &CancellationToken,
) -> Result<ReadResourceResult, ErrorData> {
    let arguments = Arguments::parse(&json!({ "uri": uri }).to_string());
    let arguments = arguments.map_err(errors::broken)?;
    // Each read is a call of its own, of a tool that changes nothing.
    let id = CallId::random();
    let actor = caller.principal.actor();
    let request = Request {
        actor: actor.clone(),
        workspace: caller.workspace.clone(),
        ..Request::new(caller.chat.clone(), id.clone(), tool.to_owned(), arguments)
    };
    let outcome = tokio::select! {
        biased;
        outcome = host.call(request) => outcome,
        () = cancelled.cancelled() => {
            _ = host.cancel(&caller.chat, &id, actor).await;
            return Err(errors::refused("cancelled", "the request was cancelled"));
        }
    };
    match outcome {
        Ok(outcome) => contents(uri, &outcome),
        // The tool was removed meanwhile.
        Err(CallError::UnknownTool { .. }) => Err(errors::unknown_resource(uri)),
        Err(CallError::Refused(refused)) => Err(errors::not_now(&refused)),
        Err(CallError::Workspace(error)) => Err(errors::without_workspace(error)),
    }
}

/// Returns a tool's outcome as the contents of a resource.
fn contents(uri: &str, outcome: &Outcome) -> Result<ReadResourceResult, ErrorData> {
    let reply = match &outcome.result {
        Ok(reply) if !reply.is_error => reply,
        Ok(reply) => {
            let texts = reply.content.iter().filter_map(|part| match part {
                Content::Text { text } => Some(text.as_str()),
                _ => None,
            });
            return Err(errors::internal(texts.collect::<Vec<_>>().join("\n")));
        }
        // The pattern matches addresses that do not exist.
        Err(error) if error.kind == ErrorKind::InvalidArguments => {
            return Err(errors::unknown_resource(uri));
        }
        Err(error) => return Err(errors::internal(&error.message)),
    };
    let contents: Vec<_> = reply
        .content
        .iter()
        .filter_map(|part| part_of(uri, part))
        .collect();
    if contents.is_empty() {
        return Err(errors::unknown_resource(uri));
    }
    Ok(ReadResourceResult::new(contents))
}

/// Returns a part of a reply as contents; `None` for a part that only points to something.
fn part_of(uri: &str, part: &Content) -> Option<ResourceContents> {
    Some(match part {
        Content::Text { text } => ResourceContents::text(text.clone(), uri),
        Content::Json { json } => {
            ResourceContents::text(json.get(), uri).with_mime_type("application/json")
        }
        Content::Image { media_type, data } | Content::Audio { media_type, data } => {
            ResourceContents::blob(BASE64.encode(data), uri).with_mime_type(media_type.clone())
        }
        Content::Document {
            uri,
            media_type,
            data,
        } => reply::contents(uri, media_type.as_deref(), data.as_deref()?),
    })
}
