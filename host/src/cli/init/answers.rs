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

/// Returns the answers; `None` if a question was interrupted.
pub(super) async fn collect(
    common: &Common,
    options: Options,
    config: &Path,
) -> anyhow::Result<Option<Answers>> {
    let asks = !options.yes;
    if asks && !std::io::stdin().is_terminal() {
        let missing = missing(common, &options).join(", ");
        let missing = match &*missing {
            "" => String::new(),
            missing => format!("give {missing}, and "),
        };
        bail!("cannot ask without a terminal: {missing}confirm with --yes");
    }
    let workspace = match &common.workspace {
        Some(named) => workspace(common, named, config)?,
        None => {
            let usual = common.workspace()?;
            let usual = match workspace(common, &usual, config) {
                Ok(usual) => usual,
                Err(_) => toolhost_state::home::of_environment()
                    .context("there is no directory for commands: name one with --workspace")?
                    .join("workspace"),
            };
            let question = "In which directory do commands run?";
            let read = |text: &str| workspace(common, &expanded(text), config);
            match ask(asks, question, &usual.to_string_lossy(), read).await? {
                Some(answer) => answer,
                None => return Ok(None),
            }
        }
    };
    let listen = match options.listen {
        Some(listen) => listen,
        None => {
            let question = "Where does the server listen? Only this machine reaches 127.0.0.1, and only your user unix:/PATH.";
            match ask(asks, question, LISTEN, |text| Ok(text.parse()?)).await? {
                Some(answer) => answer,
                None => return Ok(None),
            }
        }
    };
    let tools = match options.tools.is_empty() {
        false => tools(&options.tools.join(",")),
        true => {
            let question =
                "Which tools may the token call? Write `all`, or names such as execute,read_file.";
            match ask(asks, question, ALL, |text| Ok(tools(text))).await? {
                Some(answer) => answer,
                None => return Ok(None),
            }
        }
    };
    let service = match options.service {
        Some(service) => service,
        None => {
            let question = "Run the server as a service of systemd? Write `yes` or `no`.";
            match ask(asks, question, "no", service).await? {
                Some(answer) => answer,
                None => return Ok(None),
            }
        }
    };
    Ok(Some(Answers {
        workspace,
        listen,
        tools,
        service,
    }))
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

/// Asks until the answer can be used, or takes the default without asking. Returns `None` if the question was interrupted.
async fn ask<T>(
    asks: bool,
    question: &str,
    usual: &str,
    read: impl Fn(&str) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    if !asks {
        return read(usual).map(Some);
    }
    let mut refusal = String::new();
    loop {
        let Some(text) = answer(&format!("{refusal}{question}"), usual).await? else {
            return Ok(None);
        };
        match read(&text) {
            Ok(answer) => return Ok(Some(answer)),
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
