//! A plugin that traps again and again is left alone for a while.

use super::*;
use toolhost_call::call::{Actor, Refused};
use toolhost_core::{CallError, PluginChange};

#[tokio::test]
async fn five_traps_in_a_row() {
    let text = "[plugins.bad]\ncomponent = 'bad.wasm'\n[plugins.good]\ncomponent = 'good.wasm'\n";
    let configured = Configured::new(text);
    configured.write("bad.wasm", guest("trap"));
    configured.write("good.wasm", greeting("works"));
    let setup = configured.host().await;
    for _ in 0..5 {
        assert!(setup.outcome("bad__t", json!({})).await.is_error());
    }
    is(&setup.host, "bad", PluginState::Quarantined);
    // A slow machine may let the back-off pass: then a call tries, traps, and doubles it.
    let (again, refused) = loop {
        let again = request("chat", "bad__t", &json!({}));
        if let Err(refused) = setup.host.call(again.clone()).await {
            break (again, refused);
        }
    };
    let CallError::Refused(Refused::Quarantined { plugin, traps, .. }) = &refused else {
        panic!("{refused}")
    };
    assert_eq!((plugin.as_str(), *traps), ("bad", 5));
    assert!(
        refused.to_string().contains("other tools can be used"),
        "{refused}"
    );
    assert!(!setup.outcome("good__t", json!({})).await.is_error());
    // A new version begins anew, and the refused call was not recorded: its id can be used.
    configured.write("bad.wasm", greeting("fixed"));
    setup.host.apply(configured.read().plugins().unwrap()).await;
    is(&setup.host, "bad", PluginState::Active);
    assert!(!setup.host.call(again).await.unwrap().is_error());
}

#[tokio::test]
async fn limits_that_are_reached_are_no_traps() {
    let configured =
        Configured::new("[plugins.bomb]\ncomponent = 'bomb.wasm'\nlimits = { traps = 1 }\n");
    configured.write("bomb.wasm", guest("memory_bomb"));
    let setup = configured.host().await;
    for _ in 0..3 {
        assert!(said(&setup.host).await.contains("memory limit"));
    }
    is(&setup.host, "bomb", PluginState::Active);
}

#[tokio::test]
async fn a_reload_ends_it() {
    let configured =
        Configured::new("[plugins.bad]\ncomponent = 'bad.wasm'\nlimits = { traps = 1 }\n");
    configured.write("bad.wasm", guest("trap"));
    let setup = configured.host().await;
    said(&setup.host).await;
    assert!(state(&setup.host, "bad").quarantined_ms.is_some());
    setup
        .host
        .change_plugin("bad", PluginChange::Reload, &Actor::default())
        .await
        .unwrap();
    is(&setup.host, "bad", PluginState::Active);
}
