//! Other servers with a tool `echo`, as far as they are found.
//!
//! - ACT: the program `act` in `PATH` or `$TOOLHOST_BENCH_ACT`, and its component in `$TOOLHOST_BENCH_ACT_ECHO`
//! - wassette: the program `wassette` in `PATH` or `$TOOLHOST_BENCH_WASSETTE`, and the directory of its component in
//!   `$TOOLHOST_BENCH_WASSETTE_ECHO`
//! - the official SDKs for Python and TypeScript: where `tests/clients/prepare` has installed them

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::report::root;

/// Returns the names of the servers, with their versions, and the commands that start them.
pub(crate) fn found() -> Vec<(String, Command)> {
    let all = [act(), wassette(), python(), typescript()];
    all.into_iter().flatten().collect()
}

fn act() -> Option<(String, Command)> {
    let component = variable("ACT_ECHO")?;
    let program = variable("ACT").unwrap_or("act".into());
    let name = version("act", &program)?;
    let mut command = Command::new(program);
    command.args(["run", "--mcp"]).arg(component);
    Some((name, command))
}

fn wassette() -> Option<(String, Command)> {
    let components = variable("WASSETTE_ECHO")?;
    let program = variable("WASSETTE").unwrap_or("wassette".into());
    let name = version("wassette", &program)?;
    let mut command = Command::new(program);
    command.args(["run", "--disable-builtin-tools", "--component-dir"]);
    command.arg(components);
    Some((name, command))
}

fn python() -> Option<(String, Command)> {
    let python = clients().join("python/bin/python");
    let script = "import importlib.metadata as m; print(m.version('mcp'))";
    let version = Command::new(&python).args(["-c", script]).output().ok()?;
    let version = String::from_utf8(version.stdout).ok()?;
    let mut command = Command::new(python);
    command.arg(root().join("tests/benches/serving/peer.py"));
    Some((format!("mcp {} for Python", version.trim()), command))
}

fn typescript() -> Option<(String, Command)> {
    let clients = clients().join("node");
    let package = clients.join("node_modules/@modelcontextprotocol/sdk/package.json");
    let package = std::fs::read_to_string(package).ok()?;
    let package: serde_json::Value = serde_json::from_str(&package).ok()?;
    let version = package["version"].as_str()?;
    // Its imports are looked for beside the script.
    let script = clients.join("peer.mjs");
    let source = root().join("tests/benches/serving/peer.mjs");
    std::fs::copy(source, &script).ok()?;
    let mut command = Command::new(clients.join("node_modules/node/bin/node"));
    command.arg(script);
    let name = format!("@modelcontextprotocol/sdk {version} for TypeScript");
    Some((name, command))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(format!("TOOLHOST_BENCH_{name}"))
}

/// Returns the name of a program with its version: the first word of its answer that is a number.
fn version(name: &str, program: &OsString) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let output = String::from_utf8(output.stdout).ok()?;
    let mut words = output.split_whitespace();
    let version = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    Some(format!("{name} {version}"))
}

fn clients() -> PathBuf {
    let directory = std::env::var_os("TOOLHOST_CLIENTS");
    directory.map_or_else(|| root().join("target/clients"), PathBuf::from)
}
