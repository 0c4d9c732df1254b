//! Changes on disk become changes of the host, and nothing else changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolhost::config::follow;
use toolhost_call::audit;

use super::*;
use crate::audit::{Trail, documented};
use crate::harness::until;

const ONE: &str = "[plugins.one]\ncomponent = 'one.wasm'\n";

#[tokio::test]
async fn a_new_version_takes_over_and_a_broken_one_does_not() {
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let mut changes = setup.host.tools_changed();
    let _watcher = follow(configured.read(), setup.host.clone()).unwrap();
    assert_eq!(said(&setup.host).await, "first");

    configured.write("one.wasm", greeting("other"));
    until_said(&setup.host, "other").await;
    assert!(
        !changes.has_changed().unwrap(),
        "the same tools are no change of the list"
    );

    configured.write("one.wasm", "no component");
    let error = until("the error shows", || state(&setup.host, "one").error).await;
    assert!(error.contains("WebAssembly"), "{error}");
    is(&setup.host, "one", PluginState::Active);
    assert_eq!(said(&setup.host).await, "other");

    configured.write("one.wasm", greeting("third"));
    until_said(&setup.host, "third").await;
    assert_eq!(state(&setup.host, "one").error, None);

    std::fs::remove_file(configured.path("one.wasm")).unwrap();
    until("the error shows", || state(&setup.host, "one").error).await;
    assert_eq!(said(&setup.host).await, "third");

    configured.write("toolhost.toml", "");
    changes.changed().await.unwrap();
    assert!(setup.host.tools().is_empty());
    assert!(said(&setup.host).await.contains("there is no tool"));
}

#[tokio::test]
async fn a_configuration_that_is_not_valid_changes_nothing() {
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let _watcher = follow(configured.read(), setup.host.clone()).unwrap();
    let log = harness::logged(async {
        configured.write(
            "toolhost.toml",
            "[plugins.one]\ncomponent = 'one.wasm'\ntypo = 1\n",
        );
        // The next valid one is applied, so the one before was seen or skipped.
        configured.write("one.wasm", greeting("other"));
        configured.write("toolhost.toml", "[plugins.two]\ncomponent = 'one.wasm'\n");
        until_said(&setup.host, "other").await;
    })
    .await;
    assert!(!log.contains("panicked"), "{log}");
    is(&setup.host, "two", PluginState::Active);
}

#[tokio::test]
async fn a_directory_of_plugins_is_followed() {
    let configured = Configured::new("plugin_dir = 'plugins'\n[plugins.b]\nenabled = false\n");
    configured.write("plugins/a.wasm", greeting("a say"));
    configured.write("plugins/B.wasm", greeting("b say"));
    configured.write("plugins/notes.txt", "no plugin");
    let setup = configured.host().await;
    let _watcher = follow(configured.read(), setup.host.clone()).unwrap();
    is(&setup.host, "b", PluginState::Disabled);
    assert_eq!(said(&setup.host).await, "a say");
    let mut changes = setup.host.tools_changed();
    configured.write("plugins/c.wasm", greeting("c say"));
    changes.changed().await.unwrap();
    let names: Vec<_> = setup
        .host
        .tools()
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["a__t", "c__t"]);
    std::fs::remove_file(configured.path("plugins/a.wasm")).unwrap();
    until_said(&setup.host, "c say").await;
}

#[tokio::test]
async fn a_call_under_way_keeps_the_version_that_it_began_with() {
    let limits = "limits = { cancel_grace = '50ms' }\n";
    let configured = Configured::new(&format!("{ONE}{limits}"));
    configured.write("one.wasm", guest("endless_sleep"));
    let setup = configured.host().await;
    let host = setup.host.clone();
    let sleeping = tokio::spawn(async move { said(&host).await });
    until("the call runs", || {
        (setup.host.running_calls() == 1).then_some(())
    })
    .await;
    configured.write("one.wasm", greeting("other"));
    setup.host.apply(configured.read().plugins().unwrap()).await;
    assert_eq!(said(&setup.host).await, "other");
    assert!(!sleeping.is_finished());
    setup.host.shutdown().await;
    assert!(sleeping.await.unwrap().contains("cancelled"));
}

