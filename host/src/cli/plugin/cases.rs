//! Running the cases of a plugin through its component, each in a fresh instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use serde_json::{Value, json};

use super::folder::Folder;
use super::{cause, lone_call};
use toolhost_author::{Case, Cases, Difference, Got};
use toolhost_call::call::{Arguments, Outcome};
use toolhost_call::tool::Content;
use toolhost_core::{Grants, Options as PluginOptions, Settings};
use toolhost_local::Local;
use toolhost_local::files;
use toolhost_local::process::Config;
use toolhost_plugin::{Cause, Engine, Plugin, shown_up_to};
use toolhost_service::processes::Prepared;
use toolhost_store::HostState;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;

/// The longest value that the report shows of a case, in bytes.
const SHOWN: usize = 1000;

/// Runs the cases of one plugin.
#[derive(Debug)]
pub(super) struct Runner {
    engine: Engine,
    name: String,
    grants: Grants,
    settings: BTreeMap<String, String>,
}

/// What came of all cases.
#[derive(Debug, Default)]
pub(super) struct Summary(Vec<Tried>);

/// A case that ran.
#[derive(Debug)]
struct Tried {
    name: String,
    /// `None`: it passed.
    difference: Option<Difference>,
    /// Lines about the failure of its guest.
    why: Vec<String>,
}

impl Runner {
    /// Makes a runner. The plugin of a case gets these grants, the files of its temporary workspace, and these settings below
    /// those of the case.
    pub(super) fn new(
        engine: Engine,
        folder: &Folder,
        grants: Grants,
        settings: BTreeMap<String, String>,
    ) -> Self {
        let name = folder.manifest.name.clone();
        Self {
            engine,
            name,
            grants: grants.with_files(FilesGrant::Write),
            settings,
        }
    }

    /// Runs the cases, one after the other, in one temporary workspace.
    ///
    /// Fails if the plugin does not load.
    pub(super) async fn run(
        &self,
        component: &[u8],
        cases: &Cases,
        prepared: &Prepared,
    ) -> anyhow::Result<Summary> {
        let directory = tempfile::Builder::new().prefix("toolhost-test-").tempdir();
        let directory = directory.context("cannot make a temporary workspace")?;
        let root = directory.path();
        let config = Config {
            spawner: prepared.spawner.clone(),
            ..Config::new(root)
        };
        let state = HostState::temporary(std::env::temp_dir())?;
        let workspace = Local::open(config, files::Config::new(root), &state).await?;
        let workspace: Arc<dyn Workspace> = Arc::new(workspace);
        let mut summary = Summary::default();
        let bytes = Bytes::copy_from_slice(component);
        // Cases with the same settings share a plugin: each call has an instance of its own anyway.
        let mut loaded: BTreeMap<_, Arc<Plugin>> = BTreeMap::new();
        if cases.cases.is_empty() {
            self.load(component, self.settings.clone()).await?;
        }
        for case in &cases.cases {
            let mut settings = self.settings.clone();
            settings.extend(case.settings.clone());
            let plugin = match loaded.get(&settings) {
                Some(plugin) => Arc::clone(plugin),
                None => {
                    let plugin = self.load(component, settings.clone()).await?;
                    loaded.insert(settings, Arc::clone(&plugin));
                    plugin
                }
            };
            let (got, cause) = call(&plugin, case, &workspace).await?;
            let why = match cause {
                Some(cause) => Some(cause::lines(&cause.with_lines(bytes.clone()).await)),
                None => None,
            };
            summary.0.push(Tried {
                name: case.name.clone(),
                difference: case.difference(&got),
                why: why.unwrap_or_default(),
            });
        }
        workspace.end_all().await;
        Ok(summary)
    }

