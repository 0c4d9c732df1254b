//! Finding what carries a mark, among all processes.

use std::fmt;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::{PATIENCE, is_alive};

/// The variable by which processes of one command are told from all others.
pub(super) const VARIABLE: &str = "CONTAINMENT_MARK";

/// A word that nobody else uses.
pub(super) fn unique() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/uuid")
        .unwrap()
        .trim()
        .to_owned()
}

/// A process that lives.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) pid: u32,
    /// Its arguments, with blanks between them.
    pub(super) command: String,
    pub(super) stopped: bool,
    /// Its environment and its arguments.
    text: Vec<u8>,
}

impl fmt::Debug for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.pid, self.command)
    }
}

/// All processes that live, at one moment.
pub(super) struct Scan(Vec<Found>);

impl Scan {
    pub(super) fn now() -> Self {
        Self(pids().into_iter().filter_map(found).collect())
    }

    /// Those that carry a mark.
    pub(super) fn of(&self, mark: &str) -> Vec<Found> {
        let carries = |found: &&Found| contains(&found.text, mark.as_bytes());
        self.0.iter().filter(carries).cloned().collect()
    }
}

/// All numbers of processes.
pub(super) fn pids() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

fn found(pid: u32) -> Option<Found> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    // One whose first thread has ended is a zombie to look at, and what its other threads have is in their directories.
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut threads = threads.flatten().map(|thread| thread.path());
    let live = threads.find(|thread| {
        let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    })?;
    let arguments = std::fs::read(live.join("cmdline")).unwrap_or_default();
    let mut text = std::fs::read(live.join("environ")).unwrap_or_default();
    text.push(0);
    text.extend(&arguments);
    let command = String::from_utf8_lossy(&arguments).replace('\0', " ");
    Some(Found {
        pid,
        command: command.trim_end().to_owned(),
        stopped: rest.starts_with('T'),
        text,
    })
}

/// Returns whether a process is a supervisor that waits for a command.
pub(super) fn is_spare(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim() == "toolhost-spare")
}

pub(super) fn kill_one(pid: u32, signal: Signal) {
    _ = kill(Pid::from_raw(pid.cast_signed()), signal);
}

/// A FIFO that a command holds open for writing in all that it starts. Its reader sees without a doubt whether anybody is
/// left, also of what is never seen twice under the same number.
pub(super) struct Held {
    path: PathBuf,
    reader: std::fs::File,
}

impl Held {
    pub(super) fn new(path: &Path) -> Self {
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = std::fs::File::options()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path)
            .unwrap();
        Self {
            path: path.to_path_buf(),
            reader,
        }
    }

    /// The redirection by which a shell takes hold of it.
    pub(super) fn redirection(&self) -> String {
        format!("exec 7>{}", self.path.display())
    }

    pub(super) fn is_held(&self) -> bool {
        let read = (&self.reader).read(&mut [0; 16]);
        !matches!(read, Ok(0))
    }
}

/// What should end: a name for it, its mark, and its FIFO.
pub(super) struct Expected<'a> {
    pub(super) name: String,
    pub(super) mark: &'a str,
    pub(super) held: &'a Held,
    /// Its supervisor, if there is one. It ends as well, or waits for another command.
    pub(super) supervisor: u32,
}

impl Expected<'_> {
    /// What is left of it, as a text.
    fn left(&self, scan: &Scan) -> Option<String> {
        let found = scan.of(self.mark);
        let is_left = is_alive(self.supervisor) && !is_spare(self.supervisor);
        let supervisor = is_left.then_some(self.supervisor);
        let held = self.held.is_held();
        (!found.is_empty() || supervisor.is_some() || held).then(|| {
            format!(
                "{}: {found:?}, supervisor {supervisor:?}, FIFO held {held}",
                self.name
            )
        })
    }
}

/// Waits until nothing is left, and fails with the names of those of which something is.
pub(super) async fn until_nothing_is_left(expected: &[Expected<'_>]) {
    let begun = Instant::now();
    loop {
        let scan = Scan::now();
        let left: Vec<_> = expected.iter().filter_map(|one| one.left(&scan)).collect();
        if left.is_empty() {
            return;
        }
        if begun.elapsed() > PATIENCE {
            for one in expected.iter().flat_map(|one| scan.of(one.mark)) {
                kill_one(one.pid, Signal::SIGKILL);
            }
            panic!("these outlived their end:\n{}", left.join("\n"));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
