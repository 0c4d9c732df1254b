//! The engine that runs containers, by the command line of `podman` or `docker`.
//!
//! The main process of a container is the agent, which is mounted into it, as is the directory with the socket of the host. So any image
//! works unchanged, and without a network. The command lines are those that both programs understand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::program::Program;
use crate::{Engine, EngineError, IsKept, Log, Machine, Standing, Working};

/// Where a container sees the program of the agent.
const AGENT: &str = "/run/toolhost-agent";

/// Where a container sees the directory with the socket of the host.
const HOST: &str = "/run/toolhost";

/// The label with the host that made a container.
const LABEL: &str = "toolhost.host";

/// The variable with the token of the agent. It is in no command line.
const TOKEN: &str = "TOOLHOST_TOKEN";

/// How long a container may take to stop before it is killed, in seconds.
const STOPS_WITHIN: &str = "10";

/// How many lines of the output of a container are told.
const TOLD: &str = "50";

/// The containers of a template.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerConfig {
    /// The program, `podman` or `docker`, with the options that come before its command.
    #[serde(default = "ContainerConfig::usual_engine")]
    pub engine: Vec<String>,
    /// The image.
    pub image: String,
    /// The user that the agent and all commands run as; `None`: that of the image.
    pub user: Option<String>,
    /// The CPUs, as the engine takes them, such as `1.5`.
    pub cpus: Option<String>,
    /// The memory, such as `2g`.
    pub memory: Option<String>,
    /// The most processes.
    pub pids: Option<u32>,
    /// The network, such as `none`.
    pub network: Option<String>,
    /// The working directory, which is the workspace; `None`: that of the image.
    pub workdir: Option<String>,
    /// Mounts, each as `FROM:TO` or `FROM:TO:ro`.
    #[serde(default)]
    pub mounts: Vec<String>,
    /// Variables of the container.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Further options of the command `create` of the engine.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The program of the agent, which must run in the image: one that is linked statically. `None`: `toolhost-agent` beside the host.
    pub agent: Option<PathBuf>,
    /// Further arguments of the agent.
    #[serde(default)]
    pub agent_arguments: Vec<String>,
    /// How long each command of the engine may run. To make a container may pull its image.
    #[serde(default = "ContainerConfig::usual_seconds")]
    pub program_seconds: u64,
}

impl ContainerConfig {
    fn usual_engine() -> Vec<String> {
        vec!["podman".to_owned()]
    }

    fn usual_seconds() -> u64 {
        600
    }
}

/// Runs containers.
#[derive(Clone, Debug)]
pub struct Container {
    config: ContainerConfig,
    agent: PathBuf,
    /// The label of all containers of this host.
    host: String,
}

impl Container {
    /// Makes the engine, with the label of the host and the program of the agent.
    pub fn new(config: ContainerConfig, agent: PathBuf, host: String) -> Self {
        Self {
            config,
            agent,
            host,
        }
    }

    async fn run(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
        log: &Log,
    ) -> Result<String, EngineError> {
        let engine = self.config.engine.iter().map(String::as_str);
        let name = self.config.engine.first().map_or("", String::as_str);
        let command = arguments.first().copied().unwrap_or_default();
        let program = Program {
            line: engine
                .chain(arguments.iter().copied())
                .map(str::to_owned)
                .collect(),
            shown: format!("{name} {command}"),
            variables,
            input: Vec::new(),
            time: Duration::from_secs(self.config.program_seconds),
        };
        program.run(log).await
    }

