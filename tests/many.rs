//! More tools than a model should read the definitions of: most are offered by name alone, and found.

mod catalogue;
mod clients;
mod finding;
mod lasting;
mod offered;

use serde_json::{Value, json};
use toolhost_artifacts::FIND;
use toolhost_call::call::Actor;
use toolhost_core::{
    Builder, ChatId, FIND_TOOLS, Format, Grants, Offer, Options, Outcome, Settings, ToolMode,
};
use toolhost_guests::CATALOGUE;

use crate::harness::{Setup, call, request};

/// The offer of a host whose tools are found beyond the default budget.
fn search() -> Offer {
    Offer {
        mode: ToolMode::Search,
        ..Offer::default()
    }
}

/// Adds the plugin that finds tools, and the three hundred tools.
fn many(builder: Builder, offer: Offer) -> Builder {
    let finder = Options {
        grants: Grants::default().with_calls(["*"]),
        ..Options::new(FIND_TOOLS)
    };
    let builder = builder.offer(offer).plugin(FIND, finder);
    catalogue::plugins().fold(builder, |builder, (plugin, tools)| {
        let settings = Settings {
            settings: [("tools".to_owned(), tools.to_string())].into(),
            ..Settings::default()
        };
        let options = Options {
            settings,
            ..Options::new(plugin)
        };
        builder.plugin(CATALOGUE, options)
    })
}

/// A host with three hundred tools and the embedded ones.
pub(crate) async fn setup() -> Setup {
    Setup::with(|builder| many(builder, search())).await
}

fn chat(name: &str) -> ChatId {
    name.parse().unwrap()
}

fn actor() -> Actor {
    Actor::new("web")
}

/// Returns the names of the tools that a chat is offered.
async fn offered(setup: &Setup, name: &str) -> Vec<String> {
    offered_to(setup, &actor(), name).await
}

async fn offered_to(setup: &Setup, actor: &Actor, name: &str) -> Vec<String> {
    let offered = setup
        .host
        .offered_in(actor, &chat(name), Format::OpenAi)
        .await
        .unwrap();
    offered.into_iter().map(|tool| tool.name).collect()
}

/// Finds tools for a chat. Returns the reply.
async fn find(setup: &Setup, chat: &str, query: &str) -> Value {
    find_as(setup, &actor(), chat, query).await
}

async fn find_as(setup: &Setup, actor: &Actor, chat: &str, query: &str) -> Value {
    let outcome = outcome(setup, actor, chat, &json!({ "query": query })).await;
    let reply = outcome.result.as_ref();
    let reply = reply.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    serde_json::from_str(reply.structured().unwrap().get()).unwrap()
}

/// Calls `find_tools` with these arguments.
async fn outcome(
    setup: &Setup,
    actor: &Actor,
    chat: &str,
    arguments: &Value,
) -> std::sync::Arc<Outcome> {
    let mut request = request(chat, FIND_TOOLS, arguments);
    request.actor = actor.clone();
    call(&setup.host, request).await.unwrap()
}

/// Returns the names of the tools in a reply of `find_tools`.
pub(crate) fn names(found: &Value) -> Vec<&str> {
    let tools = found["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.collect()
}
