//! `toolhost-agent`: the processes and files of a workspace over HTTP, for a container image.
//!
//! It is `toolhost agent` without the configuration file, in a program that has no WebAssembly in it.

use std::process::ExitCode;

use clap::Parser;
use toolhost_service::listening::NoTokens;
use toolhost_service::{Common, agent, block_on, finish, logging, protect, run_if_spawner};

/// The allocator of the program, as that of `toolhost`. That of musl takes a third more time for a request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost-agent --workspace /work --listen 0.0.0.0:7412
  toolhost-agent --listen 127.0.0.1:0 --files read";

/// Serve the processes and files of a workspace over HTTP, without any tool
///
/// For a chat server that has its tools elsewhere, and speaks the agent API of coder/coder. Commands run as the user of this program,
/// in a sandbox of the kernel: see --sandbox.
#[derive(Debug, Parser)]
#[command(name = "toolhost-agent", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    agent: agent::Options,
    #[command(flatten)]
    common: Common,
}

fn main() -> ExitCode {
    run_if_spawner();
    let given: Vec<_> = std::env::args_os().collect();
    logging::expect(&given);
    finish(Ok(logging::accepted(Arguments::try_parse_from(given))), run)
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { agent, common } = arguments;
    let spans = protect(&common.log, common.log_format)?;
    common.check_workspace(None)?;
    let prepared = agent.prepare();
    block_on(
        &spans,
        None,
        agent::run(&common, Vec::new(), Box::new(NoTokens), agent, prepared),
    )
}
