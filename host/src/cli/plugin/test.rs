//! `toolhost plugin test`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::build::{self, How};
use super::cases;
use super::folder::Folder;
use super::{Common, engine};
use crate::cli::given::Given;
use crate::cli::{exit_code, print};
use serde_json::json;
use toolhost_author::Cases;
use toolhost_service::processes::Prepared;
use toolhost_service::stderr;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder of the plugin
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Run only the cases, and not the tests of the language
    #[arg(long)]
    cases: bool,
    /// Use the component that is there, instead of building it for debugging
    #[arg(long)]
    no_build: bool,
    /// Install what is missing: into the folder of the plugin, or with rustup
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    given: Given,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(&options.folder)?;
    let cases = Cases::read(&folder.path)?;
    let values = options.given.values()?;
    let build = How::for_debugging(options.install, true);
    let build = build.of(&folder);
    // `None`: the language has no tests of its own.
    let mut native = None;
    if !options.cases {
        match build.test().await {
            Ok(Some(passed)) => native = Some(passed),
            Ok(None) => stderr::line("toolhost: the language has no tests of its own here"),
            Err(error) => return build::failed(error),
        }
    }
    let component = match options.no_build {
        true => folder.built()?,
        false => match build.run().await {
            Ok(component) => component,
            Err(error) => return build::failed(error),
        },
    };
    let bytes = super::component(&component)?;
    let grants = options.given.grants(folder.grants()?);
    let runner = cases::Runner::new(engine(common)?, &folder, grants, values);
    let summary = runner.run(&bytes, &cases, &prepared).await?;
    let failed = native == Some(false);
    let passed = !failed && summary.passed();
    if common.json {
        let object = json!({ "passed": passed, "language_tests_passed": native, "cases": summary.objects() });
        print(&object.to_string())?;
    } else {
        print(&summary.text())?;
        if failed {
            print("the tests of the language failed")?;
        }
    }
    Ok(exit_code(passed))
}
