//! `toolhost plugin attack`: a kit for testers of sandboxes.

mod arguments;
mod attempt;
mod bench;
mod measure;
mod report;
mod set;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use super::check::{self, subprocess};
use super::{Common, component, engine, name};
use crate::cli::given::Given;
use crate::cli::{exit_code, print};
use attempt::Called;
use bench::Bench;
use report::Subject;
use set::Case;
use toolhost_core::{Grants, Options as PluginOptions};
use toolhost_plugin::{Compiler, Engine, Limits, Shape};
use toolhost_service::THIS_PROGRAM;
use toolhost_service::processes::Prepared;
use toolhost_workspace::files::FilesGrant;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The components [default: the hostile guests of --set]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Attack with the set of hostile guests that is part of the program, and compare how each ends with how it must
    #[arg(long, conflicts_with = "files")]
    set: bool,
    /// Attack with this guest of the set alone; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    only: Vec<String>,
    /// Write the set into a directory instead, as components and `expected.json`, to measure another host with it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "set", "only"])]
    write: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
    /// The temporary directory of the attack; set if this process is the one that is attacked
    #[arg(long, value_name = "DIR", hide = true)]
    confined: Option<PathBuf>,
}

impl Options {
    /// Starts a spawner if this is the process that is attacked, and guests may run commands.
    pub(super) fn prepare(&self) -> Prepared {
        let commands = self.files.is_empty() || check::granted(&self.given).processes();
        match self.confined.is_some() && commands {
            true => Prepared::with_cgroup(true),
            false => Prepared::default(),
        }
    }

    /// Returns the arguments for the process that is attacked.
    fn arguments(&self) -> Vec<OsString> {
        let only = self.only.iter().map(|name| format!("--only={name}"));
        let given = self.given.flags().chain(only);
        let mut arguments: Vec<_> = given.map(OsString::from).collect();
        arguments.push("--".into());
        arguments.extend(self.files.iter().map(|file| file.clone().into_os_string()));
        arguments
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    if let (true, Some(flag)) = (options.files.is_empty(), options.given.flag()) {
        bail!(
            "{flag} has no effect on the set of hostile guests: name the components, or leave it out"
        );
    }
    if let Some(directory) = &options.write {
        let count = set::write(directory)?;
        let directory = directory.display();
        print(&format!(
            "wrote {count} components and expected.json into {directory}"
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(directory) = options.confined.clone() else {
        // Check this before anything is started: a missing file and an unknown name are wrong usage.
        options
            .files
            .iter()
            .try_for_each(|file| component(file).map(drop))?;
        set::named(&options.only)?;
        return subprocess::confined(common, "attack", options.arguments()).await;
    };
    subprocess::end_with_parent()?;
    let subjects = match options.files.is_empty() {
        true => of_the_set(&options, prepared, &directory).await?,
        false => of_files(common, &options, prepared, &directory).await?,
    };
    print(&match common.json {
        false => report::table(&subjects),
        true => serde_json::to_string_pretty(&report::json(&subjects))?,
    })?;
    Ok(exit_code(subjects.iter().all(Subject::is_well)))
}

/// Attacks with guests of the set. They do not go through the code cache, from which they would drive the operator's plugins.
async fn of_the_set(
    options: &Options,
    prepared: Prepared,
    directory: &Path,
) -> anyhow::Result<Vec<Subject>> {
    let engine = Engine::with_compiler(None, Some(Compiler::new(THIS_PROGRAM)))?;
    let bench = Bench::open(engine, directory, prepared.spawner).await?;
    warm_up(&bench).await?;
    let mut subjects = Vec::new();
    for case in set::named(&options.only)? {
        bench.bait()?;
        let plugin_options = PluginOptions {
            grants: Grants::default()
                .with_processes()
                .with_files(FilesGrant::Write),
            limits: limits_for(&case),
            ..PluginOptions::new("hostile")
        };
        let calls = |_: &_| Called::of_the_set();
        let attacked = bench.attack(&case.component, plugin_options, calls).await?;
        subjects.push(Subject {
            name: case.name.clone(),
            case: Some(case),
            attacked,
        });
    }
    Ok(subjects)
}

/// Attacks with components of the user: with each example of each tool, and with hostile arguments.
async fn of_files(
    common: &Common,
    options: &Options,
    prepared: Prepared,
    directory: &Path,
) -> anyhow::Result<Vec<Subject>> {
    let bench = Bench::open(engine(common)?, directory, prepared.spawner).await?;
    warm_up(&bench).await?;
    let mut subjects = Vec::new();
    for file in &options.files {
        let bytes = component(file)?;
        let mut grants = check::granted(&options.given);
        if let Ok(shape) = Shape::read(&bytes) {
            let missing = shape.needs().into_iter();
            let missing = missing.filter(|need| grants.get(need.name()).is_none());
            missing
                .collect::<Vec<_>>()
                .iter()
                .for_each(|need| grants.grant_least(need));
        }
        // Commands of a stranger reach whatever the user can: without the grant, no call is made.
        let may_call = check::granted(&options.given).processes() || !grants.processes();
        let plugin_options = PluginOptions {
            grants,
            settings: options.given.values()?,
            limits: small(),
            ..PluginOptions::new(name(None, file)?)
        };
        let calls = |plugin: &_| match may_call {
            true => Called::of(plugin),
            false => Vec::new(),
        };
        let attacked = bench.attack(&bytes, plugin_options, calls).await?;
        subjects.push(Subject {
            name: file.display().to_string(),
            case: None,
            attacked,
        });
    }
    Ok(subjects)
}

/// Makes one harmless call, so that what a host keeps after its first call is there before anything is measured.
async fn warm_up(bench: &Bench) -> anyhow::Result<()> {
    for case in set::named(&["well_behaved".into()])? {
        let options = PluginOptions::new("warm_up");
        let calls = |_: &_| Called::of_the_set();
        bench.attack(&case.component, options, calls).await?;
    }
    Ok(())
}

/// Limits that stop a plugin soon: they are for finding out what stops it, and not for work.
fn small() -> Limits {
    Limits {
        guest_time: Duration::from_secs(1),
        deadline: Duration::from_secs(5),
        max_deadline: Duration::from_secs(5),
        handles: 200,
        reply: 256 << 10,
        log: 16 << 10,
        ..Limits::default()
    }
}

/// Limits for a guest of the set: the one that must stop it is reached soon, and no slow machine reaches another one before.
fn limits_for(case: &Case) -> Limits {
    let ends_by = |limit: &str| case.limit.as_deref() == Some(limit);
    Limits {
        guest_time: match ends_by("guest_time") {
            true => Duration::from_millis(100),
            false => Duration::from_hours(1),
        },
        deadline: match ends_by("deadline") {
            true => Duration::from_millis(300),
            false => Duration::from_mins(10),
        },
        ..Limits::default()
    }
}
