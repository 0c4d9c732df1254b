//! The fixture: a workspace with a home and secrets beside it, a process outside of the sandbox, and commands in it.
#![expect(
    clippy::disallowed_methods,
    unsafe_code,
    reason = "tests start the commands that they confine"
)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;
use toolhost_sandbox::{Mode, Places, Plan, Policy, Recipe, Sandbox, Support};

/// The user of the commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The user who runs the tests.
    Own,
    /// An ordinary user without a name or a home. Needs root.
    Nobody,
}

const NOBODY: u32 = 65534;

/// The content of each file that no command may read.
pub const SECRET: &str = "hunter2";

pub struct Fixture {
    pub directory: TempDir,
    pub user: User,
    pub policy: Policy,
    pub places: Places,
    support: Support,
    variables: Vec<(OsString, OsString)>,
    victim: Child,
}

/// Functions for scripts in Python. A script ends with the error of a call as its exit code.
pub const PYTHON: &str = r"
import ctypes, os, sys, struct, socket, errno
os.environ.pop('PYTHONPATH', None)
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args])
    return ctypes.get_errno() if result == -1 else 0
victim = int(os.environ['VICTIM'])
";

pub fn support() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(Support::detect)
}

/// Returns whether an ordinary user can make namespaces of users here.
pub fn has_user_namespaces() -> bool {
    let made = Command::new("unshare").args(["--user", "true"]).status();
    made.is_ok_and(|status| status.success())
}

