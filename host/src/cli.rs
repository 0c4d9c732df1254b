//! The command line. Replies go to standard output as JSON, everything else to standard error.

mod agent;
mod call;
mod config;
mod configuration;
mod doctor;
mod errors;
mod files;
mod list;
mod listening;
mod logging;
mod mcp;
mod notify;
mod oversight;
mod plugin;
mod plugins;
mod processes;
mod remote;
mod retention;
mod serve;
mod signals;
mod stderr;
mod time;
mod token;
mod tools;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};

use crate::config::Config;
use processes::Prepared;
use toolhost_core::{Builder, Host, PluginSet, StartError};
use toolhost_local::OpenError;
use toolhost_local::files::Temporaries;
use toolhost_local::process::{Records, SPAWNER, run_spawner};
use toolhost_plugin::{COMPILER, Compiler, run_compiler};
use toolhost_state::own_limits;
use toolhost_state::state_dir::StateDir;

/// Run the tools of chat servers: their logic in WebAssembly, commands as processes of this user
///
/// Shell commands are not sandboxed. They run as the user of the host, with everything that this user may do.
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
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// The directory in which commands run [default: the current directory]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_WORKSPACE")]
    workspace: Option<PathBuf>,
    /// The configuration file: plugins, and defaults for all flags [default: $XDG_CONFIG_HOME/toolhost/toolhost.toml or
    /// ~/.config/toolhost/toolhost.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "TOOLHOST_CONFIG")]
    config: Option<PathBuf>,
    /// What it says.
    #[arg(skip)]
    configuration: Option<Config>,
    /// Where compiled code and records of processes are kept [default: $XDG_STATE_HOME/toolhost or ~/.local/state/toolhost]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_STATE_DIR")]
    state_dir: Option<PathBuf>,
    /// What is logged: a level, or a filter such as `toolhost=debug`
    #[arg(
        long,
        value_parser = logging::filter,
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
    /// With --server, Ctrl-C cancels the call, and a second one leaves it to the server.
    /// Exit codes: 0 for a reply, 1 if the tool replied with an error or with "success": false, or if the call was cancelled, 2
    /// for bad usage or a failed set-up.
    Call(call::Options),
    /// Print the definitions of the tools
    Tools(tools::Options),
    /// Serve the tools over HTTP
    Serve(serve::Options),
    /// Serve the tools to an MCP client, over standard input and output
    ///
    /// When the client closes its end, everything that runs is ended.
    Mcp(mcp::Options),
    /// Serve the processes of a workspace over HTTP, without any tool
    ///
    /// For a chat server that has its tools elsewhere, and speaks the agent API of coder/coder.
    Agent(agent::Options),
    /// Look at what works on this machine, and say what to do about the rest
    ///
    /// Exit codes: 0 if commands can be run, 2 if something does not work.
    Doctor(doctor::Options),
    /// Look at plugins before a host runs them
    Plugin(plugin::Options),
    /// Look at a configuration before a host uses it
    Config(config::Options),
    /// Make a token for the configuration of a server
    ///
    /// The token is printed to standard output, and to standard error the section of toolhost.toml that makes it known, which has
    /// only its hash.
    Token(token::Options),
}

/// The program that this is, also if its file was replaced meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A failure of usage or set-up, which ends the process with this code; a tool's own failure is no such thing.
const SETUP_FAILED: u8 = 2;

/// Runs the command line of this process.
///
/// With the one argument `spawner`, it is that instead (see [`process::Spawner`](toolhost_local::process::Spawner)): nothing else is
/// done before, as that must have one thread. With `compiler` and one more, it compiles a component (see
/// [`plugin::Compiler`](toolhost_plugin::Compiler)).
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(first), None, None) if first == SPAWNER => {
            named(c"toolhost-spawn");
            run_spawner()
        }
        (Some(first), Some(allocation), None) if first == COMPILER => {
            named(c"toolhost-compil");
            run_compiler(&allocation)
        }
        _ => {}
    }
    // Before there is anything to clean up: this ends the program if the arguments are not what it takes.
    let given: Vec<_> = std::env::args_os().collect();
    logging::expect(&given);
    let arguments = configuration::arguments(given);
    if let Err(error) = stderr::start() {
        let line = logging::failure(format_args!("cannot start threads: {error}"));
        _ = io::stderr().write_all(line.as_bytes());
        return ExitCode::from(SETUP_FAILED);
    }
    let code = arguments.and_then(run).unwrap_or_else(|error| {
        stderr::failure(errors::told(&error));
        ExitCode::from(SETUP_FAILED)
    });
    stderr::finish();
    code
}