    async fn load(
        &self,
        component: &[u8],
        settings: BTreeMap<String, String>,
    ) -> anyhow::Result<Arc<Plugin>> {
        let options = PluginOptions {
            grants: self.grants.clone(),
            settings: Settings {
                settings,
                ..Settings::default()
            },
            ..PluginOptions::new(&self.name)
        };
        let loaded = Plugin::load(&self.engine, component, options).await;
        loaded.with_context(|| format!("the plugin {} does not load", self.name))
    }
}

/// Calls the tool of a case.
async fn call(
    plugin: &Plugin,
    case: &Case,
    workspace: &Arc<dyn Workspace>,
) -> anyhow::Result<(Got, Option<Cause>)> {
    let arguments = Value::Object(case.arguments.clone()).to_string();
    let arguments = match Arguments::parse(&arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let got = Got::Error {
                kind: "invalid-arguments".into(),
                message: error.to_string(),
            };
            return Ok((got, None));
        }
    };
    if !plugin.tools().iter().any(|tool| tool.name == case.tool) {
        let known: Vec<_> = plugin.tools().iter().map(|tool| &*tool.name).collect();
        let got = Got::Error {
            kind: "unknown-tool".into(),
            message: format!("the tools are {}", known.join(", ")),
        };
        return Ok((got, None));
    }
    let (chat, workspace) = ("test".parse()?, Arc::clone(workspace));
    let called = lone_call::call(plugin, chat, &case.tool, arguments, workspace);
    let (outcome, cause) = called.await?;
    Ok((got(&outcome)?, cause))
}

/// Returns what a case is compared with.
fn got(outcome: &Outcome) -> anyhow::Result<Got> {
    let reply = match &outcome.result {
        Ok(reply) => reply,
        Err(error) => {
            let kind = serde_json::to_value(error.kind)?;
            return Ok(Got::Error {
                kind: kind.as_str().unwrap_or_default().to_owned(),
                message: error.message.clone(),
            });
        }
    };
    let structured = reply.structured();
    let texts = reply.content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    Ok(Got::Reply {
        structured: structured
            .map(|json| serde_json::from_str(json.get()))
            .transpose()?,
        text: texts.collect(),
        is_error: reply.is_error,
    })
}

impl Summary {
    /// Returns whether all cases passed.
    pub(super) fn passed(&self) -> bool {
        self.0.iter().all(|case| case.difference.is_none())
    }

    /// Returns the lines of cases that failed, and the sum.
    pub(super) fn brief(&self) -> String {
        let failed = self.0.iter().filter(|case| case.difference.is_some());
        self.with_sum(failed.map(Tried::text).collect())
    }

    /// Returns a line for each case, and the sum.
    pub(super) fn text(&self) -> String {
        self.with_sum(self.0.iter().map(Tried::text).collect())
    }

    /// Returns an object for each case.
    pub(super) fn objects(&self) -> Vec<Value> {
        self.0.iter().map(Tried::object).collect()
    }

    fn with_sum(&self, mut lines: Vec<String>) -> String {
        let all = self.0.len();
        let failed = self.0.iter().filter(|case| case.difference.is_some());
        let failed = failed.count();
        lines.push(match all {
            0 => "cases: none; the plugin loads".to_owned(),
            _ => format!("cases: {} ok, {failed} failed", all - failed),
        });
        lines.join("\n")
    }
}

impl Tried {
    fn text(&self) -> String {
        let name = shown_up_to(&self.name, 80);
        let Some(Difference { expected, got }) = &self.difference else {
            return format!("ok      {name}");
        };
        let mut text = format!(
            "FAILED  {name}\n          expected  {}\n          got       {}",
            shown_up_to(expected, SHOWN),
            shown_up_to(got, SHOWN)
        );
        for line in &self.why {
            text.push_str("\n          ");
            text.push_str(line);
        }
        text
    }

    fn object(&self) -> Value {
        match &self.difference {
            None => json!({ "name": self.name, "passed": true }),
            Some(Difference { expected, got }) => json!({
                "name": self.name, "passed": false, "expected": expected, "got": got, "cause": self.why,
            }),
        }
    }
}
