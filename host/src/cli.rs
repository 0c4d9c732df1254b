//! The command line. Replies go to standard output as JSON, everything else to standard error.

mod arguments;
mod attach;
mod call;
mod calls;
mod cancel;
mod chats;
mod cluster;
mod completions;
mod config;
mod config_tokens;
mod configuration;
mod console;
mod doctor;
mod given;
mod help;
mod host;
mod init;
mod kill;
mod literal;
mod logs;
mod lookup;
mod man;
mod mcp;
mod output;
mod plugin;
mod plugins;
mod ps;
mod question;
mod remote;
mod sandbox;
mod serve;
mod show;
mod state;
mod table;
mod token;
mod tools;
mod top;
mod upgrade;
mod workspaces;

use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use serde_json::Value;
use toolhost_core::USUAL_COMPONENTS;
use toolhost_plugin::{COMPILER, SHIP, run_compiler, write_shipped};
use toolhost_service::processes::Prepared;
use toolhost_service::{agent, block_on, finish, logging, name_process, protect};

use crate::config::Config;

/// Run the tools of chat servers: their logic in WebAssembly, commands in a sandbox of the kernel
///
/// A command may write into the workspace, and read that, the system and toolchains. `toolhost sandbox explain` shows the rest.
#[derive(Debug, Parser)]
#[command(
    name = "toolhost",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost serve --workspace ~/project
  toolhost call execute command='make test' --server local
  toolhost ps

`toolhost COMMAND -h` has the options of a command, and examples.";

/// The options that every command has.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    #[command(flatten)]
    base: toolhost_service::Common,
    /// The configuration file: plugins, and defaults for all flags [default: $XDG_CONFIG_HOME/toolhost/toolhost.toml or
    /// ~/.config/toolhost/toolhost.toml, if it is there]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "TOOLHOST_CONFIG",
        help_heading = "Common options"
    )]
    config: Option<PathBuf>,
    /// Print JSON instead of text for people: one object, or an object on a line of its own for each entry
    #[arg(long, global = true, help_heading = "Common options")]
    json: bool,
    /// The content of that file.
    #[arg(skip)]
    configuration: Option<Config>,
}

impl Common {
    /// Checks that the workspace is a directory for work, without the files of tokens and keys that the configuration names.
    fn check_workspace(&self) -> anyhow::Result<()> {
        self.refuse(self.unsuitable()?)
    }

    /// Returns the reason why the workspace is no directory for work; `None` if it is one.
    fn unsuitable(&self) -> anyhow::Result<Option<String>> {
        let keys = self.configuration.iter().flat_map(Config::key_files);
        match self.base.unsuitable(self.configuration_file())? {
            None => self.relied_upon(keys),
            reason => Ok(reason),
        }
    }

    /// Returns the configuration file, if there is one.
    fn configuration_file(&self) -> Option<&Path> {
        self.configuration.as_ref().and_then(Config::path)
    }

    /// Returns the paths of the state and of the configuration that neither commands nor tools may reach.
    fn private_paths(&self) -> Vec<PathBuf> {
        let files = self.configuration.iter().flat_map(Config::private_files);
        self.private_directories().chain(files).collect()
    }

    /// Prints a text for people or, with `--json`, the object that says the same.
    fn report(&self, text: &str, object: &Value) -> anyhow::Result<()> {
        match self.json {
            true => print(&object.to_string()),
            false => print(text),
        }
    }
}

impl Deref for Common {
    type Target = toolhost_service::Common;