/// Gives this process its name in lists of processes, which is that of a link otherwise.
fn named(name: &std::ffi::CStr) {
    _ = nix::sys::prctl::set_name(name);
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    signals::look();
    let filter = match &arguments.command {
        // This command prints its findings instead of logging them.
        Command::Config(_) => "off",
        _ => &arguments.common.log,
    };
    let spans = logging::start(filter, arguments.common.log_format)?;
    // Commands run as the same user. They must not read this process's memory, where tokens and secrets are.
    nix::sys::prctl::set_dumpable(false).context("cannot protect the memory of this process")?;
    // A spawner has to be forked before there are threads.
    let prepared = match &arguments.command {
        Command::Call(options) if options.is_remote() => Prepared::default(),
        Command::Call(options) => options.processes.prepare(),
        Command::Tools(_) | Command::Token(_) | Command::Config(_) => Prepared::default(),
        Command::Serve(options) => options.processes.prepare(),
        Command::Mcp(options) => options.processes.prepare(),
        Command::Agent(options) => options.processes.prepare(),
        Command::Doctor(options) => options.processes.prepare(),
        Command::Plugin(options) => options.prepare(),
    };
    more_descriptors();
    spans.connect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let code = runtime.block_on(async {
        if let Err(error) = own_limits::guard() {
            tracing::warn!(%error, "this process ends if a command lowers its limits of file sizes or CPU time");
        }
        match arguments.command {
            Command::Call(options) => call::run(&arguments.common, options, prepared).await,
            Command::Tools(options) => tools::run(&arguments.common, &options).await,
            Command::Serve(options) => serve::run(&arguments.common, options, prepared).await,
            Command::Mcp(options) => mcp::run(&arguments.common, options, prepared).await,
            Command::Agent(options) => agent::run(&arguments.common, options, prepared).await,
            Command::Doctor(options) => doctor::run(&arguments.common, options, prepared).await,
            Command::Plugin(options) => plugin::run(&arguments.common, options, prepared).await,
            Command::Config(options) => config::run(&arguments.common, options).await,
            Command::Token(options) => token::run(&options),
        }
    });
    // Nothing may hold up the exit, such as a read of standard input that nobody ends.
    runtime.shutdown_background();
    code
}

/// Takes all descriptors that this process may have: a live process takes about four. Commands keep the limit that this
/// process was started with, as the spawner was started before; some programs break with a high one.
fn more_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        tracing::debug!(%error, "the limit of descriptors stays as it is");
    }
}

impl Common {
    /// Returns the state directory, if there is any place for one.
    fn state_dir(&self) -> Option<PathBuf> {
        self.state_dir.clone().or_else(StateDir::default_path)
    }

    /// Returns the directory in which commands run.
    fn workspace(&self) -> anyhow::Result<PathBuf> {
        match &self.workspace {
            Some(workspace) => std::path::absolute(workspace).with_context(|| {
                format!("{} cannot be used as the workspace", workspace.display())
            }),
            None => std::env::current_dir()
                .context("the current directory cannot be used as the workspace"),
        }
    }

    /// Returns where the records of processes are kept: in the state directory, where a later start finds them.
    ///
    /// A directory that the user named must work. Without the default one, while another host has it, or where it has no
    /// space, records end with this program.
    fn records(&self) -> anyhow::Result<Records> {
        let temporary = |error: String| {
            tracing::warn!(
                error,
                "the next start will know neither the processes nor the calls of this one: a call that is repeated then runs again"
            );
            Records::Temporary(std::env::temp_dir())
        };
        let Some(path) = self.state_dir() else {
            return Ok(temporary("neither XDG_STATE_HOME nor HOME is set".into()));
        };
        // The lock is given back at once: who opens the records takes it again.
        let opened = StateDir::open(&path).and_then(|state| state.lock().map(|_| state));
        match opened {
            Ok(state) if self.state_dir.is_none() => {
                Ok(Records::KeptIfSpace(state, std::env::temp_dir()))
            }
            Ok(state) => Ok(Records::Kept(state)),
            Err(error) if self.state_dir.is_none() => Ok(temporary(errors::told(&error.into()))),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns where the names of temporary files are kept. A directory that the user named must work.
    fn temporaries(&self) -> anyhow::Result<Temporaries> {
        let Some(path) = self.state_dir() else {
            return Ok(Temporaries::Forgotten);
        };
        match StateDir::open(&path) {
            Ok(state) if self.state_dir.is_some() => Ok(Temporaries::Kept(state)),
            Ok(state) => Ok(Temporaries::KeptIfPossible(state)),
            Err(error) if self.state_dir.is_some() => Err(error.into()),
            // That there is none was said when the records were looked for.
            Err(_) => Ok(Temporaries::Forgotten),
        }
    }

    /// Starts a host in the workspace, with these plugins and the code cache of the state directory.
    ///
    /// A directory that the user named must work. The default one is a convenience, which a read-only home does without:
    /// what else is configured must then be possible a second time.
    async fn start(
        &self,
        plugins: PluginSet,
        configure: impl Fn(Builder) -> anyhow::Result<Builder>,
    ) -> anyhow::Result<Host> {
        let workspace = self.workspace()?;
        let builder = || {
            let builder = Host::builder(&workspace).compiler(Compiler::new(THIS_PROGRAM));
            configure(builder.configured(plugins.clone()))
        };
        let Some(path) = self.state_dir() else {
            tracing::warn!(
                "no state directory, as neither XDG_STATE_HOME nor HOME is set: code is compiled each time"
            );
            return Ok(builder()?.start().await?);
        };
        match builder()?.state_dir(path).start().await {
            Err(error) if self.state_dir.is_none() && is_about_state(&error) => {
                let error = errors::told(&error.into());
                tracing::warn!(error, "no code cache: code is compiled each time");
                Ok(builder()?.start().await?)
            }
            Err(StartError::Workspace(
                error @ (OpenError::Unusable { .. } | OpenError::NotADirectory(_)),
            )) => {
                let error = errors::told(&error.into());
                anyhow::bail!("{error}; name a directory with --workspace")
            }
            started => Ok(started?),
        }
    }
}

/// Returns whether a host can be started without its state directory.
fn is_about_state(error: &StartError) -> bool {
    use toolhost_local::OpenError::Files;
    use toolhost_local::files::OpenError::Journal;
    matches!(
        error,
        StartError::StateDir(_) | StartError::Cache(_) | StartError::Workspace(Files(Journal(_)))
    )
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