#[tokio::test]
async fn what_was_taken_back_is_gone_also_if_nothing_loads_without_it() {
    let granted = "[plugins.one]\ncomponent = 'one.wasm'\ngrants = { processes = 'own' }\n";
    let configured = Configured::new(granted);
    configured.write("one.wasm", guest("process_user"));
    let setup = configured.host().await;
    is(&setup.host, "one", PluginState::Active);
    configured.write("toolhost.toml", ONE);
    setup.host.apply(configured.read().plugins().unwrap()).await;
    is(&setup.host, "one", PluginState::Failed);
    assert!(said(&setup.host).await.contains("there is no tool"));
    configured.write("toolhost.toml", granted);
    setup.host.apply(configured.read().plugins().unwrap()).await;
    is(&setup.host, "one", PluginState::Active);
    let pinned = format!("{granted}sha256 = '{}'\n", "0".repeat(64));
    configured.write("toolhost.toml", pinned);
    setup.host.apply(configured.read().plugins().unwrap()).await;
    let info = state(&setup.host, "one");
    assert!(info.state == PluginState::Failed && info.error.unwrap().contains("pinned"));
}

#[tokio::test]
async fn a_configuration_is_mended_by_what_it_lacked() {
    let text = format!("{ONE}secrets = {{ key = {{ file = 'key' }} }}\n");
    let configured = Configured::new(&text);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let watcher = follow(configured.read(), setup.host.clone()).unwrap();
    watcher.applied().await;
    let info = state(&setup.host, "one");
    assert!(info.state == PluginState::Failed && info.error.unwrap().contains("secrets.key"));
    configured.write("key", "a secret");
    set_mode(&configured.path("key"), 0o600);
    until_said(&setup.host, "first").await;
    configured.write("toolhost.toml", "plugin_dir = 'later'\n");
    configured.write("one.wasm", greeting("other"));
    assert_eq!(said(&setup.host).await, "first");
    configured.write("later/two.wasm", greeting("third"));
    until("the plugin is there", || {
        setup
            .host
            .plugins()
            .into_iter()
            .find(|info| info.name == "two")
    })
    .await;
}

#[tokio::test]
async fn what_is_as_it_was_is_left_alone() {
    // Other tests log as well, but of no plugin of this name.
    let configured = Configured::new("[plugins.left_alone]\ncomponent = 'one.wasm'\n");
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let log = harness::logged(async {
        setup.host.apply(configured.read().plugins().unwrap()).await;
    })
    .await;
    let looks = |line: &str| line.contains("code cache") && line.contains("left_alone");
    assert!(!log.lines().any(looks), "{log}");
}

async fn until_said(host: &Host, text: &str) {
    let begun = std::time::Instant::now();
    while said(host).await != text {
        assert!(
            begun.elapsed() < harness::PATIENCE,
            "waited in vain for {text}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_versions_are_exchanged() {
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let set = configured.read().plugins().unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (host, done) = (setup.host.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut heard = std::collections::BTreeSet::new();
                while !done.load(Ordering::Relaxed) {
                    heard.insert(said(&host).await);
                }
                heard
            })
        })
        .collect();
    for exchange in 0..10 {
        let text = ["other", "first"][exchange % 2];
        configured.write("one.wasm", greeting(text));
        setup.host.apply(set.clone()).await;
        assert_eq!(said(&setup.host).await, text);
    }
    done.store(true, Ordering::Relaxed);
    for caller in callers {
        for text in caller.await.unwrap() {
            assert!(["first", "other"].contains(&text.as_str()), "{text}");
        }
    }
}

