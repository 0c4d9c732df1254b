//! Scripts that mean harm, each held by a limit. The next script of another chat runs as if nothing had been.

use std::collections::BTreeSet;
use std::time::Duration;

use super::attacks::Ends::{Bound, Error, Limit, Returns};
use super::attacks::{KNOWN, SCRIPTS, UNKNOWN};
use super::*;
use crate::harness::PATIENCE;
use toolhost_core::plugin::Limits;

#[tokio::test]
async fn floods_of_calls_are_refused_one_by_one() {
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        // Thousands of calls take long in a development build, and longer on a busy machine. The limit of calls is what holds this script.
        limits: Limits {
            guest_time: PATIENCE,
            deadline: PATIENCE,
            ..Limits::default()
        },
        ..Options::new("script")
    };
    let setup = Setup::with(|builder| builder.plugin(SCRIPT, options)).await;
    assert_eq!(
        result(&setup.host, UNKNOWN).await,
        json!([3000, ["unknown_tool"]])
    );
    assert_eq!(result(&setup.host, KNOWN).await, json!([1000, ["limit"]]));
}

#[tokio::test]
async fn hostile_scripts_are_contained() {
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        limits: Limits {
            guest_time: Duration::from_millis(500),
            ..Limits::default()
        },
        ..Options::new("script")
    };
    let setup = Setup::with(|builder| builder.plugin(SCRIPT, options)).await;
    let different: BTreeSet<_> = SCRIPTS.iter().map(|(code, _)| code).collect();
    assert!(different.len() == SCRIPTS.len() && different.len() >= 60);
    let mut wrong = Vec::new();
    for (code, ends) in SCRIPTS {
        let outcome = outcome(&setup.host, script(code)).await.unwrap();
        let seen = match &outcome.result {
            Ok(reply) => serde_json::from_str(reply.structured().unwrap().get()).unwrap(),
            Err(error) => json!(error.to_string()),
        };
        let is_right = match ends {
            Limit(text) => seen.as_str().is_some_and(|seen| seen.contains(text)),
            Bound => {
                seen["error"]["name"] == "RangeError"
                    || seen.as_str().is_some_and(|seen| seen.contains("limit"))
            }
            Error(name) => seen["error"]["name"] == *name,
            Returns(json) => seen["success"] == true && format!("{}", seen["result"]) == **json,
        };
        if !is_right {
            wrong.push(format!(
                "{code}: {}",
                seen.to_string().chars().take(300).collect::<String>()
            ));
        }
        let next = Request {
            chat: "other".parse().unwrap(),
            ..script("return [typeof Object.prototype.then, (await tools.process_list()).total]")
        };
        assert_eq!(
            report(&setup.host, next).await["result"],
            json!(["undefined", 0]),
            "{code}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!setup.root().join("forged").exists());
    let plugin = setup
        .host
        .plugins()
        .into_iter()
        .find(|plugin| plugin.name == "script")
        .unwrap();
    assert_eq!(plugin.traps, 0, "a limit is no fault of the plugin");
}
