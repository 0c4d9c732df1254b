//! The examples in JavaScript for QuickJS, which have no interfaces of the web; one runs a command.

use serde_json::json;
use toolhost_call::tool::ErrorKind;
use toolhost_core::{Host, Options, StartError};
use toolhost_needs::needs;
use toolhost_plugin::LoadError;

use super::{
    Language, definition, error_of, invalid, now_ms, odd_arguments, out_of_memory, reply, uncaught,
};
use crate::harness::{Setup, shared_code, shared_state};

#[needs(language = "quickjs")]
#[tokio::test]
async fn quickjs() {
    let language = Language::read("quickjs");
    without_its_grant(&language).await;
    let options = |settings| {
        let mut options: Options = language.options(settings);
        options.grants = options.grants.with_processes();
        options
    };
    let setup = language.host(options(&[])).await;
    calls(&setup).await;
    commands(&setup).await;
    odd_arguments(setup, "slugify").await;

    let setup = language.host(options(&[("max_length", "long")])).await;
    let title = json!({ "text": "A title" });
    uncaught(&setup, "slugify", title, "the setting max_length").await;
    reply(&setup, "disk_usage", json!({})).await;
    setup.host.shutdown().await;

    let long = json!({ "text": "long ".repeat(200_000) });
    out_of_memory(&language, 4, "slugify", long).await;
}

/// It imports `processes`, so it does not load unless it is granted them.
async fn without_its_grant(language: &Language) {
    let workspace = tempfile::tempdir().unwrap();
    let started = Host::builder(workspace.path())
        .state_dir(shared_state("state"))
        .shared_code(shared_code().join("toolhost"))
        .plugin(language.component.clone(), language.options(&[]))
        .start()
        .await;
    let Err(StartError::Load { source, .. }) = started else {
        panic!("{started:?}");
    };
    assert!(
        matches!(
            &source,
            LoadError::NotGranted { imports, .. } if imports.len() == 1
        ),
        "{source}"
    );
}

async fn calls(setup: &Setup) {
    for tool in ["slugify", "disk_usage"] {
        let hints = definition(setup, tool).hints;
        assert!(hints.read_only && hints.non_destructive && hints.idempotent && hints.closed_world);
    }
    let title = json!({ "text": "Crème brûlée, très facile! Ψ 2" });
    assert_eq!(
        reply(setup, "slugify", title).await,
        json!({ "slug": "creme-brulee-tres-facile-ψ-2" })
    );
    let message = invalid(setup, "slugify", json!({ "text": 7 })).await;
    assert_eq!(
        message,
        "invalid argument `text`: invalid type: integer `7`, expected a string"
    );
    let message = invalid(setup, "slugify", json!({ "text": "?!" })).await;
    assert_eq!(message, "text has no letters and no digits");
}

/// A path is only a path, however it is spelt; the clock is not that of the build.
async fn commands(setup: &Setup) {
    let name = "-a $(touch evil) 'b'";
    std::fs::write(setup.root().join(name), vec![1; 100 << 10]).unwrap();
    let before = now_ms();
    let size = reply(setup, "disk_usage", json!({ "path": name })).await;
    assert_eq!(size["path"], name);
    assert!(size["kib"].as_u64().unwrap() >= 100, "{size}");
    assert!((before..=now_ms()).contains(&size["at_ms"].as_u64().unwrap()));
    assert!(!setup.root().join("evil").exists());

    let error = error_of(setup, "disk_usage", json!({ "path": "missing" })).await;
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    assert!(error.message.contains("missing"), "{error}");
    // More than a variable may have: the host refuses it, and the guest passes that on.
    let long = json!({ "path": "a".repeat(200_000) });
    let error = error_of(setup, "disk_usage", long).await;
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    assert!(error.message.contains("has 200000 bytes"), "{error}");
}
