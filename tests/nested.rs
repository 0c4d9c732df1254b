//! Calls that a plugin makes: in the scope of the running call, each a call of its own, and each run once.

mod bounds;
mod crash;
mod ends;
mod scope;

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_call::call::{Actor, CallStatus};
use toolhost_core::{Builder, CallId, ChatId, Grants, Host, Options, Outcome, Request};
use toolhost_guests::CALLER;

use crate::harness::{Setup, call, request};

/// A host with the embedded tools, and with a plugin that may call these tools.
async fn with_caller(granted: &[&str]) -> Setup {
    changed(granted, |builder| builder).await
}

/// The same, changed before its start.
async fn changed(granted: &[&str], change: impl FnOnce(Builder) -> Builder) -> Setup {
    let options = Options {
        grants: Grants::default().with_calls(granted.iter().copied()),
        ..Options::new("caller")
    };
    Setup::with(|builder| change(builder.plugin(CALLER, options))).await
}

/// A call of `call_tools`.
fn plan(id: &str, plan: &Value) -> Request {
    Request {
        id: id.parse().unwrap(),
        ..request("chat", "call_tools", plan)
    }
}

fn execute(command: &str) -> Value {
    json!({ "tool": "execute", "arguments": { "command": command } })
}

/// The structured reply of an outcome.
fn structured(outcome: &Outcome) -> Value {
    let reply = outcome.result.as_ref();
    let reply = reply.unwrap_or_else(|error| panic!("{error:?}"));
    serde_json::from_str(reply.structured().unwrap().get()).unwrap()
}

/// Makes the calls of a plan, and returns how each ended.
async fn ends(host: &Host, request: Request) -> Value {
    let outcome = call(host, request).await.unwrap();
    structured(&outcome)["ends"].take()
}

/// The outcome of a nested call.
async fn nested(host: &Host, id: &str) -> Arc<Outcome> {
    match status(host, id).await {
        Some(CallStatus::Ended(outcome)) => outcome,
        other => panic!("{id}: {other:?}"),
    }
}

async fn status(host: &Host, id: &str) -> Option<CallStatus> {
    let (chat, id): (ChatId, _) = ("chat".parse().unwrap(), CallId::recorded(id).unwrap());
    host.status(&chat, &id).await.unwrap()
}

fn actor(name: &str) -> Actor {
    Actor::new(name.to_owned())
}
