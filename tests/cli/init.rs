//! `toolhost init`: what it writes works, and it writes over nothing.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use nix::unistd::Uid;
use tempfile::TempDir;

use super::*;
use crate::harness::program;
use crate::harness::terminal::Terminal;

/// A home, and a directory for the workspace beside it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("home")).unwrap();
        Self(base)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self, name: &str) -> PathBuf {
        self.path("home/.config/toolhost").join(name)
    }

    /// Returns a command line of this user, without a terminal.
    fn of_user(&self, mut command: Command) -> Command {
        let program = program().parent().unwrap().display();
        let path = std::env::var("PATH").unwrap();
        command
            .env("HOME", self.path("home"))
            .env("PATH", format!("{program}:{path}"))
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = client();
        command.arg("init").args(arguments);
        self.of_user(command)
    }

    /// Runs a line of a shell with the variables of the program.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env_clear();
        let variables = client();
        let variables = variables.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        self.of_user(command)
    }
}

/// Returns the lines to run that the program printed.
fn printed(output: &str) -> Vec<String> {
    let (_, end) = output.split_once("Start the server:\n").unwrap();
    let lines = end.lines().filter_map(|line| line.strip_prefix("  "));
    lines.map(str::to_owned).collect()
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn the_printed_commands_work() {
    let home = Home::new();
    let socket = home.path("s");
    let listen = format!("unix:{}", socket.display());
    let flags = [
        "--workspace",
        "work",
        "--listen",
        &listen,
        "--tools",
        "execute,read_file",
    ];
    let service = ["--service", "no", "--yes"];
    let output = home.command(&[&flags[..], &service].concat()).output();
    let output = output.unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["toolhost.toml", "main.token"] {
        let mode = home.config(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{name}");
    }
    let token = std::fs::read_to_string(home.config("main.token")).unwrap();
    let config = std::fs::read_to_string(home.config("toolhost.toml")).unwrap();
    assert!(!said.contains(token.trim()) && !config.contains(token.trim()));
    for line in config.lines().filter(|line| !line.is_empty()) {
        assert!(
            said.contains(&format!("  {line}\n")),
            "{line} is not shown: {said}"
        );
    }
    let checked = home.shell("toolhost config check").output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    let [serve, call] = &printed(said)[..] else {
        panic!("{said}");
    };
    let mut serving = home.shell(&format!("exec {serve}"));
    let mut serving = Server(serving.stderr(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(serving.0.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("listening on ")));
    let rest = std::thread::spawn(move || lines.count());
    let called = home.shell(call).output().unwrap();
    let stderr = text(&called.stderr);
    assert_eq!(called.status.code(), Some(0), "{call}: {stderr}");
    assert_eq!(json_of(&called)["output"], "hello\n");
    let (_, flags) = call.split_once(" --server ").unwrap();
    let listed = home
        .shell(&format!("toolhost tools --server {flags}"))
        .output();
    let listed: Value = serde_json::from_slice(&listed.unwrap().stdout).unwrap();
    let listed = listed["tools"].as_array().unwrap().iter();
    let names: Vec<_> = listed.map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, [Some("execute"), Some("read_file")]);
    drop(serving);
    rest.join().unwrap();
}

#[test]
fn missing_answers_are_named_and_nothing_is_overwritten() {
    let home = Home::new();
    let refused = |arguments: &[&str]| {
        let output = home.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let base = home.0.path().to_str().unwrap();
        text(&output.stderr).replace(base, "BASE")
    };
    insta::assert_snapshot!(refused(&["--listen", "127.0.0.1:7411"]), @"toolhost: cannot ask without a terminal: give --workspace DIR, --tools NAMES, --service yes|no, and confirm with --yes");
    insta::assert_snapshot!(refused(&["--workspace", "home", "--yes"]), @"toolhost: the workspace BASE/home is the home of this user; choose a directory below with --workspace, or open this one with --workspace-anyway");
    assert!(!home.config("").exists());
    let yes = ["--workspace", "work", "--yes"];
    let output = home.command(&yes).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(home.path("work").is_dir());
    let before = std::fs::read(home.config("toolhost.toml")).unwrap();
    insta::assert_snapshot!(refused(&yes), @"toolhost: BASE/home/.config/toolhost/toolhost.toml exists: name another configuration with --config, or change this one by hand");
    assert_eq!(std::fs::read(home.config("toolhost.toml")).unwrap(), before);
}

#[test]
fn a_unit_is_that_of_the_documentation() {
    let home = Home::new();
    let flags = ["--workspace", "work", "--service", "yes", "--yes"];
    let output = home.command(&flags).output().unwrap();
    if Uid::effective().is_root() {
        let said = text(&output.stderr);
        assert!(said.contains("must not run commands as root"), "{said}");
        assert!(!home.config("").exists());
        return;
    }
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let unit = home.config("toolhost.service");
    let text = std::fs::read_to_string(&unit).unwrap();
    let start = text.lines().find(|line| line.starts_with("ExecStart="));
    let config = home.config("toolhost.toml");
    assert!(start.unwrap().contains(config.to_str().unwrap()), "{text}");
    assert!(text.contains("NoNewPrivileges=yes"), "{text}");
    assert!(printed(said)[0].contains(unit.to_str().unwrap()), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_asked_four_questions() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home.command(&[]), 120, 60);
    terminal.until_shown("In which directory");
    terminal.press("home\r");
    terminal.until_shown("is the home of this user");
    terminal.press("~/work\r");
    terminal.until_shown("Where does the server listen?");
    terminal.press("\r");
    terminal.until_shown("Which tools");
    terminal.press("execute\r");
    terminal.until_shown("as a service");
    terminal.press("no\r");
    terminal.until_shown("write these files?");
    assert!(!home.config("").exists());
    terminal.press("y\r");
    let (status, screen, _) = terminal.ended().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    let config = std::fs::read_to_string(home.config("toolhost.toml")).unwrap();
    let work = home.path("home/work").display().to_string();
    assert!(config.contains(&format!("dir = \"{work}\"")), "{config}");
    assert!(config.contains("tools = [\"execute\"]"), "{config}");
    assert!(config.contains("listen = \"127.0.0.1:7411\""), "{config}");
}
