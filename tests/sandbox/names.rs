//! Names and schemas that would mislead people or models, or wear out a parser. More of them are in `loading`.

use serde_json::json;
use toolhost_core::{Host, StartError};
use toolhost_plugin::{Engine, Limits, LoadError, Plugin};

use super::contained::load_error;
use super::host_of;
use crate::guest::{guest, options};

#[tokio::test]
async fn many_tools() {
    let error = load_error("many_tools").await;
    assert!(error.to_string().len() < 1000, "{error}");
}

#[tokio::test]
async fn backwards_name() {
    let error = load_error("backwards_name").await.to_string();
    assert!(
        error.contains("is not sound") && !error.contains(['\u{202e}', '\u{1b}']),
        "{error:?}"
    );
}

#[tokio::test]
async fn name_of_another() {
    let error = load_error("name_of_another").await;
    assert!(
        matches!(&error, LoadError::Tool { name, .. } if name == "shell__execute"),
        "{error}"
    );
}

#[tokio::test]
async fn deep_schema() {
    let error = load_error("deep_schema").await;
    assert!(
        matches!(&error, LoadError::Tool { name, .. } if name == "t"),
        "{error}"
    );
}

#[tokio::test]
async fn two_plugins_of_one_name_do_not_start() {
    let workspace = tempfile::tempdir().unwrap();
    let host = Host::builder(workspace.path())
        .without_shell()
        .plugin(guest("well_behaved"), options("a"))
        .plugin(guest("trap"), options("a"))
        .start()
        .await;
    assert!(matches!(host.unwrap_err(), StartError::Duplicate(name) if name == "a"));
}

/// Two tools of one name are told apart by their plugins, and no name of a plugin's own choice can pose as such a name.
#[tokio::test]
async fn tools_of_one_name_are_told_apart() {
    let setup = host_of(&["well_behaved", "trap"], Limits::default()).await;
    let names: Vec<_> = setup
        .host
        .tools()
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["well_behaved__t", "trap__t"]);
    assert!(!setup.outcome("well_behaved__t", json!({})).await.is_error());
    assert!(setup.outcome("trap__t", json!({})).await.is_error());
    let engine = Engine::new(None).unwrap();
    for name in ["a__b", "a_", "", "A"] {
        let error = Plugin::load(&engine, &guest("well_behaved"), options(name))
            .await
            .unwrap_err();
        assert!(matches!(error, LoadError::Name(_)), "{name}: {error}");
    }
}
