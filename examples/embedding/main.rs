//! Toolhost inside of another program: calls of one chat, what is heard of them, and one that is cancelled.
//!
//! `cargo run -p toolhost --example embedding -- WORKSPACE STATE_DIR`

#![allow(
    clippy::print_stdout,
    reason = "what a program prints is its own business"
)]

use std::error::Error;

use toolhost_call::call::{Actor, Cancelled, State};
use toolhost_call::events::Event;
use toolhost_core::{Arguments, CallId, ChatId, Format, Host, Request};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(workspace), Some(state)) = (arguments.next(), arguments.next()) else {
        return Err("usage: embedding WORKSPACE STATE_DIR".into());
    };
    // What is kept there makes a call run once, whatever happens to this program, and saves compiling the plugins at every
    // start. A program that ships beside `toolhost` adds `.spawner(Spawner::start(path_of_toolhost)?)`: then nothing that a
    // command starts outlives its end.
    let host = Host::builder(workspace).keep(state)?.start().await?;
    let chat: ChatId = "support-42".parse()?;

    // What the model is told of the tools, in the dialect of its provider. Who calls is recorded.
    let actor = Actor::new("support");
    let tools = Format::Anthropic.render(&host.offered(&actor, Format::Anthropic));
    println!("tools: {}", tools.as_array().map_or(0, Vec::len));

    // A call runs once, however often it is asked for, and however often this program is started.
    let greet = request(&chat, "call_1", r#"{"command":"echo hello | tee -a log"}"#)?;
    let outcome = host.call(greet.clone()).await?;
    match &outcome.result {
        Ok(reply) => println!(
            "reply: {}",
            reply.structured().map_or("none", |json| json.get())
        ),
        Err(error) => println!("error: {error}"),
    }
    let again = host.call(greet).await?;
    let same = serde_json::to_string(&*outcome)? == serde_json::to_string(&*again)?;
    println!("asked again: the same is {same}");

    // A call that takes long: whoever listens to the chat hears when it runs.
    let mut events = host.events().listen(&chat, None);
    let wait = r#"{"command":"sleep 1000","timeout":"1h"}"#;
    let wait = request(&chat, CallId::random().as_str(), wait)?;
    let waiting = tokio::spawn({
        let (host, wait) = (host.clone(), wait.clone());
        async move { host.call(wait).await }
    });
    while let Some(heard) = events.next().await {
        if let Event::Call { call, state, .. } = heard.event
            && call == wait.id
            && state == State::Running
        {
            println!("heard: it runs");
            break;
        }
    }

    // Cancelling ends the command as well. The caller who waits gets what there was by then.
    match host.cancel(&chat, &wait.id, &wait.actor).await? {
        Cancelled::Ended(outcome) => println!("cancelled: {:?}", outcome.state()),
        other => println!("cancelled: {other:?}"),
    }
    println!("waiting: {:?}", waiting.await??.state());

    // Processes in the background would go on until here.
    host.shutdown().await;
    Ok(())
}

fn request(chat: &ChatId, id: &str, arguments: &str) -> Result<Request, Box<dyn Error>> {
    let id: CallId = id.parse()?;
    let arguments = Arguments::parse(arguments)?;
    Ok(Request::new(chat.clone(), id, "execute", arguments))
}
