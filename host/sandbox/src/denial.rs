//! Explanations of likely denials, from the error texts in the output of a command.
//!
//! The kernel reports a denial only to the program, as an error number. So this module looks for the texts of such errors in the output,
//! and looks each path in the same line up in the rules. A result can be wrong, because a program may print such a text for another reason.

mod repository;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::grants::{Grant, Rights};
use crate::network::Network;
use crate::plan::Plan;
use crate::policy::Mode;
use crate::view::View;
use toolhost_state::closed::Closed;
use toolhost_state::real_paths::by_names;

/// The most denials that are explained for one output.
const MOST: usize = 3;

/// The kind of failure of which a program tells.
#[derive(Clone, Copy)]
enum Failure {
    /// A socket cannot be reached.
    Socket,
    /// Nothing names the socket of an agent for keys.
    Agent,
    /// git found no repository.
    Repository,
    /// `EACCES`, `EPERM`, `EROFS` and, for protected paths, `EBUSY`.
    Refused,
    /// `ENOENT`. In namespaces, what commands were not given does not exist.
    Absent,
    /// A host cannot be reached.
    Unreached,
}

/// The texts in which programs tell of a failure. The first one that a line contains decides. Words are in lower case here, and in any case in a
/// line.
const FORMS: [(&str, Failure); 28] = [
    ("dial unix", Failure::Socket),
    ("daemon at unix:", Failure::Socket),
    ("on socket \"", Failure::Socket),
    ("through socket '", Failure::Socket),
    (
        "open a connection to your authentication agent",
        Failure::Agent,
    ),
    (repository::TEXT, Failure::Repository),
    ("permission denied", Failure::Refused),
    ("operation not permitted", Failure::Refused),
    ("read-only file system", Failure::Refused),
    ("device or resource busy", Failure::Refused),
    ("EACCES", Failure::Refused),
    ("EPERM", Failure::Refused),
    ("EROFS", Failure::Refused),
    ("EBUSY", Failure::Refused),
    ("no such file or directory", Failure::Absent),
    // dash
    ("directory nonexistent", Failure::Absent),
    ("ENOENT", Failure::Absent),
    ("connect tunnel failed", Failure::Unreached),
    ("tunnel connection failed", Failure::Unreached),
    ("could not resolve host", Failure::Unreached),
    ("temporary failure in name resolution", Failure::Unreached),
    ("name or service not known", Failure::Unreached),
    ("no such host", Failure::Unreached),
    ("network is unreachable", Failure::Unreached),
    ("ENETUNREACH", Failure::Unreached),
    ("EAI_AGAIN", Failure::Unreached),
    ("ENOTFOUND", Failure::Unreached),
    ("failed to lookup address information", Failure::Unreached),
];

/// What programs say they failed to do, if that was to write.
const WRITES: [&str; 12] = [
    "read-only file system",
    "EROFS",
    "cannot create",
    "cannot touch",
    "cannot remove",
    "cannot move",
    "cannot make",
    "could not lock",
    "could not create",
    "could not open lock",
    "unable to create",
    "failed to create",
];

/// How an error of bash about a redirection begins.
const OF_BASH: &str = "bash: line ";

/// The rules of a sandbox, as far as explanations need them.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    granted: Vec<Grant>,
    /// `None`: there is no sandbox.
    never: Option<Closed>,
    /// Whether what is not granted is not there.
    has_view: bool,
    /// The closed paths that are empty in the view.
    hidden: Vec<PathBuf>,
    /// The protected paths, absolute.
    protected: Vec<PathBuf>,
    /// The protected paths as in the policy: relative to the workspace.
    protect: Vec<PathBuf>,
    workspace: Vec<PathBuf>,
    network: Network,
    is_read_only: bool,
}

