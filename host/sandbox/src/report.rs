//! The report of a sandbox: what it enforces and what it does not, in sentences for an operator.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::grants::{Grants, Rights};
use crate::network::Network;
use crate::places::Places;
use crate::policy::{Mode, Policy};
use crate::support::{SCOPES, SOCKETS, Support};
use crate::view::unprotected;

/// A report of what a sandbox enforces and what it does not. `Display` writes a line for each part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The paths that commands may write, with everything below.
    pub write: Vec<PathBuf>,
    /// The paths that commands may only read and execute, with everything below.
    pub read: Vec<PathBuf>,
    /// The sockets to which commands may connect.
    pub sockets: Vec<PathBuf>,
    /// The restrictions that the sandbox enforces.
    pub held: Vec<String>,
    /// Parts of the policy that the sandbox does not enforce. If the policy is `required`, any of these is an error.
    pub missing: Vec<Gap>,
    /// Gaps that are no part of the policy, because these layers cannot close them.
    pub beyond: Vec<Gap>,
}

/// Something that commands can do in spite of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What commands can do, as a sentence.
    pub can: String,
    /// What would prevent it; empty if nothing would.
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
            let granted = grants.granted.iter();
            let granted = granted.filter(move |grant| grant.rights == rights);
            granted.map(|grant| grant.path.clone()).collect()
        };
        let mut report = Self {
            write: paths(Rights::Write),
            read: paths(Rights::Read),
            sockets: paths(Rights::Socket),
            ..Self::default()
        };
        report.held("setuid programs and file capabilities give no privileges");
        if support.landlock.is_ok() {
            report.files(policy);
            match support.namespaces.is_ok() {
                true => report.view(policy, places),
                false => report.without_view(policy, grants),
            }
            report.refused(grants);
        } else {
            report.missing(
                "commands can reach all files and processes of the host's user",
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
            _ => "commands write only into the workspace, its home and their temporary directories",
        });
        self.held("commands read only those, the system, toolchains and what the policy names");
    }

    /// Adds what namespaces enforce.
    fn view(&mut self, policy: &Policy, places: &Places) {
        self.held("commands see no other files, not even their names");
        self.held("commands see only processes of their own chat, and share memory, terminals and temporary files with no other chat");
        self.held("closed paths are empty for commands, also in the workspace");
        self.held("commands change no mode, owner or time of a file that they cannot write");
        let protected = !policy.protect.is_empty() && policy.mode == Mode::Workspace;
        if protected && policy.protect != unprotected(policy, places) {
            self.held("commands cannot change the protected paths of the workspace that exist");
        }
        let made = unprotected(policy, places);
        if protected && !made.is_empty() {
            let made: Vec<_> = made.iter().map(PathBuf::as_path).collect();
            let can = format!(
                "commands can make {} in the workspace, which do not exist and so are not protected",
                list(&made)
            );
            self.beyond(&can, "files or directories of these names");
        }
    }

    fn without_view(&mut self, policy: &Policy, grants: &Grants) {
        let mut roots: Vec<_> = grants.exposed().map(|(_, root)| root).collect();
        roots.dedup();
        for root in roots {
            let hidden = grants.exposed().filter(|(_, other)| *other == root);
            let hidden: Vec<_> = hidden.map(|(path, _)| path).collect();
            let can = format!(
                "commands can reach {} in {}, which they may write",
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
            let can = format!("commands can change {} in the workspace", list(&paths));
            // The operator did not ask for the default, so it is not part of a `required` policy.
            match policy.protect == Policy::PROTECTED.map(PathBuf::from) {
                true => self.beyond(&can, "namespaces"),
                false => self.missing(&can, "namespaces"),
            }
        }
        self.beyond(
            "commands can see whether a path exists, and change mode, owner and times of the user's own files",
            "namespaces",
        );
        self.beyond(
            "commands share /dev/shm and terminals in /dev/pts with all processes of the user",
            "namespaces",
        );
        self.beyond(
            "commands can see names and arguments of other processes, lower the priority of the user's processes, and share System V \
             memory and message queues with them",
            "namespaces",
        );
    }

    fn refused(&mut self, grants: &Grants) {
        let refused: Vec<_> = grants.refused.iter().map(PathBuf::as_path).collect();
        if !refused.is_empty() {
            let text = format!(
                "these paths are never granted, although the policy names them: {}",
                list(&refused)
            );
            self.held(&text);
        }
    }

    fn processes(&mut self, support: &Support) {
        match support.abi() {
            0 => {}
            SCOPES.. => {
                self.held("a command can signal and trace only its own processes, and read only their memory, not that of another command of its chat");
                self.held("commands reach no abstract socket of other processes");
            }
            _ => {
                self.held("a command can trace only its own processes, and read only their memory, not that of another command of its chat");
                self.missing(
                    "commands can signal processes of the user and reach their abstract sockets",
                    "Linux 6.12 or newer",
                );
            }
        }
        match support.abi() {
            SOCKETS.. => {
                self.held("commands reach Unix sockets only at paths that they may write")
            }
            _ if support.namespaces.is_ok() => self.beyond(
                "commands can reach Unix sockets at paths that are neither hidden nor in /run or /tmp, if the user may",
                "Linux 7.1 or newer",
            ),
            _ => self.beyond(
                "commands can reach Unix sockets with a path, such as docker.sock, if the user may",
                "namespaces, or Linux 7.1 or newer",
            ),
        }
    }

    fn calls(&mut self, policy: &Policy, support: &Support) {
        if support.seccomp.is_err() {
            let can = "commands can use every system call, for example to change the limits of other processes of the user";
            self.missing(can, "seccomp");
            return;
        }
        self.held("commands cannot use mounts, modules, BPF, io_uring, keys or raw sockets, put input into terminals, or change limits of other processes");
        match (policy.nested, support.abi()) {
            (false, _) => self.held("commands cannot make namespaces"),
            (true, 0) => self.held("commands may make namespaces"),
            (true, _) => self.nested(),
        }
    }

    fn nested(&mut self) {
        self.held("commands may make namespaces, but cannot mount anything in them: Landlock refuses mounts in every namespace");
        if rustix::process::getuid().is_root() {
            self.missing(
                "commands of root can make namespaces, but cannot map users in them",
                "another user for the host",
            );
        } else {
            let can = "when memory runs out, commands can make the kernel kill other processes of the user first";
            self.beyond(can, "nested = false");
        }
    }

    fn network(&mut self, policy: &Policy, support: &Support) {
        match (&policy.network, &support.seccomp, support.abi()) {
            (Network::None, ..) if support.namespaces.is_ok() => {
                self.held("commands have no network, except the loopback interface of the chat");
            }
            (Network::Hosts(_), ..) if support.namespaces.is_ok() => {
                self.held("commands reach only the listed hosts, through a proxy, and the loopback interface of the chat");
            }
            (Network::All, ..) => {
                self.beyond(
                    "commands can reach services of this machine and its network",
                    "network = \"none\"",
                );
            }
            (_, Err(_), ..4) => self.missing("commands can reach the network", "seccomp"),
            (_, Err(_), _) => {
                self.missing("commands can use the network, except for TCP", "seccomp")
            }
            (Network::None, Ok(()), _) => self.held("commands have no network"),
            (Network::Hosts(_), Ok(()), _) => {
                self.held("commands have no network");
                self.missing(
                    "commands cannot reach the listed hosts",
                    "network = \"all\"",
                );
            }
        }
    }

    fn limits(&mut self, policy: &Policy) {
        if policy.limits.processes.is_some() && rustix::process::getuid().is_root() {
            self.beyond(
                "commands of root can start any number of processes, because the kernel limits them for other users only",
                "a cgroup with pids.max, or another user",
            );
        }
        if policy.limits.memory.is_some() {
            self.beyond(
                "the memory limit applies to each process, not to a command as a whole",
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
            remedy => write!(formatter, " (remedy: {remedy})"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in &self.held {
            writeln!(formatter, "enforced: {text}")?;
        }
        for gap in &self.missing {
            writeln!(formatter, "MISSING: {gap}")?;
        }
        for gap in &self.beyond {
            writeln!(formatter, "not enforced: {gap}")?;
        }
        Ok(())
    }
}