impl Fixture {
    pub fn new(user: User) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (file, text) in [
            ("work/file", "workspace"),
            ("outside/secret", SECRET),
            ("outside/program", "#!/bin/sh\necho hunter2\n"),
            ("state/token", SECRET),
            ("data/open", "open"),
            ("data/keys/key", SECRET),
            ("temp/file", "temporary"),
            ("home/.ssh/id", SECRET),
            ("home/.aws/credentials", SECRET),
            ("home/.npmrc", SECRET),
            ("home/.netrc", SECRET),
            ("home/.docker/config.json", SECRET),
            ("home/.cargo/credentials.toml", SECRET),
            ("home/.cargo/config.toml", "[build]\n"),
            ("home/.cargo/registry/cached", "cached"),
            (
                "home/.gitconfig",
                "[user]\nname = A\nemail = a@example.com\n",
            ),
        ] {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(root.join("outside/program"), executable).unwrap();
        nix::unistd::mkfifo(&root.join("outside/fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let variables = variables(&root);
        let pairs = variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let mut places = Places::new(root.join("work"), pairs);
        places.home = places.open_home(&root.join("own"), None).unwrap();
        let policy = Policy {
            read: vec![root.join("data")],
            ..Policy::default()
        };
        Plan::new(&policy, &places).prepare_home().unwrap();
        if user == User::Nobody {
            give_away(&root);
        }
        // The process waits for a writer of the pipe until it is killed. It has a secret file open, and a secret in its environment.
        let victim = command("cat", user, Recipe::decode(&off(), []).unwrap())
            .arg(root.join("outside/fifo"))
            .env("TOKEN", SECRET)
            .current_dir(root.join("outside"))
            .stdin(File::open(root.join("outside/secret")).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        places.temporary.push(root.join("temp"));
        places
            .never
            .extend([root.join("state"), root.join("data/keys")]);
        Self {
            directory,
            user,
            policy,
            places,
            support: support().clone(),
            variables,
            victim,
        }
    }

    /// Disables Landlock for all further commands.
    pub fn without_landlock(mut self) -> Self {
        self.support.landlock = Err("a test does without it".to_owned());
        self
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    /// Runs a program in the sandbox, or without one.
    pub fn output(&self, arguments: &[&OsStr], confined: bool) -> Output {
        self.command(arguments, confined).output().unwrap()
    }

    pub fn command(&self, arguments: &[&OsStr], confined: bool) -> Command {
        let policy = match confined {
            true => self.policy.clone(),
            false => Policy {
                mode: Mode::Off,
                ..Policy::default()
            },
        };
        let sandbox = Sandbox::prepare(&policy, &self.places, &self.support, None).unwrap();
        // Encode and decode the recipe, as on the way to the process that forks commands.
        let descriptors = sandbox
            .descriptors()
            .map(|fd: BorrowedFd<'_>| fd.try_clone_to_owned());
        let recipe = Recipe::decode(&sandbox.encode(), descriptors.map(Result::unwrap)).unwrap();
        let mut command = command(arguments[0], self.user, recipe);
        command
            .args(&arguments[1..])
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("VICTIM", self.victim.id().to_string())
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    /// Runs a shell script in the sandbox.
    pub fn sh(&self, script: &str) -> Output {
        self.output(&["sh".as_ref(), "-c".as_ref(), script.as_ref()], true)
    }

    fn sh_without(&self, script: &str) -> Output {
        self.output(&["sh".as_ref(), "-c".as_ref(), script.as_ref()], false)
    }

    /// Runs a script of Python, after the lines of [`PYTHON`].
    pub fn python(&self, script: &str, confined: bool) -> Output {
        let script = format!("{PYTHON}\n{script}");
        self.output(
            &["python3".as_ref(), "-c".as_ref(), script.as_ref()],
            confined,
        )
    }

    /// Asserts that a script succeeds, and returns what it wrote.
    #[track_caller]
    pub fn works(&self, script: &str) -> String {
        let output = self.sh(script);
        assert!(output.status.success(), "{script}\n{}", text(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Asserts that a script fails with this text, shows no secret, and would succeed without the sandbox. It runs there in a
    /// fixture of its own, because it may change something.
    #[track_caller]
    pub fn refused(&self, script: &str, error: &str) {
        self.fails(script, error);
        let other = Self::new(self.user);
        let output = other.sh_without(script);
        assert!(
            output.status.success(),
            "without the sandbox: {script}\n{}",
            text(&output)
        );
    }

    /// Asserts that a script fails with this text, and shows no secret.
    #[track_caller]
    pub fn fails(&self, script: &str, error: &str) {
        let output = self.sh(script);
        let said = text(&output);
        assert!(!output.status.success(), "succeeded: {script}\n{said}");
        assert!(said.contains(error), "{script}\n{said}");
        assert!(!said.contains(SECRET), "{script}\n{said}");
        let secret = fs::read_to_string(self.path("outside/secret")).unwrap();
        assert_eq!(secret, SECRET, "{script}");
    }

    /// Asserts that the last line of a script of Python is this errno, and that it is another without the sandbox.
    #[track_caller]
    pub fn errno(&self, script: &str, expected: i32) {
        let confined = errno(&self.python(script, true));
        assert_eq!(confined, expected, "{script}");
        let without = errno(&Self::new(self.user).python(script, false));
        assert_ne!(without, expected, "without the sandbox: {script}");
    }

    pub fn victim_lives(&mut self) -> bool {
        self.victim.try_wait().unwrap().is_none()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.victim.kill().unwrap();
        self.victim.wait().unwrap();
    }
}

/// Returns the number that a script printed last.
#[track_caller]
pub fn errno(output: &Output) -> i32 {
    let said = String::from_utf8_lossy(&output.stdout);
    let last = said
        .trim()
        .lines()
        .last()
        .and_then(|line| line.parse().ok());
    last.unwrap_or_else(|| panic!("{}", text(output)))
}

pub fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

/// Returns an empty recipe, which changes nothing.
fn off() -> Vec<u8> {
    let policy = Policy {
        mode: Mode::Off,
        ..Policy::default()
    };
    Sandbox::prepare(&policy, &Places::default(), support(), None)
        .unwrap()
        .encode()
}

/// Returns a command that switches to the user and enters the sandbox between fork and exec.
fn command(program: impl AsRef<OsStr>, user: User, recipe: Recipe) -> Command {
    let mut command = Command::new(program);
    let enter = move || {
        if user == User::Nobody {
            let (uid, gid) = (
                nix::unistd::Uid::from_raw(NOBODY),
                nix::unistd::Gid::from_raw(NOBODY),
            );
            nix::unistd::setgroups(&[])?;
            nix::unistd::setresgid(gid, gid, gid)?;
            nix::unistd::setresuid(uid, uid, uid)?;
        }
        nix::unistd::setsid()?;
        recipe.apply().map_err(std::io::Error::from)
    };
    // SAFETY: the function makes system calls only.
    unsafe { command.pre_exec(enter) };
    command
}

/// Returns the environment variables of commands: a home of their own, and the toolchains of the user.
fn variables(root: &Path) -> Vec<(OsString, OsString)> {
    let mut variables = vec![
        ("HOME".into(), root.join("home").into()),
        ("TMPDIR".into(), root.join("temp").into()),
        ("TEMP".into(), root.join("temp").into()),
        ("WORK".into(), root.join("work").into()),
        ("OWN".into(), root.join("own/files").into()),
        ("OUTSIDE".into(), root.join("outside").into()),
        ("ROOT".into(), root.into()),
        ("LC_ALL".into(), "C".into()),
        ("SHELL".into(), "/bin/sh".into()),
    ];
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (name, below) in [
        ("RUSTUP_HOME", ".rustup"),
        ("PYENV_ROOT", ".pyenv"),
        ("NVM_DIR", ".nvm"),
    ] {
        let value = std::env::var_os(name).unwrap_or_else(|| home.join(below).into());
        if Path::new(&value).is_dir() {
            variables.push((name.into(), value));
        }
    }
    variables.push(("PATH".into(), std::env::var_os("PATH").unwrap()));
    variables
}

/// Gives a directory and everything below to the ordinary user.
fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}
