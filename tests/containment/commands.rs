//! Ways in which commands try to outlive their end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::escapes::go;
use super::survivors::{Found, Held, Scan, VARIABLE, pids, unique};
use crate::harness::until;

/// Python itself, not a script that looks for it: rather one that other users can run, too. A test that uses it says so with
/// `#[needs(program = "python3")]`.
pub(super) fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let candidates = ["/usr/bin/python3", "/usr/local/bin/python3", "python3"];
        let found = candidates.into_iter().find_map(|candidate| {
            let script = "import sys; print(sys.executable)";
            let output = Command::new(candidate).args(["-c", script]).output().ok()?;
            Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
        });
        found.expect("it needs python3")
    };
    PYTHON.get_or_init(find)
}

/// One way, as it is written: `SECONDS` is for how long to sleep, `PYTHON` the program, `READY` a file to write.
pub(super) struct Way {
    pub(super) name: &'static str,
    text: &'static str,
    /// How many processes that are named `sleep SECONDS` there are when it is at its work.
    sleeps: usize,
    /// How many of its processes are stopped then.
    stopped: usize,
    /// Whether it writes a file by then.
    writes: bool,
}

const fn way(name: &'static str, text: &'static str, sleeps: usize) -> Way {
    Way {
        name,
        text,
        sleeps,
        stopped: 0,
        writes: false,
    }
}

impl Way {
    pub(super) fn needs_python(&self) -> bool {
        self.text.contains("PYTHON")
    }
}

pub(super) const WAYS: &[Way] = &[
    way(
        "timeout, and more after it",
        "timeout 100 sleep SECONDS; sleep SECONDS",
        1,
    ),
    way("a pipe into timeout", "yes | timeout 100 sleep SECONDS", 1),
    way(
        "timeout in the background",
        "timeout 100 sleep SECONDS &",
        1,
    ),
    way("setsid in the background", "setsid sleep SECONDS &", 1),
    way(
        "setsid that waits",
        "setsid -w sleep SECONDS; sleep SECONDS",
        1,
    ),
    way(
        "job control",
        "set -m; sleep SECONDS & sleep SECONDS & wait",
        2,
    ),
    way("nohup", "nohup sleep SECONDS &", 1),
    way("disown", "bash -c 'sleep SECONDS & disown'", 1),
    way("a new session", NEW_SESSION, 1),
    way("a daemon", DAEMON, 1),
    way(
        "deaf to SIGTERM",
        "trap '' TERM; sleep SECONDS; sleep SECONDS",
        1,
    ),
    Way {
        stopped: 1,
        ..way("stopped", "sleep SECONDS & kill -STOP $!; wait", 0)
    },
    way("always new ones", FORKER, 20),
    Way {
        writes: true,
        ..way("never the same one twice", RABBIT, 0)
    },
    Way {
        writes: true,
        ..way("without its first thread", HEADLESS, 0)
    },
];

const NEW_SESSION: &str = r#"exec PYTHON -c 'import subprocess as s; s.Popen(["sleep", "SECONDS"], start_new_session=True, close_fds=False)'"#;

const DAEMON: &str = r#"exec PYTHON -c '
import os
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 7)
os.execvp("sleep", ["sleep", "SECONDS"])'"#;

/// Keeps twenty sleeping, each in a session of its own: whoever ends some of them sees others.
const FORKER: &str = r#"exec PYTHON -c '
import signal, subprocess as s, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
live = []
while True:
    live = [one for one in live if one.poll() is None]
    while len(live) < 20:
        live.append(s.Popen(["sleep", "SECONDS"], start_new_session=True, close_fds=False))
    time.sleep(0.001)'"#;

/// Each one starts the next and ends, in a session of its own, so that no number is ever seen for long.
const RABBIT: &str = r#"exec PYTHON -c '
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
generation = 0
while True:
    if os.fork(): os._exit(0)
    os.setsid()
    generation += 1
    if generation == 50: open("READY", "w").write("x\n")
    time.sleep(0.001)'"#;

/// A process whose first thread has ended looks like a zombie, and lives.
const HEADLESS: &str = r#"exec PYTHON -c '
import ctypes, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def stay():
    open("READY", "w").write("x\n")
    time.sleep(SECONDS)
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)'"#;