impl Rules {
    /// Makes the rules of a plan from those of Landlock, or from the view in which commands run.
    pub(crate) fn new(plan: Plan<'_>, landlock: Vec<Grant>, view: Option<&View>) -> Self {
        let Plan {
            policy,
            places,
            grants,
        } = plan;
        let roots = &places.workspace;
        let protect = policy.protect.iter().filter(|_| view.is_some());
        let protected = protect
            .clone()
            .flat_map(|path| roots.iter().map(move |root| root.join(path)));
        let granted: Vec<_> = match view {
            Some(view) => view.shown().collect(),
            None => landlock,
        };
        Self {
            granted,
            never: Some(grants.never),
            has_view: view.is_some(),
            hidden: view.map_or_else(Vec::new, View::hidden),
            protected: protected.collect(),
            protect: protect.cloned().collect(),
            workspace: roots.clone(),
            network: policy.network.clone(),
            is_read_only: policy.mode == Mode::ReadOnly,
        }
    }

    /// Returns a sentence for each of the first denials that an output suggests.
    pub(crate) fn denials(&self, output: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(output);
        if self.never.is_none() {
            // There is no sandbox.
            return Vec::new();
        }
        let mut all = BTreeSet::new();
        for line in text.lines() {
            let lower = line.to_lowercase();
            let has = |form: &str| line.contains(form) || lower.contains(form);
            let access = match line.starts_with(OF_BASH) {
                _ if WRITES.iter().any(|form| has(form)) => Access::Write,
                true => Access::Any,
                false => Access::Read,
            };
            let found = FORMS.iter().find(|(form, _)| has(form));
            match found.map(|(_, failure)| failure) {
                Some(Failure::Socket) => {
                    all.extend(paths(line).filter_map(|path| self.of_socket(&path)));
                }
                Some(Failure::Agent) => all.extend(self.of_agent()),
                Some(Failure::Repository) => all.extend(self.of_repository()),
                Some(Failure::Refused) => {
                    all.extend(paths(line).filter_map(|path| self.of_path(&path, access)));
                    all.extend(self.of_relative_path(line));
                }
                Some(Failure::Absent) => {
                    all.extend(paths(line).filter_map(|path| self.of_absent(&path, access)));
                }
                Some(Failure::Unreached) => all.extend(self.of_network()),
                None => {}
            }
            if all.len() >= MOST {
                break;
            }
        }
        all.into_iter().take(MOST).collect()
    }

    fn of_path(&self, path: &Path, access: Access) -> Option<String> {
        let below = |root: &PathBuf| path.starts_with(root);
        let shown = path.display();
        if self.protected.iter().any(below) {
            return Some(protected(path));
        }
        if self.is_closed(path) {
            return Some(closed(path));
        }
        // gdb says so of a program that it debugs all the same.
        if path.starts_with("/proc/PID") {
            return None;
        }
        if is_of_process(path) {
            return Some(format!(
                "{shown} belongs to a process that is not of this command"
            ));
        }
        match self.rights(path) {
            Some(Rights::Write | Rights::Device | Rights::Socket) => None,
            Some(Rights::Read) if self.is_read_only && self.workspace.iter().any(below) => {
                Some(format!(
                    "commands may read {shown}, and write only into $TMPDIR (mode = \"read-only\")"
                ))
            }
            Some(Rights::Read | Rights::Lent) => Some(format!(
                "commands may read {shown}, but not write it (write)"
            )),
            Some(Rights::List) | None => Some(outside(path, access)),
        }
    }

    /// Explains why a path does not exist.
    fn of_absent(&self, path: &Path, access: Access) -> Option<String> {
        let never = self.never.as_ref();
        if never.is_some_and(|never| never.covers(path)) {
            return Some(closed(path));
        }
        let is_outside = self.has_view && self.rights(path).is_none();
        is_outside.then(|| absent(path, access))
    }

    /// Explains why a socket cannot be reached. Without a view, the sandbox is no reason.
    fn of_socket(&self, path: &Path) -> Option<String> {
        let is_given = matches!(self.rights(path), Some(Rights::Socket | Rights::Write));
        (self.has_view && !is_given).then(|| {
            format!(
                "{} is no socket that commands were given (socket)",
                path.display()
            )
        })
    }

