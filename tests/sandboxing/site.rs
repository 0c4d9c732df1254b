//! A server whose state, home and secrets are beside its workspace.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};
use toolhost_core::CallId;

use crate::harness::serving::{Serving, client, with_state};
use crate::harness::{TOKEN, copy_for_others, file, with_code};

/// The flags of a server without a sandbox.
pub(super) const OFF: &[&str] = &["--sandbox=off"];

/// The flags of a server with the default sandbox.
pub(super) const DEFAULT: &[&str] = &[];

/// The flags of a server whose sandbox is that of machines without namespaces.
pub(super) const PLAIN: &[&str] = &["--sandbox-no-namespaces"];

/// In each file that no command may read.
pub(super) const SECRET: &str = "hunter2";

/// Files of a site, below its directory, and their texts.
const FILES: &[(&str, &str)] = &[
    ("work/file", "workspace\n"),
    ("outside/secret", SECRET),
    ("data/open", "open\n"),
    ("data/keys/key", SECRET),
    ("home/.ssh/id", SECRET),
    ("home/.aws/credentials", SECRET),
    ("home/.netrc", SECRET),
    ("home/.cargo/credentials.toml", SECRET),
    ("home/.cargo/registry/cached", "cached\n"),
    (
        "home/.gitconfig",
        "[user]\nname = A\nemail = a@example.com\n[init]\ndefaultBranch = main\n",
    ),
];

/// The directories of a server that does not run yet.
pub(super) struct Ground {
    directory: tempfile::TempDir,
    /// The user that runs the server, if that is another one.
    owner: Option<u32>,
}

impl Ground {
    pub(super) fn new() -> Self {
        Self::of(None)
    }

