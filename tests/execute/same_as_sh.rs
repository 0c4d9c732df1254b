//! Ordinary commands, in the shares that agents show: each does what it does in a plain shell.
//!
//! `tests/same_as_sh/commands.txt` has the commands, between lines `%%`. A first line `#! differs: …` says why one does not do the same.
//! Each runs twice, in equal directories that `place.sh` makes: by `execute`, and by `-c` of the same shell. Exit code, output and files must agree. A
//! command that changes nothing leaves its directories to the next one.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::SystemTime;

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use toolhost_needs::needs;
use toolhost_sandbox::Policy;

use crate::harness::Setup;

const COMMANDS: &str = include_str!("../same_as_sh/commands.txt");
const PLACE: &str = include_str!("../same_as_sh/place.sh");
const DIFFERS: &str = "#! differs: ";

/// How many commands run at the same time.
const AT_ONCE: usize = 4;

/// The variables that a shell sets for itself, or that differ by design.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "TMUX_TMPDIR"];

/// What came of a command.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    code: Option<i64>,
    output: String,
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

/// Each of these commands that `execute` does not run as a plain shell does, and commands that it does run so although a reason says otherwise.
async fn different(setup: &Setup, every: usize) -> Vec<String> {
    let root = setup.root();
    let place = root.join("place");
    std::fs::create_dir(&place).unwrap();
    let mut make = Command::new("sh");
    make.args(["-c", PLACE]).current_dir(&place);
    let made = make.env("HOME", &root).stdin(Stdio::null()).status();
    assert!(made.unwrap().success());
    let bare = root.join("bare");
    copy(&place, &bare);
    std::fs::remove_dir_all(bare.join(".git")).unwrap();
    let reply = setup.execute("env").await;
    let shell = reply["shell"].as_str().unwrap();
    let environment = reply["output"].as_str().unwrap();
    let environment: Vec<_> = environment
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let rows = COMMANDS.split("\n%%\n").step_by(every);
    let free = Mutex::new((0..AT_ONCE).collect::<Vec<_>>());
    let each = rows.map(|row| {
        let (place, bare, environment, free) = (&place, &bare, &environment, &free);
        async move {
            let number = free.lock().unwrap().pop().unwrap();
            let (reason, command) = match row.strip_prefix(DIFFERS) {
                Some(rest) => rest.split_once('\n').unwrap(),
                None => ("", row),
            };
            // On a busy machine, signals and short waits can come in another order. A difference that stays is one.
            let mut tries = 0;
            let (found, expected) = loop {
                tries += 1;
                let from = if command.contains("git") { place } else { bare };
                let (found, expected) =
                    both(setup, command, from, number, (shell, environment)).await;
                if found == expected || tries == 3 {
                    break (found, expected);
                }
            };
            free.lock().unwrap().push(number);
            match (found == expected, reason.is_empty()) {
                (false, true) => Some(report(command, &found, &expected)),
                (true, false) => Some(format!(
                    "this does the same, although a line says that it differs: {command}"
                )),
                _ => None,
            }
        }
    });
    let reports = stream::iter(each)
        .buffer_unordered(AT_ONCE)
        .filter_map(async |report| report);
    reports.collect().await
}

/// Runs a command by `execute` and in a plain shell, each in a copy of a directory.
async fn both(
    setup: &Setup,
    command: &str,
    from: &Path,
    number: usize,
    (shell, environment): (&str, &[(&str, &str)]),
) -> (Outcome, Outcome) {
    // Commands see the name of their directory.
    let name = format!("{}{number}", from.file_name().unwrap().display());
    let [ours, theirs] = ["ours", "theirs"].map(|kind| from.with_file_name(kind).join(&name));
    for place in [&ours, &theirs] {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        if !place.exists() {
            copy(from, place);
        }
    }
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: Vec<(String, String)> = environment.iter().map(owned).collect();
    let (shell, text, copy) = (shell.to_owned(), command.to_owned(), theirs.clone());
    let plain = move || plain(&shell, &text, &copy, &variables);
    let plain = tokio::task::spawn_blocking(plain);
    let expected = plain.await.unwrap();
    let arguments = json!({ "command": command, "workdir": ours, "timeout": "5m" });
    let reply = setup.call("execute", arguments).await;
    let found = Outcome {
        code: reply["exit_code"].as_i64(),
        output: shown(reply["output"].as_str().unwrap_or_default(), &ours),
        files: files(&ours),
    };
    let unchanged = stamps(from);
    for place in [&ours, &theirs] {
        if stamps(place) != unchanged {
            std::fs::remove_dir_all(place).unwrap();
        }
    }
    (found, expected)
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Returns mode, size and time of the last change of everything in a directory, and of the directory itself.
fn stamps(directory: &Path) -> BTreeMap<PathBuf, (u32, u64, SystemTime)> {
    let stamp = |found: &Metadata| {
        let mode = found.permissions().mode();
        (mode, found.len(), found.modified().unwrap())
    };
    let mut stamps: BTreeMap<_, _> = below(directory)
        .into_iter()
        .map(|(path, found)| (relative(&path, directory), stamp(&found)))
        .collect();
    stamps.insert(PathBuf::new(), stamp(&directory.metadata().unwrap()));
    stamps
}

/// Runs a command in a plain shell, with the variables that commands get.
fn plain(shell: &str, command: &str, directory: &Path, variables: &[(String, String)]) -> Outcome {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let variables = variables
        .iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()));
    let mut shell = Command::new(shell);
    shell
        .args(["-c", command])
        .current_dir(directory)
        .env_clear();
    shell.envs(variables.map(|(name, value)| (name, value)));
    shell
        .stdin(Stdio::null())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer);
    let mut child = shell.spawn().unwrap();
    // The pipe ends with its last writer.
    drop(shell);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).unwrap();
    let code = child.wait().unwrap().code();
    Outcome {
        code: Some(code.map_or(-1, i64::from)),
        output: shown(&String::from_utf8_lossy(&output), directory),
        files: files(directory),
    }
}