    /// Explains why there is no agent for keys.
    fn of_agent(&self) -> Option<String> {
        let has_socket = self
            .granted
            .iter()
            .any(|grant| grant.rights == Rights::Socket);
        (!has_socket).then(|| {
            "commands were given no socket of an agent for keys (socket = [\"SSH_AUTH_SOCK\"])"
                .to_owned()
        })
    }

    /// Returns whether a path is closed to commands. In a view, a closed path of the user's home is one of the home of the workspace.
    fn is_closed(&self, path: &Path) -> bool {
        let is_hidden = || self.hidden.iter().any(|hidden| path.starts_with(hidden));
        let is_shown = || self.has_view && self.rights(path).is_some() && !is_hidden();
        let never = self.never.as_ref();
        never.is_some_and(|never| never.covers(path)) && !is_shown()
    }

    /// Returns what commands may do at a path: the grant of the deepest directory decides.
    fn rights(&self, path: &Path) -> Option<Rights> {
        let covering = self.granted.iter();
        let covering = covering.filter(|grant| path.starts_with(&grant.path));
        let nearest = covering.max_by_key(|grant| grant.path.components().count());
        nearest.map(|grant| grant.rights)
    }

    /// Explains a line that contains one of the protected relative paths. Other relative paths cannot be explained, because their
    /// directory is unknown.
    fn of_relative_path(&self, line: &str) -> Option<String> {
        let mut protect = self.protect.iter();
        let path = protect.find(|path| {
            let text = path.to_string_lossy();
            [" ", "'", "\"", "\u{2018}"]
                .iter()
                .any(|before| line.contains(&format!("{before}{text}")))
        })?;
        Some(protected(path))
    }

    /// Explains why git finds no repository.
    fn of_repository(&self) -> Option<String> {
        let mut workspace = self.workspace.iter();
        let path = workspace.find_map(|workspace| repository::outside(workspace))?;
        let is_given = matches!(self.rights(&path), Some(Rights::Write | Rights::Lent));
        (!is_given).then(|| {
            format!(
                "git needs {}, which is outside of what commands may write (write)",
                path.display()
            )
        })
    }

    fn of_network(&self) -> Option<String> {
        match &self.network {
            Network::All => None,
            Network::None => Some("commands have no network (network = \"none\")".to_owned()),
            Network::Hosts(hosts) => Some(format!(
                "commands reach only these hosts, where they have a public address, through the proxy that HTTP_PROXY names, and cannot \
                 resolve names: {} (network)",
                named(hosts)
            )),
        }
    }
}

/// Names the first hosts of a list.
fn named(hosts: &[String]) -> String {
    const NAMED: usize = 8;
    let more = match hosts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = hosts.get(..hosts.len().min(NAMED)).unwrap_or_default();
    format!("{}{more}", named.join(", "))
}

fn protected(path: &Path) -> String {
    let path = path.display();
    format!("{path} is protected: commands may only read it (protect)")
}

/// The access of a command to a path.
#[derive(Clone, Copy)]
enum Access {
    Write,
    Read,
    /// bash says the same of a file that it cannot read, write or execute.
    Any,
}

impl Access {
    /// Returns the access as a verb, and the rules that give it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Write => ("write", "write"),
            Self::Read => ("read", "read"),
            Self::Any => ("reach", "read, write"),
        }
    }
}

fn outside(path: &Path, access: Access) -> String {
    let (verb, rules) = access.words();
    let path = path.display();
    format!("{path} is outside of what commands may {verb} ({rules})")
}

/// Says nothing of whether the path exists on this machine, which commands are not to know.
fn absent(path: &Path, access: Access) -> String {
    let (_, rules) = access.words();
    let path = path.display();
    format!("{path} does not exist, or was not given to commands ({rules})")
}

fn closed(path: &Path) -> String {
    format!("{} is closed to commands (never)", path.display())
}

