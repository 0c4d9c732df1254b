//! The four answers from which a configuration is made: from flags, or asked for on a terminal.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use toolhost_http::Listen;

use super::{Options, Service};
use crate::cli::Common;
use crate::cli::question::answer;

/// The answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// The absolute path of the workspace.
    pub(super) workspace: PathBuf,
    pub(super) listen: Listen,
    /// The tools that the token may call; empty for all.
    pub(super) tools: Vec<String>,
    pub(super) service: Service,
}

/// The default address, which only this machine reaches.
const LISTEN: &str = "127.0.0.1:7411";

/// Stands for all tools.
const ALL: &str = "all";

/// Returns the answers.
///
/// # Errors
///
/// If a flag cannot be used, there is no terminal to ask at, or a question is interrupted.
pub(super) async fn collect(
    common: &Common,
    options: Options,
    config: &Path,
) -> anyhow::Result<Answers> {
    let asks = !options.yes;
    if asks && !std::io::stdin().is_terminal() {
        let missing = missing(common, &options).join(", ");
        let missing = match &*missing {
            "" => String::new(),
            missing => format!("give {missing}, and "),
        };
        bail!("cannot ask without a terminal: {missing}confirm with --yes");
    }
    let named = common.workspace.as_ref();
    let named = named.map(|named| workspace(common, named, config));
    let usual = match &named {
        Some(_) => String::new(),
        None => usual_workspace(common, config)?,
    };
    let workspace = |text: &str| workspace(common, &expanded(text), config);
    let question = "In which directory do commands run?";
    let workspace = given_or(named.transpose()?, asks, question, &usual, workspace).await?;
    let question = "Where does the server listen? Only this machine reaches 127.0.0.1, and only your user unix:/PATH.";
    let listen = |text: &str| Ok(text.parse()?);
    let listen = given_or(options.listen, asks, question, LISTEN, listen).await?;
    let named = (!options.tools.is_empty()).then(|| tools(&options.tools.join(",")));
    let question =
        "Which tools may the token call? Write `all`, or names such as execute,read_file.";
    let tools = given_or(named, asks, question, ALL, |text| Ok(tools(text))).await?;
    let question = "Run the server as a service of systemd? Write `yes` or `no`.";
    let service = given_or(options.service, asks, question, "no", service).await?;
    Ok(Answers {
        workspace,
        listen,
        tools,
        service,
    })
}

/// Returns the current directory, or one in the home if that is no directory for work.
fn usual_workspace(common: &Common, config: &Path) -> anyhow::Result<String> {
    let current = std::env::current_dir().context("there is no current directory")?;
    let usual = match workspace(common, &current, config) {
        Ok(current) => current,
        Err(_) => toolhost_state::home::of_environment()
            .context("there is no directory for commands: name one with --workspace")?
            .join("workspace"),
    };
    Ok(usual.to_string_lossy().into_owned())
}

/// Returns the flags of the answers that are not given.
fn missing(common: &Common, options: &Options) -> Vec<&'static str> {
    let given = [
        ("--workspace DIR", common.workspace.is_some()),
        ("--listen ADDR", options.listen.is_some()),
        ("--tools NAMES", !options.tools.is_empty()),
        ("--service yes|no", options.service.is_some()),
    ];
    let missing = given.into_iter().filter(|(_, is_given)| !is_given);
    missing.map(|(flag, _)| flag).collect()
}

/// Returns the given answer, or asks until one can be used, or takes the usual one without asking.
async fn given_or<T>(
    given: Option<T>,
    asks: bool,
    question: &str,
    usual: &str,
    read: impl Fn(&str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if let Some(given) = given {
        return Ok(given);
    }
    if !asks {
        return read(usual);
    }
    let mut refusal = String::new();
    loop {
        let text = answer(&format!("{refusal}{question}"), usual).await?;
        let text = text.context("nothing was written: a question has no answer")?;
        match read(&text) {
            Ok(answer) => return Ok(answer),
            Err(error) => refusal = format!("toolhost: {error:#}\n"),
        }
    }
}

/// Returns a path with the home in the place of `~`, as no shell has read it.
fn expanded(text: &str) -> PathBuf {
    let home = toolhost_state::home::of_environment();
    let below = text.strip_prefix("~/");
    let path = home.zip(below).map(|(home, below)| home.join(below));
    path.unwrap_or_else(|| text.into())
}

/// Returns the absolute path of a workspace; fails if it is no directory for work.
fn workspace(common: &Common, path: &Path, config: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path)
        .with_context(|| format!("{} cannot be used as the workspace", path.display()))?;
    let mut chosen = common.base.clone();
    chosen.workspace = Some(path.clone());
    chosen.check_workspace(Some(config))?;
    if path.exists() && !path.is_dir() {
        bail!("{} is not a directory: name another one", path.display());
    }
    Ok(path)
}

/// Returns the names of tools in a text; none for all of them.
fn tools(text: &str) -> Vec<String> {
    let names = text.split([',', ' ']).filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(str::to_owned).collect();
    match names.iter().any(|name| name == ALL) {
        true => Vec::new(),
        false => names,
    }
}

fn service(text: &str) -> anyhow::Result<Service> {
    match text {
        "y" | "Y" | "yes" => Ok(Service::Yes),
        "n" | "N" | "no" => Ok(Service::No),
        _ => bail!("{text:?} is neither yes nor no"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_names_or_all() {
        assert!(tools("all").is_empty() && tools("execute,all").is_empty());
        assert_eq!(tools("execute, read_file"), ["execute", "read_file"]);
        assert_eq!(service("yes").unwrap(), Service::Yes);
        assert!(service("perhaps").is_err());
        assert!(LISTEN.parse::<Listen>().is_ok());
    }
}