    fn deref(&self) -> &Self::Target {
        &self.base
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call a tool and print its reply
    ///
    /// On a terminal, the output of commands is shown while they run, and then how the call ended. In a pipe, the reply is one line
    /// of JSON. Without --server, the tool runs in this process, and the processes that it started end with the call. Ctrl-C cancels
    /// the call. With --server, a second one leaves it to the server. Exit codes: 0 for a reply, 1 if the tool replied with an error
    /// or with "success": false, or if the call was cancelled, 2 for bad usage or a failed set-up.
    Call(call::Options),
    /// List the processes that run, in all chats
    ///
    /// Asks the server that uses the state directory, or that of --server. Exit codes: 0 for a list, also an empty one, 2 for bad usage
    /// or if no server answers.
    Ps(ps::Options),
    /// Print the output of a process
    ///
    /// The bytes reach standard output as the process wrote them, also those that a terminal obeys. Asks the server that uses the state
    /// directory, or that of --server. Exit codes: 0 for output, 2 if there is no such process, for bad usage, or if no server answers.
    Logs(logs::Options),
    /// Follow the output of a process that runs; Ctrl-C leaves it
    ///
    /// Shows what comes from now on; `toolhost logs -f` begins at the start. A second Ctrl-C asks whether to end the process. Asks the
    /// server that uses the state directory, or that of --server. Exit codes: 0 if the process ended with 0 or was left, 1 if it ended
    /// otherwise, 2 if no such process runs, for bad usage, or if no server answers.
    Attach(attach::Options),
    /// Send a signal to a process, and to everything that it started
    ///
    /// Prints the id of each process that got it. Asks the server that uses the state directory, or that of --server. Exit codes: 0 if
    /// all got it, 1 if one had ended, 2 if there is no such process, for bad usage, or if no server answers.
    Kill(kill::Options),
    /// Cancel a call that runs, and say what ended with it
    ///
    /// Waits for the end of the call. Asks the server that uses the state directory, or that of --server. Exit codes: 0 if the call was
    /// cancelled, 1 if it ended otherwise first, 2 if no such call runs, for bad usage, or if no server answers.
    Cancel(cancel::Options),
    /// Watch what runs, with its CPU and memory, and end it
    ///
    /// In a pipe, prints a table once; with --json, a line whenever something changes. Asks the server that uses the state directory, or
    /// that of --server. Exit codes: 0, or 2 for bad usage or if no server answers.
    Top(top::Options),
    /// List the chats, those in which a call runs first
    ///
    /// Each has the numbers of its calls and processes that run. Asks the server that uses the state directory, or that of --server. Exit codes: 0 for a list, also an empty one, 2 for bad usage
    /// or if no server answers.
    Chats(chats::Options),
    /// List the calls that ran, newest first, and how they ended
    ///
    /// Each has the time at which it began, and its chat. Asks the server that uses the state directory, or that of --server. If no host uses the directory, reads it. Exit codes: 0 for a
    /// list, also an empty one, 2 for bad usage or calls that cannot be read.
    Calls(calls::Options),
    /// Show a call: its arguments, if they are kept, and its reply
    ///
    /// Asks the server that uses the state directory, or that of --server. If no host uses the directory, reads it. Exit codes: 0 for a
    /// call, 2 if there is no such call or several chats have one, for bad usage, or if it cannot be read.
    Show(show::Options),
    /// List, show, make and remove workspaces
    ///
    /// Asks the server that uses the state directory, or that of --server. If no host uses the directory, `list` and `show` read it. Exit
    /// codes: 0 for success, 2 if there is no such workspace, for bad usage, or if the server refuses.
    Workspaces(workspaces::Options),
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
    #[command(after_help = AGENT_EXAMPLES)]
    Agent(AgentOptions),
    /// Print a link that logs in to the console of a server
    ///
    /// The link logs in one browser, once, within ten minutes, with the rights of a token for everything; with --server, with those of
    /// the token, which needs the scope `admin`. Asks the server that uses the state directory, or that of --server. Exit codes: 0 for a
    /// link, 2 if the server has no console or refuses, for bad usage, or if no server answers.
    Console(console::Options),
    /// Check what works on this machine, and say how to fix the rest
    ///
    /// Exit codes: 0 if commands can be run, 2 if something does not work.
    Doctor(doctor::Options),
    /// Show the sandbox of commands, or run a command in it
    Sandbox(sandbox::Options),
    /// Make, build, test and check plugins
    Plugin(plugin::Options),
    /// Check a configuration before a host uses it
    Config(config::Options),
    /// Check, copy and repair the store of calls in a state directory
    State(state::Options),
    /// Write a configuration and a token for a server
    ///
    /// Asks where commands run, where the server listens, which tools the token may call, and whether the server is a service; without a
    /// terminal, flags are the answers. Shows the files before it writes them, and overwrites none. Exit codes: 0 if they are written, 1 if
    /// the answer is no, 2 for bad usage or files that cannot be written.
    Init(init::Options),
    /// Say what this version would change in a state directory
    ///
    /// Changes nothing, also while a server of an earlier version runs. Exit codes: 0 if this version can use the directory, 1 if a later one
    /// wrote it, 2 for bad usage or if it cannot be read.
    Upgrade(upgrade::Options),
    /// Make a token for the configuration of a server
    ///
    /// The token goes to standard output. The section of toolhost.toml that makes it valid goes to standard error; it contains
    /// only the hash. With --json, standard output has both.
    Token(token::Options),
    /// Print the completions of the command line for a shell
    Completions(completions::Options),
    /// Write manual pages, one for each command
    Man(man::Options),
}

/// Command lines to copy.
const AGENT_EXAMPLES: &str = "\
Examples:
  toolhost agent --workspace ~/project
  toolhost agent --listen 127.0.0.1:0 --files read";

/// The options of `toolhost agent`.
#[derive(Debug, Args)]
struct AgentOptions {
    #[command(flatten)]
    agent: agent::Options,
}

/// Runs the command line of this process.
///
/// With the single argument `spawner`, this process runs the spawner instead: see
/// [`process::Spawner`](toolhost_local::process::Spawner). With `compiler` and one more argument, it compiles a component: see
/// [`plugin::Compiler`](toolhost_plugin::Compiler). With `compiler embedded`, it writes what a release of it ends with.
pub fn main() -> ExitCode {
    toolhost_service::run_if_spawner();
    let mut arguments = std::env::args_os().skip(1);
    if let (Some(first), Some(allocation), None) =
        (arguments.next(), arguments.next(), arguments.next())
        && first == COMPILER
    {
        name_process(c"toolhost-compil");
        if allocation == SHIP {
            return finish(Ok(()), |()| ship());
        }
        run_compiler(&allocation);
    }
    // Parse the arguments before there is anything to clean up: this ends the program if they are not valid.
    let given: Vec<_> = std::env::args_os().collect();
    logging::expect(&given);
    finish(configuration::arguments(given), run)
}

/// Writes the code of the plugins that most hosts have to standard output.
fn ship() -> anyhow::Result<ExitCode> {
    write_shipped(&USUAL_COMPONENTS, io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let filter = match &arguments.command {
        // This command prints its findings instead of logging them.
        Command::Config(_) => "off",
        _ => &arguments.common.log,
    };
    toolhost_plugin::open_page_map();
    let spans = protect(filter, arguments.common.log_format)?;
    // A spawner has to be forked before there are threads.
    let prepared = match &arguments.command {
        Command::Call(options) if options.is_remote() => Prepared::default(),
        Command::Call(options) => options.host.prepare(),
        Command::Calls(_)
        | Command::Show(_)
        | Command::State(_)
        | Command::Workspaces(_)
        | Command::Tools(_)
        | Command::Token(_)
        | Command::Config(_)
        | Command::Init(_)
        | Command::Upgrade(_)
        | Command::Ps(_)
        | Command::Logs(_)
        | Command::Attach(_)
        | Command::Kill(_)
        | Command::Cancel(_)
        | Command::Top(_)
        | Command::Chats(_)
        | Command::Console(_)
        | Command::Completions(_)
        | Command::Man(_) => Prepared::default(),
        Command::Sandbox(options) => options.prepare(),
        Command::Serve(options) => options.host.prepare(),
        Command::Mcp(options) => options.prepare(),
        Command::Agent(options) => options.agent.prepare(),
        Command::Doctor(options) => options.processes.prepare(),
        Command::Plugin(options) => options.prepare(),
    };
    // A program that serves one caller passes its messages on without waking another thread. Guests that compute have threads of their own.
    let workers = match &arguments.command {
        Command::Serve(_) | Command::Agent(_) => None,
        _ => Some(1),
    };
    block_on(&spans, workers, async {
        let common = &arguments.common;
        match arguments.command {
            Command::Call(options) => call::run(common, options, prepared).await,
            Command::Ps(options) => ps::run(common, options).await,
            Command::Logs(options) => logs::run(common, options).await,
            Command::Attach(options) => attach::run(common, options).await,
            Command::Kill(options) => kill::run(common, options).await,
            Command::Cancel(options) => cancel::run(common, options).await,
            Command::Top(options) => top::run(common, options).await,
            Command::Chats(options) => chats::run(common, options).await,
            Command::Console(options) => console::run(common, options).await,
            Command::Completions(options) => completions::run(&options),
            Command::Man(options) => man::run(&options),
            Command::Calls(options) => calls::run(common, options).await,
            Command::Show(options) => show::run(common, options).await,
            Command::Workspaces(options) => workspaces::run(common, options).await,
            Command::Tools(options) => tools::run(common, &options).await,
            Command::Serve(options) => serve::run(common, options, prepared).await,
            Command::Mcp(options) => mcp::run(common, options, prepared).await,
            Command::Agent(options) => {
                common.check_workspace()?;
                let (private, tokens) = (common.private_paths(), config_tokens::of(common));
                agent::run(common, private, tokens, options.agent, prepared).await
            }
            Command::Doctor(options) => doctor::run(common, options, prepared).await,
            Command::Sandbox(options) => sandbox::run(common, options, prepared).await,
            Command::Plugin(options) => plugin::run(common, options, prepared).await,
            Command::Config(options) => config::run(common, options).await,
            Command::State(options) => state::run(common, options).await,
            Command::Init(options) => init::run(common, options).await,
            Command::Upgrade(options) => upgrade::run(common, &options),
            Command::Token(options) => token::run(common, &options),
        }
    })
}

/// Returns 0 for a success, and 1 for a failed call or check. Wrong usage and a failed set-up have the exit code 2.
fn exit_code(success: bool) -> ExitCode {
    ExitCode::from(u8::from(!success))
}

/// Writes one line to standard output. A closed pipe is no failure.
fn print(line: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
