//! `toolhost doctor`: checks of this machine, and advice where one fails.

mod database;
mod layers;
mod machine;
mod of_server;
mod open;
mod probe;
mod store;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, config, print};
use crate::config::{Config, Problem};
pub(super) use of_server::of_server;
use toolhost_service::SETUP_FAILED;
use toolhost_service::errors;
use toolhost_service::processes::{self, Prepared};
use toolhost_store::HostState;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost doctor
  toolhost doctor --workspace ~/project --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// All is well.
    Ok,
    /// It works, with something that an operator should know.
    Warning,
    /// It does not work.
    Failed,
}

/// One check, with its result.
#[derive(Clone, Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    text: String,
    /// Advice for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Ok,
            text: text.into(),
            advice: None,
        }
    }

    fn warning(name: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status: Status::Warning,
            advice: Some(advice.into()),
            ..Self::ok(name, text)
        }
    }

    fn failed(name: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status: Status::Failed,
            ..Self::warning(name, text, advice)
        }
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let workspace = common.workspace();
    let sandbox = options.processes.sandbox()?;
    let (state, named) = (common.state_dir(), common.state_dir.is_some());
    let (layers, is_confined) =
        layers::checks(&sandbox, prepared.spawner.as_ref(), state.as_deref());
    let mut checks = machine::checks(is_confined);
    checks.extend(layers);
    checks.extend(open::checks(&sandbox));
    checks.push(configuration(common).await);
    checks.push(machine::state_directory(state.as_deref(), named));
    checks.extend(state.as_deref().and_then(store::check));
    if let Some(store) = common.configuration.as_ref().and_then(Config::store) {
        checks.push(database::check(store).await);
    }
    let unsuitable = common.unsuitable().ok().flatten();
    let workspace = machine::workspace(workspace, unsuitable, common.workspace_anyway);
    let usable = workspace.status != Status::Failed;
    checks.push(workspace);
    let config =
        options
            .processes
            .config(&common.workspace()?, prepared, common.private_paths())?;
    checks.push(machine::environment(&config));
    // Without a workspace, no command runs.
    if usable {
        checks.extend(probe::checks(config, HostState::temporary(std::env::temp_dir())?).await);
    }
    let failed = checks.iter().any(|check| check.status == Status::Failed);
    if common.json {
        print(&serde_json::json!({ "ok": !failed, "checks": checks }).to_string())?;
    } else {
        print(table(&checks).trim_end())?;
    }
    Ok(ExitCode::from(if failed { SETUP_FAILED } else { 0 }))
}

/// Checks the configuration and everything that it names.
async fn configuration(common: &Common) -> Check {
    let Some(config) = &common.configuration else {
        return Check::ok(
            CONFIGURATION,
            "there is no file: everything has its default",
        );
    };
    let path = config.path().unwrap_or_else(|| Path::new(""));
    let problems = match config::problems(common, config).await {
        Ok(problems) => problems,
        Err(error) => {
            let advice = "see the other checks";
            return Check::warning(CONFIGURATION, errors::full_text(&error), advice);
        }
    };
    if problems.is_empty() {
        return Check::ok(CONFIGURATION, path.display().to_string());
    }
    refused(path, &problems)
}

/// The name of the check of the configuration file.
const CONFIGURATION: &str = "configuration";

/// Makes the check of a file with problems.
fn refused(path: &Path, problems: &[Problem]) -> Check {
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let path = path.display();
    Check::failed(
        CONFIGURATION,
        format!("{path}: {}", problems.join("; ")),
        format!("correct it, and look again with `toolhost config check {path}`"),
    )
}

/// Prints the checks for people.
fn table(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for check in checks {
        let status = match check.status {
            Status::Ok => "ok  ",
            Status::Warning => "note",
            Status::Failed => "FAIL",
        };
        text.push_str(&format!(
            "{status}  {:width$}  {}\n",
            check.name, check.text
        ));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("      {:width$}  {advice}\n", ""));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned_and_says_what_to_do() {
        let checks = [
            Check::ok("shell", "/bin/sh"),
            Check::warning("containment", "a process group", "use the program"),
        ];
        assert_eq!(
            table(&checks),
            "ok    shell        /bin/sh\n\
             note  containment  a process group\n                   use the program\n"
        );
    }
}
