//! Running commands: the options that all subcommands share which run commands, and the spawner.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::{THIS_PROGRAM, retention, sandbox};
use toolhost_local::process::{
    Config, Environment, Extras, ExtrasError, Limits, NO_SPAWNER, Spawner, shortage,
};
use toolhost_sandbox::Policy;
use toolhost_workspace::process::Shell;

/// How commands are run.
// Every subcommand that takes these has a group `Options` of its own.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Commands")]
#[group(skip)]
pub struct Options {
    /// The most processes of one chat that run at once
    #[arg(
        long,
        value_name = "N",
        env = "TOOLHOST_MAX_LIVE",
        default_value_t = 32,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    max_live: u16,
    /// The shell that runs commands: `bash`, `sh` (a POSIX shell), or `auto` (bash if there is one, and else sh)
    #[arg(
        long,
        value_name = "SHELL",
        env = "TOOLHOST_SHELL",
        default_value = "auto"
    )]
    shell: ShellChoice,
    /// The number that is added to the niceness of commands
    #[arg(
        long,
        value_name = "N",
        env = "TOOLHOST_NICE",
        default_value_t = 5,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(0..=39)
    )]
    nice: i32,
    /// The least oom_score_adj of commands: processes with a high one are killed first when memory runs out
    #[arg(
        long,
        value_name = "N",
        env = "TOOLHOST_OOM_SCORE_ADJ",
        default_value_t = 500,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(-1000..=1000)
    )]
    oom_score_adj: i32,
    /// Do not put commands into cgroups of their own
    #[arg(long, env = "TOOLHOST_NO_CGROUP", value_parser = FalseyValueParser::new())]
    no_cgroup: bool,
    /// A variable of this program's environment that commands get as well; one with `*` at its end stands for all that
    /// begin so; can be repeated
    #[arg(
        long,
        value_name = "NAME",
        env = "TOOLHOST_ENV",
        value_delimiter = ',',
        value_parser = variable
    )]
    env: Vec<String>,
    #[command(flatten)]
    retention: retention::Options,
    #[command(flatten)]
    sandbox: sandbox::Options,
}

/// A shell, or `auto`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ShellChoice {
    Auto,
    Bash,
    Sh,
}

fn variable(pattern: &str) -> Result<String, ExtrasError> {
    let pattern = [pattern.to_owned()];
    Extras::new(elements(&pattern))?;
    Ok(pattern.concat())
}

/// Splits the value of a variable at commas. A variable that is set to an empty text has no elements.
pub(crate) fn elements(list: &[String]) -> impl Iterator<Item = &String> {
    list.iter().filter(|element| !element.is_empty())
}

/// The parts of a host that must be started before any thread.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The process that forks supervisors; `None` if it could not be started. It may not run yet.
    pub spawner: Option<Spawner>,
    /// The reason why it could not be started, if the machine was short of something: then commands must not run without a sandbox.
    short: Option<String>,
}

/// How often the spawner is started if the machine is short of something, and the first pause between two tries, which doubles.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

impl Prepared {
    /// Starts the spawner. Commands run without one as well, so a failure is only a warning, unless the machine is short of something.
    pub fn with_cgroup(cgroup: bool) -> Self {
        let program = Path::new(THIS_PROGRAM);
        let launch = || match cgroup {
            true => Spawner::launch(program),
            false => Spawner::launch_without_cgroup(program),
        };
        let mut pause = PAUSE;
        for attempt in 1.. {
            let error = match launch() {
                Ok(spawner) => {
                    return Self {
                        spawner: Some(spawner),
                        short: None,
                    };
                }
                Err(error) => error,
            };
            let short = shortage(&error);
            if short.is_none() {
                tracing::warn!(%error, "{NO_SPAWNER}");
                break;
            }
            if attempt == TRIES {
                let short = short.map(|short| format!("{short}: {error}"));
                return Self {
                    spawner: None,
                    short,
                };
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        Self::default()
    }
}

impl Options {
    /// Does the work that must come before any thread is started: starts the spawner.
    pub fn prepare(&self) -> Prepared {
        Prepared::with_cgroup(!self.no_cgroup)
    }

    /// Protects paths of a workspace that belongs to a person; see `--sandbox-protect`.
    pub fn protect_by_default(&mut self) {
        self.sandbox.protect_by_default();
    }

    /// Returns what commands may do.
    ///
    /// # Errors
    ///
    /// If there is no current directory that a relative path could begin at.
    pub fn sandbox(&self) -> std::io::Result<Policy> {
        self.sandbox.policy()
    }

    /// Returns the configuration of processes. Neither commands nor tools may reach the paths `private`, the files of this host.
    pub fn config(
        &self,
        workspace: &Path,
        prepared: Prepared,
        private: Vec<PathBuf>,
    ) -> anyhow::Result<Config> {
        if let Some(short) = prepared.short {
            anyhow::bail!("cannot start the spawner of commands: {short}");
        }
        let extras = Extras::new(elements(&self.env).chain(self.sandbox.variables()))?;
        let mut limits = Limits {
            live_per_chat: self.max_live.into(),
            nice: self.nice,
            oom_score_adj: self.oom_score_adj,
            ..Limits::default()
        };
        self.retention.limit(&mut limits);
        let config = Config::new(workspace);
        Ok(Config {
            environment: Environment::from_host(std::env::vars_os(), &extras),
            limits,
            save_limits: self.retention.saved(),
            spawner: prepared.spawner,
            shell: match self.shell {
                ShellChoice::Auto => None,
                ShellChoice::Bash => Some(Shell::Bash),
                ShellChoice::Sh => Some(Shell::Sh),
            },
            sandbox: self.sandbox()?,
            closed: config.closed.and(private),
            ..config
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use toolhost_local::process::SaveLimits;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let program = Program::try_parse_from(["toolhost"]).unwrap();
        let config = program
            .options
            .config(Path::new("/"), Prepared::default(), Vec::new());
        let config = config.unwrap();
        assert_eq!(
            format!("{:?}", config.limits),
            format!("{:?}", Limits::default())
        );
        assert_eq!(config.save_limits, SaveLimits::default());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let parse = |arguments: &[&str]| {
            Program::try_parse_from(["toolhost"].iter().chain(arguments)).map(|_| ())
        };
        parse(&["--oom-score-adj", "-5", "--nice", "0", "--env", "A,B_*"]).unwrap();
        parse(&["--no-cgroup", "--env", ""]).unwrap();
        parse(&["--env", ",A,,B*,"]).unwrap();
        for bad in [
            ["--max-live", "0"],
            ["--nice", "-1"],
            ["--oom-score-adj", "1001"],
            ["--env", "TOOLHOST_TOKEN"],
            ["--env", "A=B"],
            ["--env", "A,,B=C"],
        ] {
            assert!(parse(&bad).is_err(), "{bad:?}");
        }
    }
}