/// A command that is on its way to outlive its end.
pub(super) struct Escapee {
    pub(super) name: &'static str,
    pub(super) mark: String,
    /// What to run.
    pub(super) text: String,
    pub(super) held: Held,
    directory: PathBuf,
    sleep: String,
    way: &'static Way,
}

impl Escapee {
    /// Prepares one in a directory. With `kills`, it kills its own supervisor when it is told to.
    pub(super) fn new(way: &'static Way, directory: &Path, kills: bool) -> Self {
        let mark = unique();
        let held = Held::new(&directory.join(format!("held-{mark}")));
        // Ten digits that nobody else sleeps for, taken from the mark.
        let number = u32::from_str_radix(mark.get(..8).unwrap(), 16).unwrap();
        let sleep = format!("{}", 1_000_000_000 + u64::from(number) / 8);
        let python = way.needs_python().then(python);
        let text = way
            .text
            .replace("PYTHON", &python.unwrap_or(Path::new("")).to_string_lossy())
            .replace("READY", &format!("ready-{mark}"))
            .replace("SECONDS", &sleep);
        let kill = if kills {
            nix::unistd::mkfifo(
                &directory.join(format!("go-{mark}")),
                nix::sys::stat::Mode::S_IRWXU,
            )
            .unwrap();
            format!("(read x < go-{mark}; kill -9 $PPID) & ")
        } else {
            String::new()
        };
        let text = format!(
            "export {VARIABLE}={mark}; {}; echo $PPID > supervisor-{mark}; {kill}{text}",
            held.redirection()
        );
        Self {
            name: way.name,
            mark,
            text,
            held,
            directory: directory.to_path_buf(),
            sleep,
            way,
        }
    }

    /// Waits until it does what it is there for. Returns its supervisor, which is below this spawner, and all of its processes.
    pub(super) async fn at_work(&self, spawner: u32) -> (u32, Vec<Found>) {
        let written = |name: &str| {
            let path = self.directory.join(format!("{name}-{}", self.mark));
            let text = std::fs::read_to_string(path).ok()?;
            text.ends_with('\n').then_some(text)
        };
        let sleep = format!("sleep {}", self.sleep);
        let what = format!("{:?} is at its work ({})", self.name, self.mark);
        let found = until(&what, || {
            let found = Scan::now().of(&self.mark);
            let sleeps = found.iter().filter(|one| one.command == sleep).count();
            let stopped = found.iter().filter(|one| one.stopped).count();
            let enough = sleeps >= self.way.sleeps
                && stopped >= self.way.stopped
                // What is never the same twice may not be seen by a look.
                && (written("ready").is_some() || !self.way.writes && !found.is_empty());
            enough.then_some(found)
        })
        .await;
        assert!(
            self.held.is_held(),
            "{:?} does not hold its FIFO",
            self.name
        );
        let number = written("supervisor").expect("written before anything else");
        let supervisor = pids().into_iter().find(|pid| {
            parent_of_supervisor(*pid, number.trim())
                .is_some_and(|parent| is_below(parent, spawner))
        });
        (supervisor.expect("it lives"), found)
    }

    /// Lets it kill its supervisor.
    pub(super) async fn kill_supervisor(&self) {
        let path = self.directory.join(format!("go-{}", self.mark));
        go(&path).await;
    }
}

/// Returns the parent of a process if it is a supervisor that has this number in its own namespace.
///
/// Every user may read `status`. The namespaces of a supervisor, only root may.
fn parent_of_supervisor(pid: u32, number: &str) -> Option<u32> {
    let status = status(pid);
    let numbers = field(&status, "NSpid:")?;
    let is = status.starts_with("Name:\ttoolhost-super\n")
        && numbers.split('\t').next_back() == Some(number);
    is.then(|| parent(&status)).flatten()
}

/// Returns whether a process is another one, or started below it.
fn is_below(pid: u32, ancestor: u32) -> bool {
    pid == ancestor || parent(&status(pid)).is_some_and(|parent| is_below(parent, ancestor))
}

fn status(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name))
}

fn parent(status: &str) -> Option<u32> {
    field(status, "PPid:")?.trim().parse().ok()
}