    /// The same for a server of another user. Needs root.
    pub(super) fn of(owner: Option<u32>) -> Self {
        let directory = match owner {
            None => tempfile::tempdir_in(shared()),
            Some(_) => tempfile::tempdir(),
        };
        let directory = directory.unwrap();
        let ground = Self { directory, owner };
        for (name, text) in FILES {
            ground.write(name, text);
        }
        if owner.is_some() {
            copy_for_others(ground.directory.path());
            for name in ["work", "home", "outside", "data"] {
                give(&ground.path(name), owner);
            }
        }
        with_code(ground.path("state"), owner);
        ground
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    pub(super) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns a command of the program with these directories, without a token.
    pub(super) fn command(&self, name: &str, flags: &[&str]) -> Command {
        self.command_in("work", name, flags)
    }

    /// The same with another workspace.
    pub(super) fn command_in(&self, workspace: &str, name: &str, flags: &[&str]) -> Command {
        let command = with_state(&self.path(workspace), &self.path("state"));
        self.completed(command, name, flags)
    }

    /// The same, started in the directory of the site, with paths relative to it.
    pub(super) fn relative_command(&self, workspace: &str, name: &str, flags: &[&str]) -> Command {
        let command = with_state(workspace.as_ref(), "state".as_ref());
        let mut command = self.completed(command, name, flags);
        command.current_dir(self.directory.path());
        command
    }

    /// Gives a command line of the program its home, its user and what follows the options of directories.
    fn completed(&self, command: Command, name: &str, flags: &[&str]) -> Command {
        let mut command = self.as_owner(command);
        command.env_remove("TOOLHOST_SANDBOX_NO_NAMESPACES");
        command.env_remove("XDG_CACHE_HOME");
        command.env("HOME", self.path("home")).arg(name);
        command.args(flags.iter().map(|flag| self.text(flag)));
        // The toolchains of the user, which are below another home.
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        for (name, below) in [("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")] {
            let directory = std::env::var_os(name).unwrap_or_else(|| home.join(below).into());
            if self.owner.is_none() && Path::new(&directory).is_dir() {
                command.env(name, directory);
            }
        }
        command
    }

    /// Returns the program as a client, which has no workspace, run by the user of the server.
    pub(super) fn client(&self) -> Command {
        self.as_owner(client())
    }

    /// Returns a command line of the program that the user of the server runs.
    fn as_owner(&self, command: Command) -> Command {
        let Some(owner) = self.owner else {
            return command;
        };
        let mut other = Command::new(self.path("toolhost"));
        other.args(command.get_args()).env_clear().current_dir("/");
        other.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        other.uid(owner).gid(owner);
        other
    }

    pub(super) fn serve(self, flags: &[&str]) -> Site {
        let mut command = self.command("serve", flags);
        command.env("TOOLHOST_TOKEN", TOKEN);
        self.serve_command(command)
    }

    /// Starts a command line whose token is [`TOKEN`].
    pub(super) fn serve_command(self, command: Command) -> Site {
        self.serve_command_at(command, "127.0.0.1:0")
    }

    /// The same, with this address.
    pub(super) fn serve_command_at(self, command: Command, address: &str) -> Site {
        let serving = Serving::at(command, address);
        Site {
            ground: self,
            serving,
            token: TOKEN.to_owned(),
        }
    }

    /// Starts a command line whose token is [`TOKEN`], and whose log goes to a file.
    pub(super) async fn serve_logged(self, command: Command, log: PathBuf) -> Site {
        let (serving, _) = Serving::logged(command, log).await;
        Site {
            ground: self,
            serving,
            token: TOKEN.to_owned(),
        }
    }

    /// Starts a command line whose token is this one.
    pub(super) fn serve_command_with(self, command: Command, token: &str) -> Site {
        let mut site = self.serve_command(command);
        token.clone_into(&mut site.token);
        site
    }

    /// Starts a server that makes a token of its own.
    pub(super) fn serve_with_new_token(self, flags: &[&str]) -> Site {
        let serving = Serving::of(self.command("serve", flags));
        let mut lines = serving.stderr.lines();
        let path = lines.find_map(|line| line.strip_prefix("token file: "));
        let token = std::fs::read_to_string(path.unwrap()).unwrap();
        Site {
            ground: self,
            serving,
            token,
        }
    }

    /// Replaces the names of places in a text, such as `@STATE`.
    pub(super) fn text(&self, text: &str) -> String {
        self.replaced(text, str::to_owned)
    }

    /// Replaces the names of places in a text by what this makes of their paths.
    fn replaced(&self, text: &str, written: impl Fn(&str) -> String) -> String {
        let places = ["work", "state", "home", "data", "outside"];
        places.iter().fold(text.to_owned(), |text, name| {
            let path = self.path(name);
            let name = format!("@{}", name.to_ascii_uppercase());
            text.replace(&name, &written(path.to_str().unwrap()))
        })
    }

    /// Replaces the names of places in a script. Where it has no quotes around a place, blanks in the path are escaped.
    fn script(&self, script: &str) -> String {
        let mut quote = None;
        let mut parts = vec![String::new()];
        for char in script.chars() {
            match (quote, char) {
                (None, '\'' | '"') => {
                    quote = Some(char);
                    parts.push(String::new());
                }
                (Some(open), _) if open == char => {
                    quote = None;
                    parts.push(String::new());
                }
                _ => {}
            }
            parts.last_mut().unwrap().push(char);
        }
        let parts = parts
            .iter()
            .enumerate()
            .map(|(index, part)| match index % 2 {
                0 => self.replaced(part, escaped),
                _ => self.text(part),
            });
        parts.collect()
    }
}

/// Returns a directory that commands have in common with their host. They have directories for temporary files of their own, where a
/// command may change a file that is not there for it, so that nothing of the host changes.
fn shared() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let is_own = |path: &Path| {
        let own = ["/tmp", "/var/tmp", "/dev/shm"];
        own.iter().any(|own| path.starts_with(own)) || path.starts_with(std::env::temp_dir())
    };
    if !is_own(&target) {
        return target;
    }
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap();
    let home = user.map(|user| user.dir);
    home.filter(|home| !is_own(home) && home.is_dir())
        .unwrap_or(target)
}

/// A server that runs.
pub(super) struct Site {
    pub(super) ground: Ground,
    pub(super) serving: Serving,
    token: String,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) output: String,
    pub(super) code: Option<i64>,
}

impl Site {
    pub(super) fn new(flags: &[&str]) -> Self {
        Ground::new().serve(flags)
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.ground.path(below)
    }

    pub(super) fn host(&self) -> u32 {
        self.serving.child.id()
    }

    pub(super) fn spawner(&self) -> u32 {
        let children = children(self.host());
        let is_spawner = |pid: &&u32| command_line(**pid) == b"toolhost\0spawner\0";
        *children.iter().find(is_spawner).expect("it has a spawner")
    }

    /// Replaces the names of places in a text.
    pub(super) fn text(&self, text: &str) -> String {
        self.ground.text(text)
    }

    /// Replaces the names of places and processes in a script: `@STATE`, `@HOST`, `@SPAWNER` and so on. Blanks in the value of a variable
    /// separate no words.
    pub(super) fn script(&self, script: &str) -> String {
        let mut text = format!("IFS='\n'; {}", self.ground.script(script));
        if text.contains("@SPAWNER") {
            text = text.replace("@SPAWNER", &self.spawner().to_string());
        }
        text.replace("@HOST", &self.host().to_string())
    }