#[tokio::test]
async fn what_others_can_change_is_not_taken_over() {
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let _watcher = follow(configured.read(), setup.host.clone()).unwrap();
    // A component.
    std::fs::write(configured.path("open.wasm"), greeting("other")).unwrap();
    set_mode(&configured.path("open.wasm"), 0o664);
    std::fs::rename(configured.path("open.wasm"), configured.path("one.wasm")).unwrap();
    let error = until("the error shows", || state(&setup.host, "one").error).await;
    let expected = format!(
        "its component cannot be used: others may change {} (mode 664): run `chmod go-w` on it",
        configured.path("one.wasm").display()
    );
    assert_eq!(error, expected);
    assert_eq!(said(&setup.host).await, "first");
    configured.write("one.wasm", greeting("third"));
    until_said(&setup.host, "third").await;
    // The configuration.
    let log = harness::logged(async {
        let open = configured.path("open.toml");
        std::fs::write(&open, "[plugins.two]\ncomponent = 'one.wasm'\n").unwrap();
        set_mode(&open, 0o666);
        std::fs::rename(&open, configured.path("toolhost.toml")).unwrap();
        // A change that is seen later shows that the one before changed nothing.
        configured.write("one.wasm", greeting("sixth"));
        configured.write("toolhost.toml", ONE);
        until_said(&setup.host, "sixth").await;
    })
    .await;
    assert!(!log.contains("panicked"), "{log}");
    is(&setup.host, "one", PluginState::Active);
    assert!(setup.host.plugins().iter().all(|info| info.name != "two"));
}

/// The audit trail has each change of the configuration, without the values of settings and secrets.
#[tokio::test]
async fn each_change_is_in_the_trail() {
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let trail = Trail::new();
    let audit = trail.open(&audit::Config::default());
    let setup = configured.host_with(|builder| builder.audit(audit)).await;
    let _watcher = follow(configured.read(), setup.host.clone()).unwrap();
    let recorded = async |name: &str| {
        until(name, || {
            let events = trail.events();
            events.into_iter().find(|event| event["event"] == name)
        })
        .await
    };

    let one = "[plugins.one]\ncomponent = 'one.wasm'\ngrants = { processes = 'own' }\n\
        limits = { handles = 7 }\nsettings = { region = 'SETTING-VALUE' }\n\
        secrets = { key = { file = 'one.key' } }\n";
    configured.write("one.key", "SECRET-VALUE\n");
    set_mode(&configured.path("one.key"), 0o600);
    configured.write("toolhost.toml", one);
    let changed = recorded("plugin_changed").await;
    assert_eq!(changed["plugin"], "one");
    let changes = &changed["changes"];
    assert_eq!(
        changes["grants"]["before"]["processes"],
        serde_json::Value::Null
    );
    assert_eq!(changes["grants"]["after"]["processes"], "own");
    assert_eq!(changes["limits"]["after"]["handles"], 7);
    assert_eq!(changes["settings"], json!(["region"]));
    assert_eq!(changes["secrets"], json!(["key"]));

    configured.write("toolhost.toml", format!("max_live = 7\n{one}"));
    let settings = recorded("settings_changed").await;
    assert_eq!(settings["settings"], json!(["max_live"]));
    let file = configured.path("toolhost.toml");
    assert_eq!(settings["file"], file.to_str().unwrap());

    configured.write("toolhost.toml", format!("max_live = 7\n{one}typo = 1\n"));
    let refused = recorded("configuration_refused").await;
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains("typo"), "{error}");

    configured.write("toolhost.toml", "");
    assert_eq!(recorded("plugin_removed").await["plugin"], "one");
    setup.host.shutdown().await;
    let events = trail.events();
    documented(&events);
    let text = json!(events).to_string();
    for value in ["SETTING-VALUE", "SECRET-VALUE"] {
        assert!(!text.contains(value), "{text}");
    }
}
