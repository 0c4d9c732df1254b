//! The configuration of a registry.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::confinement::Common;
use crate::process::{Environment, SaveLimits, Shell, Spawner};
use toolhost_sandbox::{Policy, PrepareError, Sandbox};
use toolhost_state::{closed::Closed, home};
use toolhost_store::StoreError;

/// The configuration of a registry.
#[derive(Debug)]
pub struct Config {
    /// The workspace in which commands run unless their start names another, absolute.
    pub workspace: PathBuf,
    /// The part of this host's environment that commands get.
    pub environment: Environment,
    /// The limits of each chat.
    pub limits: Limits,
    /// How much output is saved.
    pub save_limits: SaveLimits,
    /// The program that forks a supervisor for every command; `None`: plain process groups.
    pub spawner: Option<Spawner>,
    /// The shell that runs commands; `None`: bash if there is one, and else `sh`. The usual directories are searched, and then the PATH of
    /// commands.
    pub shell: Option<Shell>,
    /// What commands may do. Only a spawner can confine them.
    pub sandbox: Policy,
    /// The paths that neither commands nor the tools for files may reach, besides those of the policy. The default is the credentials of
    /// the user. [`Local::open`](crate::Local::open) adds the directory of its state.
    pub closed: Closed,
    /// Lets live commands run on when this host ends, in whatever way, until the next host of the same state takes them over. If none has
    /// come after this time, they are ended. `None`: commands end with the host. Needs a spawner, and a state that outlives the host.
    ///
    /// Commands that were taken over move along from the first [`Registry::subscribe`](super::Registry::subscribe) on, or after 30 s.
    pub keep: Option<Duration>,
}

/// A reason why a registry cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store of processes cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The saved outputs cannot be used.
    #[error("the saved outputs cannot be used")]
    Saved(#[source] std::io::Error),
    /// The configuration asks for bash, and there is none.
    #[error(
        "commands cannot run in bash: neither /bin, /usr/bin nor the PATH of commands has a bash that can be executed; install it, or \
         choose --shell auto or sh"
    )]
    NoBash,
    /// The commands of the workspace cannot be confined.
    #[error(transparent)]
    Sandbox(#[from] PrepareError),
    /// Commands cannot be kept when this host ends. The text is the reason.
    #[error("commands cannot be kept: {0}")]
    Keep(String),
    /// The files of commands that an earlier host kept cannot be used.
    #[error("commands of an earlier host cannot be taken over")]
    TakeOver(#[source] std::io::Error),
    /// The host failed.
    #[error("the host failed: {0}")]
    Failed(String),
}

/// The limits of a chat, and the retention of its processes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most processes of one chat that run or linger at once; 32 by default.
    pub live_per_chat: usize,
    /// How long the output of an ended process stays in memory; 5 minutes by default. After that it is read from the saved copy.
    pub memory: Duration,
    /// The most output of ended processes in memory, over all chats, in bytes; 64 MiB by default. Beyond that, outputs that are
    /// saved completely are freed at once, the oldest first.
    pub memory_total: usize,
    /// The most ended processes of one chat whose output is kept; 256 by default.
    pub ended_per_chat: usize,
    /// How long the output of an ended process is kept; 24 hours by default. After that only its state is known.
    pub retention: Duration,
    /// The most ended processes of one chat whose state is known; 1,024 by default.
    pub known_per_chat: usize,
    /// How long the state of an ended process is known in a chat that is idle; 48 hours by default, which is twice as long
    /// as its output is kept.
    pub known: Duration,
    /// A chat is idle if for this time no caller asks for it or waits for one of its processes. The processes of an idle chat
    /// are ended; 24 hours by default.
    pub idle_chat: Duration,
    /// How long no command of a chat has run before the namespaces of the chat end, with their first process; 5 minutes by default.
    /// The next command makes them again. They stay if the chat has files in its shared memory.
    pub idle_sandbox: Duration,
    /// The most output of one process in bytes, after which it is killed; 5 GiB by default.
    pub output: u64,
    /// The time from SIGTERM to SIGKILL, unless the caller says otherwise; 5 s by default.
    pub grace: Duration,
    /// The number added to the niceness of commands; 5 by default. Needs a spawner.
    pub nice: i32,
    /// The least `oom_score_adj` of commands, from -1000 to 1000; 500 by default. Needs a spawner.
    pub oom_score_adj: i32,
}

impl Default for Limits {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            live_per_chat: 32,
            memory: Duration::from_secs(5 * 60),
            memory_total: 64 << 20,
            ended_per_chat: 256,
            retention: DAY,
            known_per_chat: 1024,
            known: 2 * DAY,
            idle_chat: DAY,
            idle_sandbox: Duration::from_secs(5 * 60),
            output: 5 << 30,
            grace: Duration::from_secs(5),
            nice: 5,
            oom_score_adj: 500,
        }
    }
}

impl Config {
    /// Returns a configuration with the defaults, and the environment of this process.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            environment: Environment::inherit(),
            limits: Limits::default(),
            save_limits: SaveLimits::default(),
            spawner: None,
            shell: None,
            sandbox: Policy::default(),
            closed: credentials(),
            keep: None,
        }
    }

    /// Makes the sandbox of commands for its report. The caller is within a tokio runtime.
    ///
    /// # Errors
    ///
    /// If the policy cannot be applied.
    pub fn prepare_sandbox(&self) -> Result<Sandbox, PrepareError> {
        self.common().prepare(&self.workspace)
    }

    pub(in crate::process) fn common(&self) -> Common {
        let spawner = self.spawner.as_ref();
        Common::new(
            self.sandbox.clone(),
            &self.closed,
            &self.environment,
            spawner,
        )
    }
}

/// Returns the credentials of the user that runs this process: those below `HOME`, and those below the home that the system knows.
fn credentials() -> Closed {
    let variables: Vec<_> = std::env::vars_os().collect();
    let variables = variables.iter();
    let own = variables.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let paths = toolhost_sandbox::credentials(own);
    let known = home::of_system();
    let known = known
        .iter()
        .map(|home| (OsStr::new("HOME"), home.as_os_str()));
    Closed::new(
        paths
            .into_iter()
            .chain(toolhost_sandbox::credentials(known)),
    )
}