    /// Returns the arguments that make a container.
    fn creation(&self, machine: &Machine) -> Vec<String> {
        let config = &self.config;
        let mut all = vec!["create".to_owned()];
        let mut option = |name: &str, value: String| all.extend([format!("--{name}"), value]);
        option("name", machine.id.clone());
        option("label", format!("{LABEL}={}", self.host));
        option(
            "label",
            format!("toolhost.workspace={}", machine.workspace.as_str()),
        );
        let socket = machine.connect.socket.parent();
        let socket = socket.unwrap_or(&machine.connect.socket).display();
        option("volume", format!("{}:{AGENT}:ro", self.agent.display()));
        option("volume", format!("{socket}:{HOST}:ro"));
        option("env", TOKEN.to_owned());
        option("entrypoint", AGENT.to_owned());
        for (name, value) in [
            ("user", &config.user),
            ("cpus", &config.cpus),
            ("memory", &config.memory),
            ("network", &config.network),
            ("workdir", &config.workdir),
        ] {
            if let Some(value) = value {
                option(name, value.clone());
            }
        }
        if let Some(pids) = config.pids {
            option("pids-limit", pids.to_string());
        }
        for mount in &config.mounts {
            option("volume", mount.clone());
        }
        for (name, value) in &config.environment {
            option("env", format!("{name}={value}"));
        }
        all.extend(config.arguments.iter().cloned());
        let socket = machine.connect.socket.file_name().unwrap_or_default();
        all.extend([
            config.image.clone(),
            "--connect".to_owned(),
            format!("unix:{HOST}/{}", socket.display()),
            "--name".to_owned(),
            machine.workspace.as_str().to_owned(),
        ]);
        all.extend(config.agent_arguments.iter().cloned());
        all
    }
}

/// Returns whether an engine says that there is no such container.
fn is_missing(error: &EngineError) -> bool {
    let text = match error {
        EngineError::Failed { last, .. } => last.to_lowercase(),
        _ => return false,
    };
    text.contains("no such container") || text.contains("no container with name")
}

impl Engine for Container {
    fn status<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a, Standing> {
        Box::pin(async {
            let format = "{{.State.Running}} {{.State.StartedAt}}";
            let arguments = ["container", "inspect", "--format", format, &machine.id];
            // That there is none is no line of the log.
            let asked = Log::default();
            let answer = match self.run(&arguments, &[], &asked).await {
                Ok(answer) => answer,
                Err(error) if is_missing(&error) => return Ok(Standing::Missing),
                Err(error) => {
                    log.push(&asked.text());
                    return Err(error);
                }
            };
            Ok(match answer.trim().split_once(' ') {
                Some(("true", since)) => Standing::Running {
                    since: since.to_owned(),
                },
                _ => Standing::Stopped,
            })
        })
    }

    fn create<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(async {
            let creation = self.creation(machine);
            let creation: Vec<_> = creation.iter().map(String::as_str).collect();
            let token = [(TOKEN, machine.connect.token.reveal())];
            let created = self.run(&creation, &token, log).await;
            let Err(error) = created else {
                return Ok(());
            };
            // The command of a host that was killed may have been faster.
            match self.status(machine, log).await? {
                Standing::Missing => Err(error),
                Standing::Stopped | Standing::Running { .. } => Ok(()),
            }
        })
    }

    fn start<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(async {
            let started = self.run(&["start", &machine.id], &[], log).await;
            started.map(drop)
        })
    }

    fn stop<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(async {
            let arguments = ["stop", "--time", STOPS_WITHIN, &machine.id];
            match self.run(&arguments, &[], log).await {
                Err(error) if !is_missing(&error) => Err(error),
                _ => Ok(()),
            }
        })
    }

    fn remove<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(async {
            let arguments = ["rm", "--force", "--volumes", &machine.id];
            match self.run(&arguments, &[], log).await {
                Err(error) if !is_missing(&error) => Err(error),
                _ => Ok(()),
            }
        })
    }

    fn tell<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(async {
            let arguments = ["logs", "--tail", TOLD, &machine.id];
            log.push(&self.run(&arguments, &[], log).await?);
            Ok(())
        })
    }

    fn sweep<'a>(&'a self, is_kept: IsKept<'a>, log: &'a Log) -> Working<'a, Vec<String>> {
        Box::pin(async {
            let own = format!("label={LABEL}={}", self.host);
            let arguments = ["ps", "--all", "--filter", &own, "--format", "{{.Names}}"];
            let names = self.run(&arguments, &[], log).await?;
            let mut removed = Vec::new();
            for name in names.lines().map(str::trim) {
                if !name.is_empty() && !is_kept(name) {
                    let removing = ["rm", "--force", "--volumes", name];
                    self.run(&removing, &[], log).await?;
                    removed.push(name.to_owned());
                }
            }
            Ok(removed)
        })
    }
}

#[cfg(test)]
mod tests;
