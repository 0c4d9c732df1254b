//! What a sandbox holds and what it does not, in words for an operator.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::grants::{Grants, Rights};
use crate::network::Network;
use crate::places::Places;
use crate::policy::{Mode, Policy};
use crate::support::{SCOPES, SOCKETS, Support};
use crate::view::unprotected;

/// What a sandbox holds and what it does not. `Display` writes it as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The paths that commands may write, and all below.
    pub write: Vec<PathBuf>,
    /// The paths that commands may only read and execute, and all below.
    pub read: Vec<PathBuf>,
    /// What holds.
    pub held: Vec<String>,
    /// What the policy says and this sandbox does not hold. A `required` policy fails on any of these.
    pub missing: Vec<Gap>,
    /// What no policy can ask of the layers that are applied.
    pub beyond: Vec<Gap>,
}

/// Something that a sandbox does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What commands can do.
    pub can: String,
    /// What would prevent it; empty if nothing does.
    pub remedy: String,
}

/// How many paths a line names.
const MOST_PATHS: usize = 5;

impl Report {
    pub(crate) fn off() -> Self {
        let mut report = Self::default();
        report.beyond(
            "commands may do whatever the host's user may",
            "mode = \"workspace\"",
        );
        report
    }

    pub(crate) fn new(
        policy: &Policy,
        places: &Places,
        grants: &Grants,
        support: &Support,
    ) -> Self {
        let paths = |rights| {
            let granted = grants.grants.iter();
            let granted = granted.filter(move |grant| grant.rights == rights);
            granted.map(|grant| grant.path.clone()).collect()
        };
        let mut report = Self {
            write: paths(Rights::Write),
            read: paths(Rights::Read),
            ..Self::default()
        };
        report.held("programs with setuid and file capabilities give no privileges");
        if support.landlock.is_ok() {
            report.files(policy);
            match support.namespaces.is_ok() {
                true => report.view(policy, places),
                false => report.without_view(policy, grants),
            }
            report.refused(grants);
        } else {
            report.missing(
                "commands reach all files and processes of the host's user",
                "Landlock",
            );
        }
        report.processes(support);
        report.calls(policy, support);
        report.network(policy, support);
        report.limits(policy);
        report
    }

    fn files(&mut self, policy: &Policy) {
        self.held(match policy.mode {
            Mode::ReadOnly => "commands write only into their temporary directories",
            _ => "commands write only into the workspace, their temporary directories and caches of toolchains",
        });
        self.held("commands read only those, the system, toolchains and what the policy names");
    }

    /// What namespaces hold.
    fn view(&mut self, policy: &Policy, places: &Places) {
        self.held("commands see no process but those of their own chat, whose memory, terminals and temporary files no other shares");
        self.held("what commands must never reach is empty for them, also in the workspace");
        self.held("commands change no mode, owner or time of a file that they cannot write");
        let protected = !policy.protect.is_empty() && policy.mode == Mode::Workspace;
        if protected && policy.protect != unprotected(policy, places) {
            self.held("commands cannot change the protected paths of the workspace that exist");
        }
        let made = unprotected(policy, places);
        if protected && !made.is_empty() {
            let made: Vec<_> = made.iter().map(PathBuf::as_path).collect();
            let can = format!(
                "commands make {} in the workspace, which exist in it nowhere",
                list(&made)
            );
            self.beyond(&can, "files or directories of these names");
        }
        self.beyond(
            "commands see that a path exists",
            "a container for this host",
        );
    }

    fn without_view(&mut self, policy: &Policy, grants: &Grants) {
        let mut roots: Vec<_> = grants.exposed.iter().map(|(_, root)| root).collect();
        roots.dedup();
        for root in roots {
            let hidden = grants.exposed.iter().filter(|(_, other)| other == root);
            let hidden: Vec<_> = hidden.map(|(path, _)| path.as_path()).collect();
            let can = format!(
                "commands reach {} in {}, where they may write",
                list(&hidden),
                root.display()
            );
            self.missing(
                &can,
                "namespaces, or a workspace that does not contain them",
            );
        }
        if !policy.protect.is_empty() && policy.mode == Mode::Workspace {
            let paths: Vec<_> = policy.protect.iter().map(PathBuf::as_path).collect();
            let can = format!("commands change {} in the workspace", list(&paths));
            // Nobody asked for the default.
            match policy.protect == Policy::PROTECTED.map(PathBuf::from) {
                true => self.beyond(&can, "namespaces"),
                false => self.missing(&can, "namespaces"),
            }
        }
        self.beyond(
            "commands see that a path exists, and change mode, owner and times of the user's own files",
            "namespaces",
        );
        self.beyond(
            "commands share /dev/shm and terminals in /dev/pts with all processes of the user",
            "namespaces",
        );
        self.beyond(
            "commands see names and arguments of other processes, lower the priority of those of the user, and share System V \
             memory and message queues",
            "namespaces",
        );
    }

