//! The plugins of a server.

use anyhow::Context as _;
use reqwest::Method;
use serde_json::Value;

use super::Server;
use toolhost_plugin::shown;

impl Server {
    /// Returns the plugins as the server describes them.
    pub(in crate::cli) async fn plugins(&self) -> anyhow::Result<Value> {
        let url = self.place.url(&["v1", "plugins"]);
        let answer = self.send(Method::GET, url, None).await?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Has the server load a plugin again.
    pub(in crate::cli) async fn reload(&self, plugin: &str) -> anyhow::Result<()> {
        let url = self.place.url(&["v1", "plugins", plugin, "reload"]);
        self.send(Method::POST, url, None).await?;
        Ok(())
    }

    /// Adds the plugins that the server refused to load to an error about a tool that it does not know. A token without the scope
    /// `admin` does not get these.
    pub(super) async fn with_failed_plugins(&self, error: &str) -> anyhow::Error {
        let Ok(plugins) = self.plugins().await else {
            return anyhow::anyhow!("{error}");
        };
        let all = plugins.get("plugins").and_then(Value::as_array);
        let failed = all.into_iter().flatten().filter_map(|plugin| {
            let text = |key: &str| plugin.get(key).and_then(Value::as_str).map(shown);
            let (name, reason) = (text("name")?, text("error")?);
            Some(format!("the plugin {name} does not load: {reason}"))
        });
        let failed: Vec<_> = failed.collect();
        let known = error.to_owned();
        let all: Vec<_> = std::iter::once(known).chain(failed).collect();
        anyhow::anyhow!("{}", all.join("; "))
    }
}