/// Returns the absolute paths in a line of text, without `.` and `..`.
fn paths(line: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let before = |at: usize| line.get(..at).and_then(|before| before.chars().next_back());
    let is_before = |char: char| char.is_whitespace() || "'\"`\u{2018}(:=[".contains(char);
    let starts = line
        .match_indices('/')
        .filter(move |(at, _)| before(*at).is_none_or(is_before));
    starts.filter_map(move |(at, _)| {
        let rest = line.get(at..)?;
        let quote = match before(at) {
            Some('\u{2018}') => Some('\u{2019}'),
            char => char.filter(|char| "'\"`".contains(*char)),
        };
        let is_end = |character: char| match quote {
            Some(quote) => character == quote,
            None => character.is_whitespace() || "'\"`),:;]".contains(character),
        };
        let path = rest.split(is_end).next()?;
        // The path may end a sentence.
        let path = match path.strip_suffix('.') {
            Some(path) if !path.ends_with(['/', '.']) => path,
            _ => path,
        };
        Some(by_names(Path::new(path)))
    })
}

/// Returns whether a path is in the directory of a process.
fn is_of_process(path: &Path) -> bool {
    let rest = path.strip_prefix("/proc").ok();
    let first = rest.and_then(|rest| rest.components().next());
    first.is_some_and(|first| {
        first
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Places;
    use crate::policy::Policy;

    fn rules(policy: &Policy) -> Rules {
        let places = Places {
            workspace: vec!["/tmp".into()],
            read: vec!["/usr".into(), "/proc".into()],
            never: vec!["/root/.ssh".into()],
            ..Places::default()
        };
        let plan = Plan::new(policy, &places);
        let view = View::of(&plan, Path::new("/nowhere"));
        Rules::new(plan, Vec::new(), Some(&view))
    }

    #[test]
    fn a_denial_names_the_path_and_the_rule() {
        let policy = Policy {
            protect: vec![".git/hooks".into()],
            ..Policy::default()
        };
        let rules = rules(&policy);
        for (line, expected) in [
            (
                "cat: /root/.ssh/id: Permission denied",
                Some("/root/.ssh/id is closed to commands (never)"),
            ),
            (
                "touch: cannot touch '/usr/a b': Permission denied",
                Some("commands may read /usr/a b, but not write it (write)"),
            ),
            (
                "cat: /proc/12/environ: Permission denied",
                Some("/proc/12/environ belongs to a process that is not of this command"),
            ),
            (
                "sh: 1: cannot create /proc/sys/kernel/core_pattern: Permission denied",
                Some("commands may read /proc/sys/kernel/core_pattern, but not write it (write)"),
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/srv/x'",
                Some("/srv/x is outside of what commands may read (read)"),
            ),
            (
                "sh: 1: cannot create /usr/../srv/x: Permission denied",
                Some("/srv/x is outside of what commands may write (write)"),
            ),
            (
                "mkdir: cannot create directory \u{2018}/srv/a b\u{2019}: Permission denied",
                Some("/srv/a b is outside of what commands may write (write)"),
            ),
            (
                "error: could not lock config file /srv/.gitconfig: Read-only file system",
                Some("/srv/.gitconfig is outside of what commands may write (write)"),
            ),
            (
                "touch: cannot touch '/srv/x': Permission denied",
                Some("/srv/x is outside of what commands may write (write)"),
            ),
            (
                "sh: 1: cannot create /tmp/.git/hooks/x: Read-only file system",
                Some("/tmp/.git/hooks/x is protected: commands may only read it (protect)"),
            ),
            (
                "sh: 1: cannot create .git/hooks/x: Read-only file system",
                Some(".git/hooks is protected: commands may only read it (protect)"),
            ),
            // The workspace can be written, so it was not the sandbox.
            ("cat: /tmp/file: Permission denied", None),
            (
                "cat: /root/.ssh/id: No such file or directory",
                Some("/root/.ssh/id is closed to commands (never)"),
            ),
            (
                "cat: /srv/x: No such file or directory",
                Some("/srv/x does not exist, or was not given to commands (read)"),
            ),
            (
                "sh: 1: cannot create /srv/x: Directory nonexistent",
                Some("/srv/x does not exist, or was not given to commands (write)"),
            ),
            (
                "bash: line 1: /srv/x: No such file or directory",
                Some("/srv/x does not exist, or was not given to commands (read, write)"),
            ),
            ("cat: /usr/x: No such file or directory", None),
            (
                "warning: opening /proc/PID/mem file for lwp 5.5 failed: Permission denied (13)",
                None,
            ),
            (
                "mv: cannot move \u{2018}.git/hooks\u{2019} to \u{2018}x\u{2019}: Device or resource busy",
                Some(".git/hooks is protected: commands may only read it (protect)"),
            ),
            (
                "open /srv/x: permission denied",
                Some("/srv/x is outside of what commands may read (read)"),
            ),
            (
                "failed to connect to the docker API at unix:///run/docker.sock: dial unix /run/docker.sock: connect: no such file or directory",
                Some("/run/docker.sock is no socket that commands were given (socket)"),
            ),
            (
                "Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?",
                Some("/run/docker.sock is no socket that commands were given (socket)"),
            ),
            (
                "connection to server on socket \"/run/postgresql/.s.PGSQL.5432\" failed: No such file or directory",
                Some(
                    "/run/postgresql/.s.PGSQL.5432 is no socket that commands were given (socket)",
                ),
            ),
            (
                "ls: cannot access '/srv/x/..': Permission denied",
                Some("/srv is outside of what commands may read (read)"),
            ),
            ("dial unix /tmp/own: connect: connection refused", None),
            (
                "Could not open a connection to your authentication agent.",
                Some(
                    "commands were given no socket of an agent for keys (socket = [\"SSH_AUTH_SOCK\"])",
                ),
            ),
            ("curl: (6) Could not resolve host: a.example", None),
            ("Permission denied", None),
        ] {
            let denials = rules.denials(line.as_bytes());
            let expected: Vec<_> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(denials, expected, "{line}");
        }
    }

    #[test]
    fn each_form_is_found() {
        let policy = Policy {
            network: Network::None,
            ..Policy::default()
        };
        let rules = rules(&policy);
        for (form, failure) in FORMS {
            let line = format!("program: '/srv/x': {form}'/srv/x'");
            let is_explained = !rules.denials(line.as_bytes()).is_empty();
            // That depends on the files around the workspace.
            let is_of_files = matches!(failure, Failure::Repository);
            assert!(is_explained || is_of_files, "{form}");
        }
    }

    #[test]
    fn other_policies_have_other_rules() {
        let line = b"sh: cannot create /tmp/x: Permission denied\ncurl: (6) Could not resolve host: a.example\n";
        let none = Policy {
            mode: Mode::ReadOnly,
            network: Network::None,
            ..Policy::default()
        };
        let denials = rules(&none).denials(line);
        let hosts = Policy {
            network: "github.com".parse().unwrap(),
            ..Policy::default()
        };
        let tunnel = b"curl: (56) CONNECT tunnel failed, response 403\n";
        assert_eq!(rules(&hosts).denials(tunnel).len(), 1);
        assert_eq!(rules(&Policy::default()).denials(tunnel).len(), 0);
        assert_eq!(
            denials,
            [
                "commands have no network (network = \"none\")",
                "commands may read /tmp/x, and write only into $TMPDIR (mode = \"read-only\")",
            ]
        );
        assert!(Rules::default().denials(line).is_empty());
    }

    #[test]
    fn a_flood_of_denials_is_cut() {
        let lines: String = (0..1000)
            .map(|number| format!("cat: /srv/{number}: Permission denied\n"))
            .collect();
        assert_eq!(
            rules(&Policy::default()).denials(lines.as_bytes()).len(),
            MOST
        );
    }
}