    fn refused(&mut self, grants: &Grants) {
        let refused: Vec<_> = grants.refused.iter().map(PathBuf::as_path).collect();
        if !refused.is_empty() {
            let text = format!("never granted, whatever names them: {}", list(&refused));
            self.held(&text);
        }
    }

    fn processes(&mut self, support: &Support) {
        match support.abi() {
            0 => {}
            SCOPES.. => {
                self.held("a command signals, traces and reads the memory of its own processes only, not of another command of its chat");
                self.held("commands reach no abstract socket of other processes");
            }
            _ => {
                self.held("a command traces and reads the memory of its own processes only, not of another command of its chat");
                self.missing(
                    "commands signal processes of the user and reach their abstract sockets",
                    "Linux 6.12 or newer",
                );
            }
        }
        match support.abi() {
            SOCKETS.. => {
                self.held("commands reach no socket with a path outside of where they may write")
            }
            _ if support.namespaces.is_ok() => self.beyond(
                "commands reach sockets with a path that is neither hidden nor in /run or /tmp, if the user may",
                "Linux 7.1 or newer",
            ),
            _ => self.beyond(
                "commands reach sockets with a path, such as docker.sock, if the user may",
                "namespaces, or Linux 7.1 or newer",
            ),
        }
    }

    fn calls(&mut self, policy: &Policy, support: &Support) {
        if support.seccomp.is_err() {
            let can = "commands can use every system call: they change the limits of other processes of the user, for example";
            self.missing(can, "seccomp");
            return;
        }
        self.held("no mounts, modules, BPF, io_uring, keys, raw sockets, input for terminals, or limits of other processes");
        match (policy.nested, support.abi()) {
            (false, _) => self.held("no namespaces"),
            (true, 0) => self.held("commands may make namespaces"),
            (true, _) => self.nested(),
        }
    }

    fn nested(&mut self) {
        self.held("commands may make namespaces, but nothing is mounted: Landlock refuses that in every namespace");
        if rustix::process::getuid().is_root() {
            self.missing(
                "commands of root make namespaces, but cannot map users in them",
                "another user for the host",
            );
        } else {
            let can = "commands make the kernel end other processes of the user first when memory runs out";
            self.beyond(can, "nested = false");
        }
    }

    fn network(&mut self, policy: &Policy, support: &Support) {
        match (&policy.network, &support.seccomp, support.abi()) {
            (Network::None, ..) if support.namespaces.is_ok() => {
                self.held("no network but the loopback interface of the chat");
            }
            (Network::Hosts(_), ..) if support.namespaces.is_ok() => {
                self.held("no network but the listed hosts, through a proxy, and the loopback interface of the chat");
            }
            (Network::All, ..) => {
                self.beyond(
                    "commands reach services of this machine and its network",
                    "network = \"none\"",
                );
            }
            (_, Err(_), ..4) => self.missing("commands reach the network", "seccomp"),
            (_, Err(_), _) => self.missing("commands use the network, but for TCP", "seccomp"),
            (Network::None, Ok(()), _) => self.held("no network"),
            (Network::Hosts(_), Ok(()), _) => {
                self.held("no network");
                self.missing(
                    "commands reach none of the listed hosts",
                    "network = \"all\"",
                );
            }
        }
    }

    fn limits(&mut self, policy: &Policy) {
        if policy.limits.processes.is_some() && rustix::process::getuid().is_root() {
            self.beyond(
                "commands of root start any number of processes, which the kernel counts for other users only",
                "a cgroup with pids.max, or another user",
            );
        }
        if policy.limits.memory.is_some() {
            self.beyond(
                "the limit of memory holds for each process, not for all of a command",
                "a cgroup with memory.max",
            );
        }
    }

    fn held(&mut self, text: &str) {
        self.held.push(text.to_owned());
    }

    fn missing(&mut self, can: &str, remedy: &str) {
        self.missing.push(Gap::new(can, remedy));
    }

    fn beyond(&mut self, can: &str, remedy: &str) {
        self.beyond.push(Gap::new(can, remedy));
    }
}

/// Returns the first paths as a text, and how many more there are.
fn list(paths: &[&Path]) -> String {
    let named = paths.iter().take(MOST_PATHS);
    let named: Vec<_> = named.map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(MOST_PATHS) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

impl Gap {
    fn new(can: &str, remedy: &str) -> Self {
        Self {
            can: can.to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.can)?;
        match self.remedy.as_str() {
            "" => Ok(()),
            remedy => write!(formatter, " (prevented by {remedy})"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in &self.held {
            writeln!(formatter, "held: {text}")?;
        }
        for gap in &self.missing {
            writeln!(formatter, "MISSING: {gap}")?;
        }
        for gap in &self.beyond {
            writeln!(formatter, "not held: {gap}")?;
        }
        Ok(())
    }
}
