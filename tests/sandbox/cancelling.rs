//! Calls that nobody waits for any more, at any moment: the host goes on, and what they held is free again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolhost_call::tool::ErrorKind;
use toolhost_core::CallError;
use toolhost_local::Local;
use toolhost_local::{files, process};
use toolhost_plugin::{Context, Engine, Limits, Plugin};
use toolhost_workspace::Workspace;

use super::contained::End;
use crate::guest::{guest, limited};
use crate::harness::processes::temporary;
use crate::harness::{PATIENCE, Setup, request, spawner, until, without_namespaces};

/// A light guest, one that computes, three that wait in different ways, and one that writes.
const GUESTS: [&str; 6] = [
    "well_behaved",
    "endless_loop",
    "endless_wait",
    "endless_sleep",
    "slow_drip",
    "file_writer",
];

const ROUNDS: usize = 1000;

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// How a call is given up.
#[derive(Clone, Copy, Debug)]
enum Way {
    Drop,
    Cancel,
    CancelAndDrop,
    NeverPoll,
}

struct Bench {
    plugins: Vec<Arc<Plugin>>,
    workspace: Arc<Local>,
    _directory: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let processes = process::Config {
            spawner: Some(spawner()),
            sandbox: without_namespaces(),
            ..process::Config::new(directory.path())
        };
        let (files, state) = (files::Config::new(directory.path()), temporary());
        let workspace = Local::open(processes, files, &state);
        let workspace = workspace.await.unwrap();
        let engine = Engine::new(None).unwrap();
        let limits = Limits {
            cancel_grace: Duration::from_millis(5),
            calls_per_chat: 64,
            ..Limits::default()
        };
        let mut plugins = Vec::new();
        for name in GUESTS {
            let options = limited(name, limits.clone());
            plugins.push(Plugin::load(&engine, &guest(name), options).await.unwrap());
        }
        Self {
            plugins,
            workspace: Arc::new(workspace),
            _directory: directory,
        }
    }

    /// Begins a call of one of the plugins.
    fn call(
        &self,
        plugin: usize,
        arguments: &Value,
        cancelled: CancellationToken,
    ) -> impl Future<Output = toolhost_core::Outcome> + use<> {
        let plugin = Arc::clone(&self.plugins[plugin]);
        let admitted = plugin.admit(&"chat".parse().unwrap()).unwrap();
        let context = Context {
            is_resumed: false,
            workspace: Arc::clone(&self.workspace) as Arc<dyn Workspace>,
            max_wait: None,
            approval: toolhost_call::approval::Approval::default(),
            cancelled,
            events: toolhost_call::events::Events::default(),
            notices: None,
            sharing: None,
            nested: None,
            answers: None,
        };
        let request = Arc::new(request("chat", "t", arguments));
        async move {
            let ran = plugin.call(admitted, "t", request, context).await;
            ran.expect("the machine has room")
        }
    }

    /// Calls one of the plugins and gives the call up at some moment.
    async fn give_up(&self, plugin: usize, way: Way, after: Duration) {
        let cancelled = CancellationToken::new();
        let mut call = Box::pin(self.call(plugin, &json!({}), cancelled.clone()));
        if matches!(way, Way::NeverPoll) {
            return;
        }
        // The moment is what is random here; nothing waits for it.
        if let Ok(outcome) = tokio::time::timeout(after, &mut call).await {
            // One that was refused its process, as others left theirs, uses what is no handle.
            let kind = outcome.result.as_ref().err().map(|error| error.kind);
            assert!(
                matches!(kind, None | Some(ErrorKind::Broken)),
                "{outcome:?}"
            );
            return;
        }
        if !matches!(way, Way::Drop) {
            cancelled.cancel();
        }
        if matches!(way, Way::Cancel) {
            let outcome = tokio::time::timeout(PATIENCE, call).await.unwrap();
            let kind = outcome.result.as_ref().err().map(|error| error.kind);
            // One that replied without having heard of it has finished.
            assert!(outcome.cancelled || kind.is_none(), "{outcome:?}");
            // One that was refused its process uses what is no handle.
            assert!(
                matches!(kind, None | Some(ErrorKind::Cancelled | ErrorKind::Broken)),
                "{outcome:?}"
            );
        }
    }
}

/// Calls are dropped, cancelled, both, or never begun, 16 at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_calls_are_given_up() {
    let bench = Bench::new().await;
    let mut random = Random(0x5eed);
    let ways = [Way::Drop, Way::Cancel, Way::CancelAndDrop, Way::NeverPoll];
    for _ in 0..ROUNDS.div_ceil(16) {
        let calls = (0..16).map(|_| {
            let plugin = usize::try_from(random.below(GUESTS.len() as u64)).unwrap();
            let way = ways[usize::try_from(random.below(4)).unwrap()];
            bench.give_up(plugin, way, Duration::from_micros(random.below(4000)))
        });
        join_all(calls).await;
    }
    // A call that was cancelled took its process with it. One whose future was dropped did so without a word, which no host
    // does: what it left ends with the chat.
    let workspace: &dyn Workspace = &*bench.workspace;
    workspace.end_chat(&"chat".parse().unwrap()).await.unwrap();
    until("no process is left", || {
        (bench.workspace.processes().live() == 0).then_some(())
    })
    .await;
    // Each of four plugins has its 64 places, which are all of the 256 that there are, and an instance for each.
    let calm = json!({ "calm": true });
    let calls: Vec<_> = (0..4)
        .flat_map(|plugin| (0..64).map(move |_| plugin))
        .map(|plugin| bench.call(plugin, &calm, CancellationToken::new()))
        .collect();
    assert!(bench.plugins[4].admit(&"chat".parse().unwrap()).is_err());
    for outcome in tokio::time::timeout(PATIENCE, join_all(calls))
        .await
        .unwrap()
    {
        End::Reply("hello").assert(&outcome);
    }
}

/// What a caller of the host can do: stop to wait, which ends no call, and shut the host down, which ends every one.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_ends_at_any_moment() {
    let mut random = Random(0xcafe);
    for _ in 0..10 {
        let limits = Limits {
            cancel_grace: Duration::from_millis(5),
            calls_per_chat: 64,
            ..Limits::default()
        };
        let setup = Setup::with(|builder| {
            GUESTS
                .iter()
                .fold(builder.without_shell(), |builder, name| {
                    builder.plugin(guest(name), limited(name, limits.clone()))
                })
        })
        .await;
        let calls = (0..12).map(|number| {
            let tool = format!("{}__t", GUESTS[number % GUESTS.len()]);
            let call = setup.host.call(request("chat", &tool, &json!({})));
            let after = Duration::from_micros(random.below(4000));
            async move { tokio::time::timeout(after, call).await.ok() }
        });
        for outcome in join_all(calls).await.into_iter().flatten() {
            assert!(!outcome.unwrap().is_error());
        }
        setup.host.shutdown().await;
        assert_eq!(setup.host.local().unwrap().processes().live(), 0);
        let late = request("chat", "well_behaved__t", &json!({}));
        let refused = setup.host.call(late).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(_)), "{refused}");
    }
}
