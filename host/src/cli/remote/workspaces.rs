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

/// Lines of a log, and how many there were so far.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct LogPage {
    pub(in crate::cli) log: String,
    pub(in crate::cli) next: u64,
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

    /// Starts or stops the machine of a workspace, and returns the workspace.
    pub(in crate::cli) async fn control_workspace(
        &self,
        name: &WorkspaceName,
        request: &Value,
    ) -> anyhow::Result<Value> {
        let body = Some(request.to_string());
        let answer = self.send(Method::POST, self.url_of(name), body).await;
        let answer = answer.map_err(|error| missing(error, name))?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Returns the lines of the log of a workspace that came after so many. Waits for the first one for at most so many seconds.
    pub(in crate::cli) async fn workspace_log(
        &self,
        name: &WorkspaceName,
        after: u64,
        wait_seconds: u64,
    ) -> anyhow::Result<LogPage> {
        let mut url = self.url_below("workspace-logs", name);
        url.query_pairs_mut()
            .append_pair("after", &after.to_string())
            .append_pair("wait_seconds", &wait_seconds.to_string());
        let answer = self.send(Method::GET, url, None).await;
        let answer = answer.map_err(|error| missing(error, name))?;
        answer.json().context("the server's answer is no log")
    }

    /// Returns the templates of machines that the token may use.
    pub(in crate::cli) async fn templates(&self) -> anyhow::Result<Vec<Value>> {
        #[derive(Deserialize)]
        struct List {
            templates: Vec<Value>,
        }
        let url = self.place.url(&["v1", "templates"]);
        let answer = self.send(Method::GET, url, None).await?;
        let list: List = answer
            .json()
            .context("the server's answer is no list of templates")?;
        Ok(list.templates)
    }

    fn url_of(&self, name: &WorkspaceName) -> Url {
        self.url_below("workspaces", name)
    }

    fn url_below(&self, list: &str, name: &WorkspaceName) -> Url {
        let path: Vec<_> = ["v1", list]
            .into_iter()
            .chain(name.as_str().split('/'))
            .collect();
        self.place.url(&path)
    }
}
