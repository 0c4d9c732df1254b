//! The command line. Replies go to standard output as JSON, everything else to standard error.

mod call;
mod logging;
mod remote;
mod serve;
mod stderr;
mod token;
mod tools;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};

use crate::host::{Host, StartError};
use crate::process::{SPAWNER, run_spawner};
use crate::state_dir::StateDir;

/// Runs the tools of chat servers inside WebAssembly.
#[derive(Debug, Parser)]
#[command(
    name = "toolhost",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
struct Common {
    /// The directory in which commands run [default: the current directory]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_WORKSPACE")]
    workspace: Option<PathBuf>,
    /// Where compiled code is kept [default: $XDG_STATE_HOME/toolhost or ~/.local/state/toolhost]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_STATE_DIR")]
    state_dir: Option<PathBuf>,
    /// What is logged: a level, or a filter such as `toolhost=debug`
    #[arg(
        long,
        global = true,
        value_name = "FILTER",
        env = "TOOLHOST_LOG",
        default_value = "warn,toolhost=info"
    )]
    log: String,
    /// How it is logged
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "TOOLHOST_LOG_FORMAT",
        default_value = "text"
    )]
    log_format: logging::LogFormat,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call a tool and print its reply
    ///
    /// Without --server, the tool runs in this process, and what it started is ended when the reply is there.
    /// Exit codes: 0 for a reply, 1 if the tool replied with an error or the call was cancelled, 2 for bad usage or a failed
    /// set-up.
    Call(call::Options),
    /// Print the definitions of the tools
    Tools(tools::Options),
    /// Serve the tools over HTTP
    Serve(serve::Options),
}

/// A failure of usage or set-up, which ends the process with this code; a tool's own failure is no such thing.
const SETUP_FAILED: u8 = 2;

/// Runs the command line of this process.
///
/// With the one argument `spawner`, it is that instead (see [`process::Spawner`](crate::process::Spawner)): nothing else is
/// done before, as that must have one thread.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == SPAWNER) && arguments.next().is_none() {
        run_spawner();
    }
    let arguments = Arguments::parse();
    if let Err(error) = stderr::start() {
        _ = writeln!(io::stderr(), "toolhost: cannot start threads: {error}");
        return ExitCode::from(SETUP_FAILED);
    }
    let code = run(arguments).unwrap_or_else(|error| {
        stderr::line(format_args!("toolhost: {error:#}"));
        ExitCode::from(SETUP_FAILED)
    });
    stderr::finish();
    code
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    logging::start(&arguments.common.log, arguments.common.log_format)?;
    // Commands run as the same user. They must not read this process's memory, where tokens and secrets are.
    nix::sys::prctl::set_dumpable(false).context("cannot protect the memory of this process")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let code = runtime.block_on(async {
        match arguments.command {
            Command::Call(options) => call::run(&arguments.common, options).await,
            Command::Tools(options) => tools::run(&arguments.common, &options).await,
            Command::Serve(options) => serve::run(&arguments.common, options).await,
        }
    });
    // Nothing may hold up the exit, such as a read of standard input that nobody ends.
    runtime.shutdown_background();
    code
}

impl Common {
    /// Returns the state directory, if there is any place for one.
    fn state_dir(&self) -> Option<PathBuf> {
        self.state_dir.clone().or_else(StateDir::default_path)
    }

    /// Starts a host in the workspace, with the code cache of the state directory.
    ///
    /// A directory that the user named must work. The default one is a convenience, which a read-only home does without.
    async fn start(&self) -> anyhow::Result<Host> {
        let workspace = match &self.workspace {
            Some(workspace) => workspace.clone(),
            None => std::env::current_dir()
                .context("the current directory cannot be used as the workspace")?,
        };
        let builder = || Host::builder(&workspace);
        let Some(path) = self.state_dir() else {
            tracing::warn!(
                "no state directory, as neither XDG_STATE_HOME nor HOME is set: code is compiled each time"
            );
            return Ok(builder().start().await?);
        };
        match builder().code_cache(path).start().await {
            Err(error @ (StartError::StateDir(_) | StartError::Cache(_)))
                if self.state_dir.is_none() =>
            {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "no code cache: code is compiled each time");
                Ok(builder().start().await?)
            }
            started => Ok(started?),
        }
    }
}

/// Writes one line to standard output. That nobody reads it is no failure.
fn print(line: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
