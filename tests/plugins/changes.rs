//! What changes on disk changes in the host, and nothing else does.

use toolhost::config::Watcher;

use super::*;
use crate::harness::until;

const ONE: &str = "[plugins.one]\ncomponent = 'one.wasm'\n";

#[tokio::test]
async fn a_new_version_takes_over_and_a_broken_one_does_not() {
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let mut changes = setup.host.tools_changed();
    let _watcher = Watcher::start(configured.read(), setup.host.clone()).unwrap();
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
    let _watcher = Watcher::start(configured.read(), setup.host.clone()).unwrap();
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
    let _watcher = Watcher::start(configured.read(), setup.host.clone()).unwrap();
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
    let configured = Configured::new(ONE);
    configured.write("one.wasm", guest("endless_loop"));
    let setup = configured.host().await;
    let host = setup.host.clone();
    let looping = tokio::spawn(async move { said(&host).await });
    until("the call runs", || {
        (setup.host.running_calls() == 1).then_some(())
    })
    .await;
    configured.write("one.wasm", greeting("other"));
    setup.host.apply(configured.read().plugins().unwrap()).await;
    assert_eq!(said(&setup.host).await, "other");
    assert!(looping.await.unwrap().contains("guest time limit"));
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
    let watcher = Watcher::start(configured.read(), setup.host.clone()).unwrap();
    watcher.applied().await;
    let info = state(&setup.host, "one");
    assert!(info.state == PluginState::Failed && info.error.unwrap().contains("secrets.key"));
    configured.write("key", "a secret");
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
    let configured = Configured::new(ONE);
    configured.write("one.wasm", greeting("first"));
    let setup = configured.host().await;
    let log = harness::logged(async {
        setup.host.apply(configured.read().plugins().unwrap()).await;
    })
    .await;
    assert!(!log.contains("code cache"), "{log}");
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
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let host = setup.host.clone();
            tokio::spawn(async move {
                let mut heard = std::collections::BTreeSet::new();
                for _ in 0..100 {
                    heard.insert(said(&host).await);
                }
                heard
            })
        })
        .collect();
    let mut exchanges = 0;
    while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
        let text = ["other", "first"][exchanges % 2];
        configured.write("one.wasm", greeting(text));
        setup.host.apply(set.clone()).await;
        assert_eq!(said(&setup.host).await, text);
        exchanges += 1;
    }
    for caller in callers {
        for text in caller.await.unwrap() {
            assert!(["first", "other"].contains(&text.as_str()), "{text}");
        }
    }
    assert!(exchanges > 1, "nothing was exchanged meanwhile");
}
