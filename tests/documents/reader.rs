//! A reader who types the commands of a page into one shell, in a new home directory.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::blocks::Block;
use crate::cli::authoring::toolchain;
use crate::harness::{program, shared_code};

/// The ports of the addresses that the pages use. A free one stands for each.
const PORTS: std::ops::RangeInclusive<u16> = 7411..=7417;

/// The home directory that the pages name in absolute paths.
const HOME: &str = "/home/me";

/// A reader.
pub(super) struct Reader {
    home: TempDir,
    address: String,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    printed: String,
}

impl Drop for Reader {
    /// The shell ends the programs that it has started.
    fn drop(&mut self) {
        _ = writeln!(self.input, "exit");
        _ = self.shell.wait();
    }
}

impl Reader {
    /// Opens a shell. Beside the toolchains of the machine, it finds only the program itself.
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::create_dir(path(".bin")).unwrap();
        symlink(program(), path(".bin/toolhost")).unwrap();
        // Another program could take this port before the server does, but none looks for it.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        let programs = std::env::var("PATH").unwrap();
        let mut shell = Command::new("bash")
            .env_clear()
            .envs(toolchain())
            .env("HOME", home.path())
            // The code of components, which an earlier start would have left.
            .env("XDG_CACHE_HOME", shared_code())
            .env("PATH", format!("{}:{programs}", path(".bin").display()))
            .env("TOOLHOST_LISTEN", &address)
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        let ending = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT";
        writeln!(input, "exec 2>&1\nset -euo pipefail\n{ending}").unwrap();
        Self {
            home,
            address,
            shell,
            input,
            output,
            printed: String::new(),
        }
    }

    /// Types commands, and returns what was printed until the last of them has ended. Each must succeed.
    pub(super) fn types(&mut self, commands: &str) -> String {
        let commands = self.placed(commands);
        // No program takes the commands that follow for its input.
        writeln!(
            self.input,
            "{{\n{commands}\n}} </dev/null\necho '@@ done @@'"
        )
        .unwrap();
        let mut printed = String::new();
        loop {
            let start = printed.len();
            let read = self.output.read_line(&mut printed).unwrap();
            assert!(read > 0, "a command failed:\n{commands}\n{printed}");
            // A program that still runs can have written before it on its line.
            if printed[start..].trim_end().ends_with("@@ done @@") {
                let cut = printed.trim_end().len() - "@@ done @@".len();
                printed.truncate(cut);
                return printed;
            }
        }
    }

    /// Does what one block of a page says: writes the file, types the commands, or compares what the last commands have printed.
    pub(super) fn follows(&mut self, block: &Block) {
        match (block.language.as_str(), &block.file) {
            ("sh", None) => self.printed = self.types(&block.text),
            ("text", None) => block.assert_printed(&self.printed),
            ("json", None) => self.offers(&block.text),
            ("diff", Some(file)) => {
                let path = self.folder().join(file);
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(path, block.applied(&text)).unwrap();
            }
            (_, Some(file)) => self.writes(file, &block.text),
            _ => panic!("a test cannot follow this block: {block:?}"),
        }
    }

    /// Writes a file in the folder where the shell is.
    pub(super) fn writes(&mut self, file: &str, text: &str) {
        let path = self.folder().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, self.placed(text)).unwrap();
        // The file of a secret is refused if others can read it.
        if file.ends_with(".key") {
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(path, mode).unwrap();
        }
    }

    /// Checks a configuration as the operator does. The components and secrets that it names are there.
    pub(super) fn checks(&mut self, configuration: &Block) {
        self.writes("toolhost.toml", &configuration.text);
        for name in configuration.text.split('"') {
            let path = self.folder().join(name);
            if name.ends_with(".wasm") {
                std::fs::write(path, toolhost_guests::WORD_COUNT).unwrap();
            } else if name.ends_with(".key") {
                self.writes(name, "secret");
            }
        }
        self.types("toolhost config check toolhost.toml");
    }

    /// Returns the folder where the shell is.
    pub(super) fn folder(&mut self) -> PathBuf {
        PathBuf::from(self.types("pwd").trim())
    }

    /// Replaces the address and the home directory of a page with those of the reader.
    fn placed(&self, text: &str) -> String {
        let home = self.home.path().display().to_string();
        let placed = |text: String, port| text.replace(&format!("127.0.0.1:{port}"), &self.address);
        PORTS.fold(text.to_owned(), placed).replace(HOME, &home)
    }

    /// Starts the servers of a client's configuration as the client does, and asks each for its tools. The tool of the plugin is there.
    fn offers(&self, configuration: &str) {
        let configuration: Value = serde_json::from_str(&self.placed(configuration)).unwrap();
        let servers = configuration["mcpServers"].as_object().unwrap();
        for (name, server) in servers {
            assert_eq!(server["command"], "toolhost");
            let arguments = server["args"].as_array().unwrap().iter();
            let arguments: Vec<_> = arguments.map(|text| text.as_str().unwrap()).collect();
            answer(self.program(&arguments), name, None);
        }
    }

    /// Returns the program with arguments, as another program of the reader starts it.
    pub(super) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap())
            .current_dir(self.home.path());
        command
    }
}

/// Starts a server of MCP, and waits until it offers a tool. Returns its answer to a request with the id 3, or its list of tools.
pub(super) fn answer(mut server: Command, tool: &str, request: Option<&str>) -> String {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let mut child = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{initialize}\n{initialized}\n{list}").unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let name = format!("\"name\":\"{tool}\"");
    let offers = |line: &str| line.replace(": ", ":").contains(&name);
    let (mut asked, mut answer) = (false, None);
    for line in lines.by_ref() {
        if line.contains("notifications/tools/list_changed") {
            // A plugin was loaded.
            writeln!(input, "{list}").unwrap();
        } else if line.contains("\"id\":2") && offers(&line) && !asked {
            asked = true;
            match request {
                Some(request) => writeln!(input, "{request}").unwrap(),
                None => {
                    answer = Some(line);
                    break;
                }
            }
        } else if line.contains("\"id\":3") {
            answer = Some(line);
            break;
        }
    }
    drop(input);
    // A server ends with its input; the rest of its output is read, so that it can.
    lines.for_each(drop);
    child.wait().unwrap();
    answer
        .unwrap_or_else(|| panic!("the server ended without the tool {tool}, or without an answer"))
}