    pub(super) async fn put(&self, chat: &str, tool: &str, arguments: Value) -> (u16, Value) {
        let call = CallId::random();
        let path = format!("/v1/chats/{chat}/calls/{call}");
        let request = self.request(Method::PUT, &path);
        let body = json!({ "tool": tool, "arguments": arguments });
        let response = request.json(&body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub(super) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.serving.url);
        let request = self.serving.client.request(method, url);
        request.bearer_auth(&self.token)
    }

    /// Runs a script in the chat `chat`.
    pub(super) async fn run_in(&self, chat: &str, script: &str) -> Reply {
        let command = format!("exec 2>&1; {}", self.script(script));
        let arguments = json!({ "command": command, "timeout": "5m" });
        let (_, body) = self.put(chat, "execute", arguments).await;
        let reply = &body["structured"];
        assert!(reply.is_object(), "{body}");
        Reply {
            output: reply["output"].as_str().unwrap_or_default().to_owned(),
            code: reply["exit_code"].as_i64(),
        }
    }

    /// Runs a script.
    pub(super) async fn run(&self, script: &str) -> Reply {
        self.run_in("a", script).await
    }

    /// Starts a script in the background, and returns the number of its shell.
    pub(super) async fn start_in(&self, chat: &str, script: &str) -> u32 {
        let name = format!("pid-{}", CallId::random());
        let command = format!("exec 2>&1; echo $$ > {name}; {}", self.script(script));
        let arguments = json!({ "command": command, "run_in_background": true });
        let (status, body) = self.put(chat, "execute", arguments).await;
        assert_eq!(status, 200, "{body}");
        self.file(&name).await.trim().parse().unwrap()
    }

    /// Waits until a file of the workspace has a whole line, and returns its text.
    pub(super) async fn file(&self, name: &str) -> String {
        file(&self.path("work").join(name)).await
    }

    /// Asserts that a script succeeds, and returns its output.
    #[track_caller]
    pub(super) fn works(&self, script: &str) -> impl Future<Output = String> {
        let place = std::panic::Location::caller();
        async move {
            let reply = self.run(script).await;
            assert_eq!(reply.code, Some(0), "{place}: {script}\n{}", reply.output);
            reply.output.trim().to_owned()
        }
    }

    /// Asserts that a script fails with this text, and shows no secret.
    #[track_caller]
    pub(super) fn fails(&self, script: &str, error: &str) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let Reply { output, code } = self.run(script).await;
            assert_ne!(code, Some(0), "{place}: succeeded: {script}\n{output}");
            assert!(output.contains(error), "{place}: {script}\n{output}");
            assert!(!output.contains(SECRET), "{place}: {script}\n{output}");
        }
    }

    /// Asserts that a script fails, whatever it says, and shows no secret.
    #[track_caller]
    pub(super) fn is_refused(&self, script: &str) -> impl Future<Output = ()> {
        self.fails(script, "")
    }

    /// Ends the server with a signal, and returns its directories.
    pub(super) fn end(mut self, signal: Signal) -> Ground {
        self.serving.signal(signal);
        self.ground
    }
}

/// Returns a path for a place of a script without quotes.
pub(super) fn escaped(path: &str) -> String {
    path.replace(' ', "\\ ")
}

/// Runs scripts with the sandbox off, where each must succeed; without namespaces, where each must fail with its error; and in the
/// default mode, where each must fail.
pub(super) async fn refused(rows: &[(&str, &str)]) {
    let off = Site::new(OFF);
    for (script, _) in rows {
        off.works(script).await;
    }
    let site = Site::new(PLAIN);
    for (script, error) in rows {
        site.fails(script, error).await;
    }
    let site = Site::new(DEFAULT);
    for (script, _) in rows {
        site.is_refused(script).await;
    }
}

/// Returns whether a process may trace others of its user that are not its children: the security module Yama may refuse it.
pub(super) fn tracing_is_open() -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    match scope.as_deref().map(str::trim) {
        Err(_) | Ok("0") => true,
        Ok("3") => false,
        Ok(_) => nix::unistd::geteuid().is_root(),
    }
}

/// Gives a directory and everything below to a user.
fn give(path: &Path, owner: Option<u32>) {
    std::os::unix::fs::lchown(path, owner, owner).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            give(&entry.path(), owner);
        }
    }
}

/// Returns the children of a process, whichever of its threads started them.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let texts = threads
        .flatten()
        .map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let texts: Vec<_> = texts.collect();
    let pids = texts.iter().flat_map(|text| text.split_whitespace());
    pids.map(|pid| pid.parse().unwrap()).collect()
}

pub(super) fn command_line(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}
