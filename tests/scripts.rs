//! Scripts that call tools.

mod attacks;
mod cut;
mod hostile;
mod offered;
mod run;
mod savings;
mod scope;
mod scratch;
mod tasks;
mod written;

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_artifacts::SCRIPT;
use toolhost_call::call::Actor;
use toolhost_core::{Builder, CallError, Grants, Host, Options, Outcome, Request, Settings};

use crate::harness::{Setup, call, request};

/// A host with the embedded tools and with scripts, which may call all of them.
async fn with_scripts() -> Setup {
    changed(|builder| builder).await
}

/// The same, changed before its start.
async fn changed(change: impl FnOnce(Builder) -> Builder) -> Setup {
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        ..Options::new("script")
    };
    Setup::with(|builder| change(builder.plugin(SCRIPT, options))).await
}

/// A host with the embedded tools and with a library of scripts: texts by the names of their tools.
async fn with_library(library: &Value) -> Setup {
    let settings = Settings {
        settings: [("library".to_owned(), library.to_string())].into(),
        ..Settings::default()
    };
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        settings,
        ..Options::new("script")
    };
    Setup::with(|builder| builder.plugin(SCRIPT, options)).await
}

/// The call of a script.
fn script(code: &str) -> Request {
    request("chat", "run_script", &json!({ "code": code }))
}

/// Runs a script, which may fail.
async fn outcome(host: &Host, request: Request) -> Result<Arc<Outcome>, CallError> {
    call(host, request).await
}

/// Returns the report of a script.
async fn report(host: &Host, request: Request) -> Value {
    let outcome = outcome(host, request).await.unwrap();
    let reply = outcome
        .result
        .as_ref()
        .unwrap_or_else(|error| panic!("{error:?}"));
    serde_json::from_str(reply.structured().unwrap().get()).unwrap()
}

/// Returns the result of a script that runs to its end.
async fn result(host: &Host, code: &str) -> Value {
    let mut report = report(host, script(code)).await;
    assert_eq!(report["success"], true, "{code}: {report}");
    report["result"].take()
}

fn actor(name: &str) -> Actor {
    Actor::new(name.to_owned())
}
