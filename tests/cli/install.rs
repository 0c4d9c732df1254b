//! `toolhost mcp install` and `uninstall`, on the configuration of clients in a home of the test.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::harness::program;
use crate::harness::terminal::Terminal;

/// The clients, each with its file in the home.
const CLIENTS: [(&str, &str); 7] = [
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
    ),
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("zed", ".config/zed/settings.json"),
];

/// A home, and a workspace beside it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for directory in ["home", "project"] {
            std::fs::create_dir(base.path().join(directory)).unwrap();
        }
        Self(base)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Returns `toolhost mcp` in the workspace.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = client();
        command
            .env("HOME", self.path("home"))
            .current_dir(self.path("project"))
            .stdin(Stdio::null())
            .arg("mcp")
            .args(arguments);
        command
    }

    /// Runs `toolhost mcp`, and returns what it says on both outputs.
    #[track_caller]
    fn run(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said.replace(self.path("").to_str().unwrap(), "BASE/")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Returns the command of the only entry of a file.
fn started(text: &str) -> Vec<String> {
    let entry = match serde_json::from_str::<Value>(text) {
        Ok(file) => {
            let servers = file.as_object().unwrap().values().next().unwrap();
            servers["toolhost"].clone()
        }
        Err(_) => {
            let file: toml::Table = text.parse().unwrap();
            serde_json::to_value(&file["mcp_servers"]["toolhost"]).unwrap()
        }
    };
    let args = entry["args"].as_array().unwrap();
    let words = [&entry["command"]].into_iter().chain(args);
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_client_gets_an_entry_that_works_and_loses_it_again() {
    let home = Home::new();
    for (name, file) in CLIENTS {
        let file = format!("home/{file}");
        home.run(0, &["install", "--client", name, "--yes"]);
        let installed = home.read(&file);
        let words = started(&installed);
        let project = home.path("project");
        assert_eq!(
            words[0],
            program().canonicalize().unwrap().to_str().unwrap()
        );
        assert_eq!(
            words[1..4],
            ["mcp", "--workspace", project.to_str().unwrap()]
        );
        let again = home.run(0, &["install", "--client", name, "--yes"]);
        assert!(again.contains("is there already"), "{again}");
        assert_eq!(home.read(&file), installed);
        let removed = home.run(0, &["uninstall", "--client", name, "--yes"]);
        assert!(removed.contains("toolhost was removed"), "{removed}");
        assert!(!home.path(&file).exists(), "{name}");
        home.run(0, &["uninstall", "--client", name, "--yes"]);
    }
    home.run(0, &["install", "--client", "claude-code", "--yes"]);
    let words = started(&home.read("home/.claude.json"));
    let mut command = client();
    command.env("HOME", home.path("home")).args(&words[1..]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let capabilities = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": capabilities });
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{request}").unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let reply: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(reply["result"]["serverInfo"]["name"], "toolhost", "{line}");
    // The end of its input is the end of the program.
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn everything_else_in_a_file_stays() {
    let home = Home::new();
    let before = "// mine\n{\n  \"context_servers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n  },\n}\n";
    home.write("home/dotfiles/zed.json", before);
    let file = home.path("home/dotfiles/zed.json");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let link = home.path("home/.config/zed/settings.json");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink("../../dotfiles/zed.json", &link).unwrap();
    let install = ["install", "--client", "zed", "--yes"];
    let said = home.run(0, &install);
    assert!(said.contains("+    \"toolhost\": {"), "{said}");
    assert!(said.contains("restart Zed"), "{said}");
    let installed = home.read("home/dotfiles/zed.json");
    assert!(
        installed.contains("// keep\n    \"toolhost\": {"),
        "{installed}"
    );
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    home.run(0, &["uninstall", "--client", "zed", "--yes"]);
    assert_eq!(home.read("home/dotfiles/zed.json"), before);
    assert!(link.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn nothing_is_written_without_consent() {
    let home = Home::new();
    let install = ["install", "--client", "cursor"];
    let said = home.run(2, &install);
    assert!(said.contains("confirm the change with --yes"), "{said}");
    let said = home.run(0, &[&install[..], &["--dry-run"]].concat());
    assert!(said.contains("+  \"mcpServers\": {"), "{said}");
    assert!(!home.path("home/.cursor").exists());
    home.run(0, &[&install[..], &["--yes"]].concat());
    let uninstall = ["uninstall", "--client", "cursor"];
    home.run(2, &uninstall);
    home.run(0, &[&uninstall[..], &["--dry-run"]].concat());
    assert!(home.path("home/.cursor/mcp.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_asked() {
    let home = Home::new();
    let file = home.path("home/.gemini/settings.json");
    for (key, code) in [("n\r", 1), ("y\r", 0)] {
        let command = home.command(&["install", "--client", "gemini"]);
        let mut terminal = Terminal::start(&command, 100, 30);
        terminal.until_shown("[y/N]");
        assert!(!file.exists());
        terminal.press(key);
        let (status, screen, _) = terminal.ended().await;
        assert_eq!(status.code(), Some(code), "{screen}");
        assert_eq!(file.exists(), code == 0);
    }
}

#[test]
fn broken_files_and_names_of_others_are_refused() {
    let home = Home::new();
    let broken = "{\n  \"mcpServers\": {,}\n}\n";
    home.write("home/.claude.json", broken);
    let said = home.run(2, &["install", "--client", "claude-code", "--yes"]);
    assert!(
        said.starts_with("toolhost: cannot change BASE/home/.claude.json: line 2, column 18: "),
        "{said}"
    );
    assert_eq!(home.read("home/.claude.json"), broken);
    let taken = "[mcp_servers.toolhost]\ncommand = \"npx\"\n";
    home.write("home/.codex/config.toml", taken);
    for command in ["install", "uninstall"] {
        let said = home.run(2, &[command, "--client", "codex", "--yes"]);
        assert!(said.contains("not this program"), "{said}");
    }
    let other = ["install", "--client", "codex", "--name", "tools", "--yes"];
    home.run(0, &other);
    assert!(home.read("home/.codex/config.toml").starts_with(taken));
}

#[test]
fn projects_files_and_options_are_named() {
    let home = Home::new();
    home.run(0, &["install", "--client", "vscode", "--project", "--yes"]);
    started(&home.read("project/.vscode/mcp.json"));
    let desktop = ["--client", "claude-desktop", "--yes"];
    let said = home.run(2, &[&["install", "--project"], &desktop[..]].concat());
    assert!(said.contains("leave --project out"), "{said}");
    // A configuration of this program has settings that the command does not take.
    home.write("home/toolhost.toml", "max_live = 3\n");
    let config = home.path("home/toolhost.toml");
    let named = [
        "install",
        "--file",
        "elsewhere.json",
        "--config",
        config.to_str().unwrap(),
    ];
    home.run(0, &[&named[..], &desktop].concat());
    let words = started(&home.read("project/elsewhere.json"));
    let given = ["--config", config.to_str().unwrap()];
    assert!(words.windows(2).any(|pair| pair == given), "{words:?}");
    let said = home.run(
        2,
        &[&["install", "--workspace", "../home"], &desktop[..]].concat(),
    );
    assert!(said.contains("is the home of this user"), "{said}");
}
