//! Running the cases of a plugin through its component, each in a fresh instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::folder::Folder;
use super::{cause, lone_call};
use toolhost_author::{Case, Cases, Difference, Exchange, Got};
use toolhost_call::call::{Arguments, Outcome};
use toolhost_call::tool::Content;
use toolhost_core::{Grants, Options as PluginOptions, Settings};
use toolhost_local::Local;
use toolhost_local::process::Config;
use toolhost_plugin::outgoing::Answers;
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
    values: Settings,
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
    /// Makes a runner. The plugin of a case gets these grants, the files of its temporary workspace, and these settings and secrets
    /// below those of the case.
    pub(super) fn new(engine: Engine, folder: &Folder, grants: Grants, values: Settings) -> Self {
        let name = folder.manifest.name.clone();
        Self {
            engine,
            name,
            grants: grants.with_files(FilesGrant::Write),
            values,
        }
    }

    /// Runs the cases, one after the other, in temporary workspaces: a case with files has one
    /// of its own, and the others share one.
    ///
    /// Fails if the plugin does not load.
    pub(super) async fn run(
        &self,
        component: &[u8],
        cases: &Cases,
        prepared: &Prepared,
    ) -> anyhow::Result<Summary> {
        let scripts: Result<Vec<_>, _> = cases.cases.iter().map(answers).collect();
        let scripts = scripts?;
        let state = HostState::temporary(std::env::temp_dir())?;
        let shared = Place::open(&BTreeMap::new(), prepared, &state).await?;
        let mut summary = Summary::default();
        let bytes = Bytes::copy_from_slice(component);
        // Cases with the same settings and secrets share a plugin: each call has an instance of its own anyway.
        let mut loaded: Vec<(Settings, Arc<Plugin>)> = Vec::new();
        if cases.cases.is_empty() {
            self.load(component, self.values.clone()).await?;
        }
        for (case, answers) in cases.cases.iter().zip(scripts) {
            let mut values = self.values.clone();
            values.settings.extend(case.settings.clone());
            values.secrets.extend(case.secrets.clone());
            let plugin = match loaded.iter().find(|(same, _)| *same == values) {
                Some((_, plugin)) => Arc::clone(plugin),
                None => {
                    let plugin = self.load(component, values.clone()).await?;
                    loaded.push((values, Arc::clone(&plugin)));
                    plugin
                }
            };
            let own = match &case.files {
                Some(files) => Some(Place::open(files, prepared, &state).await?),
                None => None,
            };
            let workspace = &own.as_ref().unwrap_or(&shared).workspace;
            let called = call(&plugin, case, workspace, answers.clone()).await;
            if let Some(own) = own {
                own.workspace.end_all().await;
            }
            let (got, cause) = called?;
            let mut why = match cause {
                Some(cause) => cause::lines(&cause.with_lines(bytes.clone()).await),
                None => Vec::new(),
            };
            let unanswered = answers.map(|answers| answers.unanswered());
            let unanswered = unanswered.unwrap_or_default();
            let difference = case.difference(&got);
            let difference = difference.or_else(|| unreached(&unanswered, &got));
            why.extend(unanswered.iter().map(|line| format!("http      {line}")));
            summary.0.push(Tried {
                name: case.name.clone(),
                difference,
                why,
            });
        }
        shared.workspace.end_all().await;
        Ok(summary)
    }

    async fn load(&self, component: &[u8], settings: Settings) -> anyhow::Result<Arc<Plugin>> {
        let options = PluginOptions {
            grants: self.grants.clone(),
            settings,
            ..PluginOptions::new(&self.name)
        };
        let loaded = Plugin::load(&self.engine, component, options).await;
        loaded.with_context(|| format!("the plugin {} does not load", self.name))
    }
}

/// Returns the answers to the requests of a case, if it has any.
fn answers(case: &Case) -> anyhow::Result<Option<Arc<Answers>>> {
    let Some(script) = &case.http else {
        return Ok(None);
    };
    let answers = Answers::default();
    for Exchange { request, answer } in script {
        let headers = answer.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
        let target = (request.method.as_str(), request.url.as_str());
        let added = answers.add(target, answer.status, headers, answer.body());
        added.with_context(|| format!("{}: the case {:?}: http", Cases::FILE, case.name))?;
    }
    Ok(Some(Arc::new(answers)))
}

/// A temporary workspace.
struct Place {
    workspace: Arc<dyn Workspace>,
    _directory: TempDir,
}

impl Place {
    /// Makes a workspace with these files.
    async fn open(
        files: &BTreeMap<String, String>,
        prepared: &Prepared,
        state: &HostState,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("toolhost-test-").tempdir();
        let directory = directory.context("cannot make a temporary workspace")?;
        let root = directory.path();
        for (path, text) in files {
            let path = root.join(path);
            let above = path.parent().unwrap_or(root);
            let written = std::fs::create_dir_all(above).and_then(|()| std::fs::write(&path, text));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        let config = Config {
            spawner: prepared.spawner.clone(),
            ..Config::new(root)
        };
        let workspace =
            Local::open(config, toolhost_local::files::Config::new(root), state).await?;
        Ok(Self {
            workspace: Arc::new(workspace),
            _directory: directory,
        })
    }
}

/// Returns the difference of a call that went as its case expects, although requests had no answer.
fn unreached(unanswered: &[String], got: &Got) -> Option<Difference> {
    (!unanswered.is_empty()).then(|| Difference {
        expected: "an answer to each request".to_owned(),
        got: got.to_string(),
    })
}

/// Calls the tool of a case.
async fn call(
    plugin: &Plugin,
    case: &Case,
    workspace: &Arc<dyn Workspace>,
    answers: Option<Arc<Answers>>,
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
    let called = lone_call::call(plugin, chat, &case.tool, arguments, workspace, answers);
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
