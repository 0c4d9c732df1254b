//! The program as a server over HTTP.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::connection::{Connection, TOKEN};

/// A server, which ends when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
}

/// A command line of the program with a workspace of its own, and with a plugin if there is one.
pub(crate) fn toolhost(directory: &Path, subcommand: &str, plugin: Option<&[u8]>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
    command.arg("--workspace").arg(directory);
    command.arg("--state-dir").arg(directory.join(".state"));
    command.arg("--workspace-anyway");
    command.args(["--log", "error", subcommand]);
    if let Some(plugin) = plugin {
        let component = directory.join("plugin.wasm");
        std::fs::write(&component, plugin).expect("there is room");
        command.arg("--plugin").arg(component);
    }
    command
}

/// The same command on one processor.
pub(crate) fn on_processor(number: &str, command: &Command) -> Command {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", number]).arg(command.get_program());
    pinned.args(command.get_args());
    let variables = command.get_envs();
    pinned.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    pinned
}

impl Server {
    /// Starts `toolhost serve`, and waits until it has a tool.
    pub(crate) fn start(mut command: Command, tool: &str) -> Self {
        command.args(["--listen", "127.0.0.1:0"]);
        let server = Self::of(command);
        // A plugin may still be compiled.
        while !Connection::open(&server.address).has_tool(tool) {
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    /// Starts a server, and waits until it says where it listens.
    pub(crate) fn of(mut command: Command) -> Self {
        command.env("TOOLHOST_TOKEN", TOKEN).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut lines = lines.map_while(Result::ok);
        let address = lines
            .find_map(|line| line.strip_prefix("listening on http://").map(str::to_owned))
            .expect("it says where it listens");
        std::thread::spawn(move || lines.count());
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
