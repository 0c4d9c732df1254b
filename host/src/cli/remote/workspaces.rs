//! The workspaces of a server.

use anyhow::Context as _;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::Value;

use super::{Refusal, Server};
use toolhost_state::workspace_name::WorkspaceName;

/// A page of workspaces as the server describes them, and the place of the next one.
#[derive(Debug, Deserialize)]
struct Page {
    workspaces: Vec<Value>,
    #[serde(default)]
    next: Option<String>,
}

/// Says in the words of the command line that there is no workspace of this name, if a server answered so.
fn missing(error: anyhow::Error, name: &WorkspaceName) -> anyhow::Error {
    match Refusal::within(&error) {
        Some(refusal) if refusal.code == "unknown_workspace" => anyhow::anyhow!(
            "there is no workspace \"{name}\"; make it with `toolhost workspaces create {name}`"
        ),
        _ => error,
    }
}

impl Server {
    /// Returns all workspaces whose names begin so.
    pub(in crate::cli) async fn workspaces(&self, prefix: &str) -> anyhow::Result<Vec<Value>> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut url = self.place.url(&["v1", "workspaces"]);
            url.query_pairs_mut()
                .append_pair("prefix", prefix)
                .append_pair("limit", "500");
            if let Some(after) = &after {
                url.query_pairs_mut().append_pair("after", after);
            }
            let answer = self.send(Method::GET, url, None).await?;
            let page: Page = answer
                .json()
                .context("the server's answer is no list of workspaces")?;
            all.extend(page.workspaces);
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Returns a workspace.
    pub(in crate::cli) async fn workspace(&self, name: &WorkspaceName) -> anyhow::Result<Value> {
        let answer = self.send(Method::GET, self.url_of(name), None).await;
        let answer = answer.map_err(|error| missing(error, name))?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Makes a workspace, and returns it.
    pub(in crate::cli) async fn put_workspace(
        &self,
        name: &WorkspaceName,
        spec: &Value,
    ) -> anyhow::Result<Value> {
        let url = self.url_of(name);
        let answer = self.send(Method::PUT, url, Some(spec.to_string())).await?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Removes a workspace, and returns the processes that were live.
    pub(in crate::cli) async fn remove_workspace(
        &self,
        name: &WorkspaceName,
        force: bool,
    ) -> anyhow::Result<Value> {
        let mut url = self.url_of(name);
        url.query_pairs_mut()
            .append_pair("force", if force { "true" } else { "false" });
        let answer = self.send(Method::DELETE, url, None).await;
        let answer = answer.map_err(|error| missing(error, name))?;
        answer.json().context("the server's answer is not JSON")
    }

    fn url_of(&self, name: &WorkspaceName) -> Url {
        let path: Vec<_> = ["v1", "workspaces"]
            .into_iter()
            .chain(name.as_str().split('/'))
            .collect();
        self.place.url(&path)
    }
}
