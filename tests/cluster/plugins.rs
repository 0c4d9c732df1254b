//! Plugins that are turned off, on, or quarantined at one host of several.

use toolhost_call::call::Actor;
use toolhost_core::{PluginChange, PluginState};
use toolhost_plugin::{Limits, Options};

use super::*;
use crate::guest::guest;

impl Cluster {
    /// Starts a host with a plugin whose first call traps, which ends in quarantine.
    async fn with_bad_plugin(&self, name: &str) -> Node {
        let mut options = Options::new("bad");
        options.limits = Limits {
            traps: 1,
            ..options.limits
        };
        let config = Config {
            name: name.to_owned(),
            ..postgres::config(&self.url)
        };
        self.node_of(config, |builder| builder.plugin(guest("trap"), options))
            .await
    }
}

impl Node {
    /// Waits until the plugin is in this state.
    async fn is(&self, state: PluginState) {
        until("the plugin is in its state", || {
            let plugins = self.host.plugins();
            let bad = plugins.iter().find(|plugin| plugin.name == "bad");
            (bad.unwrap().state == state).then_some(())
        })
        .await;
    }

    async fn switch(&self, to: &str) {
        let path = format!("/v1/plugins/bad/{to}");
        let answer = self.server.request(Method::POST, &path).send().await;
        assert_eq!(answer.unwrap().status(), 200);
    }
}

async fn two_with_bad_plugins() -> (Cluster, [Node; 2]) {
    let cluster = Cluster::new().await;
    let nodes = [
        cluster.with_bad_plugin("one").await,
        cluster.with_bad_plugin("other").await,
    ];
    (cluster, nodes)
}

#[needs(postgres)]
#[tokio::test]
async fn a_plugin_is_turned_off_and_on_at_all_hosts() {
    let (cluster, [one, other]) = two_with_bad_plugins().await;
    one.switch("disable").await;
    other.is(PluginState::Disabled).await;
    let (status, refused) = other.server.put("a", "1", json!({ "tool": "t" })).await;
    assert_eq!(
        (status, &refused["error"]["kind"]),
        (200, &json!("unknown_tool"))
    );
    // A host that starts later follows as well.
    let later = cluster.with_bad_plugin("later").await;
    later.is(PluginState::Disabled).await;
    later.switch("enable").await;
    for node in [&one, &other] {
        node.is(PluginState::Active).await;
    }
}

#[needs(postgres)]
#[tokio::test]
async fn an_administrator_hears_when_the_other_hosts_cannot_be_told() {
    let cluster = Cluster::new().await;
    let mut database = postgres::Server::start();
    let config = postgres::config(&database.database());
    let parts = |builder: Builder| builder.plugin(guest("trap"), Options::new("bad"));
    let node = cluster.node_of(config, parts).await;
    database.stop();
    let changed = node
        .host
        .change_plugin("bad", PluginChange::Disable, &Actor::default())
        .await;
    let error = changed.unwrap_err().to_string();
    assert!(error.contains("at this host alone"), "{error}");
    node.is(PluginState::Disabled).await;
}

#[needs(postgres)]
#[tokio::test]
async fn a_plugin_that_traps_is_quarantined_at_all_hosts() {
    let (_cluster, [one, other]) = two_with_bad_plugins().await;
    // A host that does not listen yet is not told later. One that hears of a switch listens.
    one.switch("disable").await;
    other.is(PluginState::Disabled).await;
    one.switch("enable").await;
    other.is(PluginState::Active).await;
    let (status, trapped) = one.server.put("a", "1", json!({ "tool": "t" })).await;
    assert_eq!((status, &trapped["state"]), (200, &json!("failed")));
    one.is(PluginState::Quarantined).await;
    other.is(PluginState::Quarantined).await;
}
