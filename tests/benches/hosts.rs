//! A host as a server is one: it keeps its calls in a store, has an audit trail and every limit, and its commands have supervisors.
//! They run in `sh`, as those that it is compared with: bash, which a host takes where it can, needs 0.9 ms longer for `true`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use toolhost_call::audit::{self, Audit};
use toolhost_call::call::Durability;
use toolhost_call::metrics::Metrics;
use toolhost_core::{Arguments, Builder, CallId, Host, Request};
use toolhost_local::process::{Config, Limits, Spawner};
use toolhost_state::state_dir::StateDir;
use toolhost_workspace::process::Shell;

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_toolhost"))
}

pub(crate) fn spawner() -> Spawner {
    Spawner::start_without_cgroup(program()).expect("the spawner starts")
}

/// Returns a new directory below another one.
pub(crate) fn directory(base: &Path) -> PathBuf {
    let made = tempfile::tempdir_in(base).expect("there is a place");
    made.keep()
}

/// A host in a new directory below this one.
pub(crate) fn host(base: &Path, spawner: Option<Spawner>) -> Builder {
    let base = directory(base);
    let workspace = base.join("workspace");
    std::fs::create_dir(&workspace).expect("it is ours");
    host_in(&base, &workspace, spawner)
}

/// A host of this workspace, which keeps its state in the first directory.
pub(crate) fn host_in(base: &Path, workspace: &Path, spawner: Option<Spawner>) -> Builder {
    let metrics = Metrics::default();
    let trail = StateDir::open(&base.join("audit")).expect("it is ours");
    let audit = Audit::open(trail, &audit::Config::default(), &metrics).expect("it is ours");
    let processes = Config {
        limits: Limits {
            live_per_chat: 10_000,
            ..Limits::default()
        },
        spawner,
        shell: Some(Shell::Sh),
        ..Config::new(workspace)
    };
    Host::builder(workspace)
        .processes(processes)
        .keep(base.join("state"))
        .expect("it is ours")
        .durability(Durability::Host)
        .metrics(metrics)
        .audit(audit)
}

/// Calls a tool, which must not fail, and returns how long that takes for a task of the runtime, as a server's are: a thread outside
/// of the runtime waits for two more threads to be woken.
pub(crate) async fn call(host: &Host, chat: &str, tool: &str, arguments: &Value) -> Duration {
    let (host, request) = (host.clone(), request(chat, tool, arguments));
    let task = tokio::spawn(async move {
        let begun = Instant::now();
        let outcome = host.call(request).await.expect("the host takes the call");
        let time = begun.elapsed();
        assert!(!outcome.is_error(), "{outcome:?}");
        time
    });
    task.await.expect("the call does not panic")
}

pub(crate) fn request(chat: &str, tool: &str, arguments: &Value) -> Request {
    Request::new(
        chat.parse().expect("it is a chat id"),
        CallId::random(),
        tool,
        Arguments::parse(&arguments.to_string()).expect("they are arguments"),
    )
}
