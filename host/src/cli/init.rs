//! `toolhost init`: a configuration, a token for it and, if asked for, a unit of systemd.

mod answers;
mod files;
mod unit;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use toolhost_http::Listen;

use super::remote::quoted;
use super::{Common, exit_code, literal, print, question};
use answers::Answers;
use files::Planned;
use unit::Unit;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost init
  toolhost init --workspace ~/project --yes
  toolhost init --workspace ~/project --listen 127.0.0.1:7411 --tools execute,read_file --service no --yes";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Where the server listens: an address, or unix:/PATH [default: asked for on a terminal]
    #[arg(long, value_name = "ADDR")]
    listen: Option<Listen>,
    /// The tools that the token may call, or `all` [default: asked for on a terminal]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,
    /// Whether to write a unit of systemd [default: asked for on a terminal]
    #[arg(long, value_name = "yes|no", hide_possible_values = true)]
    service: Option<Service>,
    /// Do not ask: take the default of each answer that no flag gives
    #[arg(long)]
    yes: bool,
}

/// Whether the server runs as a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Service {
    Yes,
    No,
}

/// The name of the token.
const TOKEN: &str = "main";

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let config = path(common)?;
    let directory = config.parent().unwrap_or(Path::new("/")).to_owned();
    let token = directory.join(format!("{TOKEN}.token"));
    let unit = directory.join("toolhost.service");
    for path in [&config, &token] {
        if path.symlink_metadata().is_ok() {
            bail!(
                "{} exists: name another configuration with --config, or change this one by hand",
                path.display()
            );
        }
    }
    let yes = options.yes;
    let answers = answers::collect(common, options, &config).await?;
    let (text, section) = super::token::made(TOKEN, answers.tools.clone())?;
    let mut planned = vec![
        Planned::shown(&config, configuration(common, &answers, &section)?),
        Planned::hidden(
            &token,
            text,
            "a new token, of which the configuration has only the hash",
        ),
    ];
    if answers.service == Service::Yes {
        let text = Unit::of_this_user(&config, &answers.workspace)?.text();
        planned.push(Planned::shown(&unit, text));
    }
    if !answers.workspace.is_dir() {
        print(&format!(
            "{}/: a new directory",
            answers.workspace.display()
        ))?;
    }
    for file in &planned {
        print(&file.to_string())?;
    }
    if !yes && !question::ask("write these files?").await? {
        return Ok(exit_code(false));
    }
    let workspace = &answers.workspace;
    std::fs::create_dir_all(workspace)
        .with_context(|| format!("cannot make the workspace {}", workspace.display()))?;
    files::write(&directory, &planned)?;
    print(&next(&answers, &config, &token, &unit))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of the new configuration.
fn path(common: &Common) -> anyhow::Result<PathBuf> {
    let named = common.config.clone().or_else(|| {
        let directory = toolhost_state::home::configuration()?;
        Some(directory.join("toolhost.toml"))
    });
    let named = named.context("HOME is not set: name the new configuration with --config")?;
    std::path::absolute(&named).with_context(|| format!("{} cannot be used", named.display()))
}

/// Returns the text of the configuration.
fn configuration(common: &Common, answers: &Answers, section: &str) -> anyhow::Result<String> {
    let quoted = |path: &Path| anyhow::Ok(literal::quoted(literal::utf8(path)?));
    let listen = literal::quoted(&answers.listen.to_string());
    let state = match &common.state_dir {
        Some(path) => format!("state_dir = {}\n", quoted(&std::path::absolute(path)?)?),
        None => String::new(),
    };
    let workspace = quoted(&answers.workspace)?;
    Ok(format!(
        "# `toolhost config example` has more keys, and docs/configuration.md all.\n\
         listen = {listen}\n{state}\n[workspace]\ndir = {workspace}\n\n{section}\n"
    ))
}

/// Returns the commands to run next.
fn next(answers: &Answers, config: &Path, token: &Path, unit: &Path) -> String {
    let shown = |path: &Path| quoted(&path.to_string_lossy());
    let start = match answers.service {
        Service::Yes => format!(
            "sudo install -m 0644 {} /etc/systemd/system/\n  sudo systemctl enable --now toolhost",
            shown(unit)
        ),
        Service::No => format!("toolhost serve --config {}", shown(config)),
    };
    let server = match &answers.listen {
        Listen::Unix(_) => answers.listen.to_string(),
        Listen::Tcp(address) => {
            let mut address = *address;
            if address.ip().is_unspecified() {
                address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
            }
            format!("http://{address}")
        }
    };
    let may_execute =
        answers.tools.is_empty() || answers.tools.iter().any(|tool| tool == "execute");
    let first = match may_execute {
        true => "call execute command='echo hello'",
        false => "tools",
    };
    format!(
        "Start the server:\n  {start}\nThen use it:\n  toolhost {first} --server {} --token-file {}",
        quoted(&server),
        shown(token)
    )
}