/// Returns an output without the place in which the command ran.
fn shown(output: &str, directory: &Path) -> String {
    output.replace(directory.to_str().unwrap(), "PLACE")
}

/// Returns everything below a directory.
fn below(directory: &Path) -> Vec<(PathBuf, Metadata)> {
    let mut all = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(above) = pending.pop() {
        for entry in std::fs::read_dir(above).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            if found.is_dir() {
                pending.push(path.clone());
            }
            all.push((path, found));
        }
    }
    all
}

fn relative(path: &Path, directory: &Path) -> PathBuf {
    path.strip_prefix(directory).unwrap().to_path_buf()
}

/// Returns all files below a directory with their modes and contents, without those of git and of Python's cache.
fn files(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let own = |path: &Path| {
        !path
            .iter()
            .any(|name| name == ".git" || name == "__pycache__")
    };
    let all = below(directory).into_iter();
    let all = all.map(|(path, found)| (relative(&path, directory), path, found));
    let all = all
        .filter(|(name, ..)| own(name))
        .map(|(name, path, found)| {
            let content = if found.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                target.into_os_string().into_encoded_bytes()
            } else if found.is_file() {
                let content = std::fs::read(&path).unwrap();
                shown(&String::from_utf8_lossy(&content), directory).into_bytes()
            } else {
                Vec::new()
            };
            (name, (found.permissions().mode(), content))
        });
    all.collect()
}

fn report(command: &str, found: &Outcome, expected: &Outcome) -> String {
    let names = |outcome: &Outcome| outcome.files.keys().cloned().collect::<Vec<_>>();
    let mut report = format!("{command}\n");
    if (found.code, &found.output) != (expected.code, &expected.output) {
        report += &format!(
            "  execute: {:?} {:?}\n  shell:   {:?} {:?}\n",
            found.code, found.output, expected.code, expected.output
        );
    }
    if found.files != expected.files {
        let differ = |name: &&PathBuf| found.files.get(*name) != expected.files.get(*name);
        let all = names(found).into_iter().chain(names(expected));
        let all: std::collections::BTreeSet<_> = all.collect();
        report += &format!(
            "  files: {:?}\n",
            all.iter().filter(differ).collect::<Vec<_>>()
        );
    }
    report
}

/// Checks the first of so many commands, the next one after them, and so on.
async fn agrees(setup: Setup, every: usize) {
    let different = different(&setup, every).await;
    let count = COMMANDS.split("\n%%\n").count();
    assert!(count >= 400, "{count}");
    assert!(
        different.is_empty(),
        "{} of {count} differ:\n{}",
        different.len(),
        different.join("\n")
    );
    setup.host.shutdown().await;
}

#[needs(
    program = "git",
    program = "python3",
    program = "make",
    program = "node",
    program = "npm"
)]
#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_a_sandbox_does_what_it_does_in_a_plain_shell() {
    agrees(Setup::new().await, 4).await;
}

#[needs(
    namespaces,
    program = "git",
    program = "python3",
    program = "make",
    program = "node",
    program = "npm"
)]
#[tokio::test(flavor = "multi_thread")]
async fn a_command_does_what_it_does_in_a_plain_shell() {
    agrees(
        Setup::with(|builder| builder.sandbox(Policy::default())).await,
        1,
    )
    .await;
}
