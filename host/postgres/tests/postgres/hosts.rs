//! Several hosts on one database.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use tokio::time::timeout;
use toolhost_needs::needs;
use toolhost_postgres::{Config, Postgres};
use toolhost_state::secret::Secret;
use toolhost_store::{
    AgentElsewhere, Begun, CallState, ConnectedAgent, EndedCall, Ending, News, OtherHost,
    Quarantine, Store, StoreError, Switch,
};

use crate::server;
use crate::suite::{self, Place, begin};
use crate::values::{call, cancellation, ended};
use crate::workspaces::workspace;

/// Nothing here takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) async fn open(url: &str) -> Postgres {
    Postgres::open(server::config(url)).await.unwrap()
}

/// Lets the lease of a host run out.
pub(crate) async fn expire(url: &str, host: &Postgres) {
    server::expire(url, host.leases().host).await;
}

/// A database, and the id of the host that opened it last.
#[derive(Default)]
struct Database {
    url: String,
    last: Mutex<Option<uuid::Uuid>>,
}

impl Place for Database {
    fn open(&self) -> BoxFuture<'_, Box<dyn Store>> {
        Box::pin(async {
            let store = open(&self.url).await;
            *self.last.lock() = Some(store.leases().host);
            Box::new(store) as Box<dyn Store>
        })
    }

    fn kill(&self, store: Box<dyn Store>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            drop(store);
            let last = *self.last.lock();
            server::expire(&self.url, last.unwrap()).await;
        })
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_passes() {
    suite::all(|| {
        Box::new(Database {
            url: server::database(),
            ..Database::default()
        })
    })
    .await;
}

#[needs(postgres)]
#[tokio::test]
async fn hosts_that_start_together_make_one_schema() {
    let url = server::database();
    let hosts = join_all((0..8).map(|_| open(&url))).await;
    assert_eq!(begin(&hosts[0], "c", "1").await, Begun::New);
    for host in &hosts[1..] {
        assert_eq!(begin(host, "c", "1").await, Begun::Running);
    }
}

#[needs(postgres)]
#[tokio::test]
async fn of_many_hosts_one_begins_a_call() {
    let url = server::database();
    let hosts = join_all((0..4).map(|_| open(&url))).await;
    for round in 0..50 {
        let id = format!("call-{round}");
        let begun = join_all(hosts.iter().map(|host| begin(host, "c", &id))).await;
        let new = begun.iter().filter(|begun| **begun == Begun::New).count();
        assert_eq!(new, 1, "{begun:?}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_repeat_elsewhere_waits_for_the_end() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    let name = || ("c".parse().unwrap(), "1".parse().unwrap());
    let (chat, id) = name();
    let known = other.call(chat, id).await.unwrap().unwrap();
    assert!(known.is_elsewhere && known.state == CallState::Running);
    let (chat, id) = name();
    let mut settled = other.settled(chat, id);
    let early = timeout(Duration::ZERO, &mut settled).await;
    assert!(early.is_err(), "it runs");
    let ending = one.end(ended("c", "1")).await.unwrap();
    assert_eq!(ending, Ending::Stored);
    let settled = timeout(PATIENCE, settled).await.unwrap().unwrap().unwrap();
    assert_eq!(settled.outcome.as_deref(), Some("outcome of 1"));
    assert!(matches!(begin(&other, "c", "1").await, Begun::Ended(_)));
}

/// A call whose host is lost is taken over when its lease ends, and not with a later heartbeat.
#[needs(postgres)]
#[tokio::test]
async fn a_caller_that_waits_notices_the_end_of_the_lease() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let mut news = other.news().unwrap();
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    let settled = other.settled("c".parse().unwrap(), "1".parse().unwrap());
    let lost = async {
        expire(&url, &one).await;
        while timeout(PATIENCE, news.recv()).await.unwrap() != Some(News::Interrupted) {}
        assert_eq!(other.interrupt().await.unwrap().len(), 1);
        // Until it has an end, it is not settled.
        let unknown = EndedCall {
            state: CallState::Unknown,
            ..ended("c", "1")
        };
        assert_eq!(other.end(unknown).await.unwrap(), Ending::Stored);
    };
    let both = async { tokio::join!(settled, lost) };
    // The heartbeat comes every two minutes.
    let (settled, ()) = timeout(Duration::from_mins(1), both).await.unwrap();
    assert_eq!(settled.unwrap().unwrap().state, CallState::Unknown);
}

#[needs(postgres)]
#[tokio::test]
async fn a_host_without_its_lease_writes_nothing() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    assert_eq!(begin(&one, "c", "2").await, Begun::New);
    expire(&url, &one).await;
    let no_lease = |error: StoreError| matches!(error, StoreError::NoLease);
    let cancelled = one.cancel(cancellation("c", "4", None)).await;
    assert!(no_lease(cancelled.unwrap_err()));
    let workspace = crate::workspaces::workspace("w");
    assert!(no_lease(one.put_workspace(workspace).await.unwrap_err()));
    let binding = crate::workspaces::binding("c", "w");
    assert!(no_lease(one.bind(binding).await.unwrap_err()));
    one.end_chat("c".parse().unwrap()).await.unwrap();
    let nothing = toolhost_store::Limits {
        keep: Duration::ZERO,
        keep_per_chat: 0,
        ..crate::values::limits()
    };
    assert_eq!(one.sweep(nothing).await.unwrap().outcomes, 0);
    assert!(one.interrupt().await.unwrap().is_empty());
    // Another host takes its calls over, and then their ends are refused for good.
    let taken = other.interrupt().await.unwrap();
    assert_eq!(taken.len(), 2);
    let unknown = EndedCall {
        state: CallState::Unknown,
        outcome: "unknown".into(),
        ..ended("c", "1")
    };
    assert_eq!(other.end(unknown).await.unwrap(), Ending::Stored);
    assert!(other.interrupt().await.unwrap().is_empty());
    let all = other.workspaces().await.unwrap();
    assert!(all.found.is_empty() && all.bindings.is_empty());
    // An end and a beginning take another lease, under which the host ends nothing that began before.
    let before = one.leases().host;
    for (id, is_over) in [("1", true), ("2", false)] {
        let ending = one.end(ended("c", id)).await.unwrap();
        let Ending::TakenOver(call) = ending else {
            panic!("{ending:?}");
        };
        assert_eq!(call.outcome.as_deref(), is_over.then_some("unknown"));
    }
    assert!(one.leases().host != before);
    expire(&url, &one).await;
    assert_eq!(begin(&one, "c", "3").await, Begun::New);
    assert_eq!(begin(&other, "c", "3").await, Begun::Running);
    assert_eq!(one.leases().lost, 2);
}

/// A host whose lease ran out takes another one with its next heartbeat. The calls that it ran belong to nobody then.
#[needs(postgres)]
#[tokio::test]
async fn a_host_that_comes_back_ends_none_of_its_earlier_calls() {
    let url = server::database();
    let short = Config {
        lease: Duration::from_millis(500),
        ..server::config(&url)
    };
    let one = Postgres::open(short).await.unwrap();
    let mut news = one.news().unwrap();
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    let before = one.leases().host;
    expire(&url, &one).await;
    while timeout(PATIENCE, news.recv()).await.unwrap() != Some(News::Interrupted) {}
    let leases = one.leases();
    assert!(leases.host != before && leases.lost >= 1, "{leases:?}");
    // Its earlier self has it, so it runs elsewhere.
    assert_eq!(begin(&one, "c", "1").await, Begun::Running);
    let ending = one.end(ended("c", "1")).await.unwrap();
    assert!(matches!(ending, Ending::TakenOver(call) if call.is_elsewhere));
    let taken = one.interrupt().await.unwrap();
    assert_eq!(taken.len(), 1);
    // A repeat may have heard that the outcome is unknown.
    let ending = one.end(ended("c", "1")).await.unwrap();
    assert!(matches!(ending, Ending::TakenOver(call) if call.outcome.is_none()));
    let unknown = EndedCall {
        state: CallState::Unknown,
        ..ended("c", "1")
    };
    assert_eq!(one.end(unknown).await.unwrap(), Ending::Stored);
}

#[needs(postgres)]
#[tokio::test]
async fn a_host_that_leaves_gives_its_calls_to_the_others_at_once() {
    let url = server::database();
    let short = Config {
        lease: Duration::from_millis(500),
        ..server::config(&url)
    };
    let one = open(&url).await;
    let other = Postgres::open(short).await.unwrap();
    let mut news = other.news().unwrap();
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    one.close().await.unwrap();
    let begun = one.begin(call("c", "2")).await;
    assert!(matches!(begun, Err(StoreError::NoLease)), "{begun:?}");
    while timeout(PATIENCE, news.recv()).await.unwrap() != Some(News::Interrupted) {}
    assert_eq!(other.interrupt().await.unwrap().len(), 1);
}

/// Between two statements, or within one, the server may end. No call is begun twice, and none is lost.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_restarts_is_used_again() {
    let mut server = server::Server::start();
    let url = server.database();
    let store = open(&url).await;
    suite::run(&store, "c", "before").await;
    assert_eq!(begin(&store, "c", "running").await, Begun::New);
    server.stop();
    let refused = store.begin(call("c", "meanwhile")).await;
    assert!(
        matches!(refused, Err(StoreError::Unreachable { .. })),
        "{refused:?}"
    );
    let refused = store.end(ended("c", "running")).await;
    assert!(
        matches!(refused, Err(StoreError::Unreachable { .. })),
        "{refused:?}"
    );
    server.run();
    assert!(matches!(
        begin(&store, "c", "before").await,
        Begun::Ended(_)
    ));
    assert_eq!(begin(&store, "c", "running").await, Begun::Running);
    assert_eq!(
        store.end(ended("c", "running")).await.unwrap(),
        Ending::Stored
    );
    assert_eq!(begin(&store, "c", "meanwhile").await, Begun::New);
}

#[needs(postgres)]
#[tokio::test]
async fn what_is_wrong_with_the_address_is_said() {
    let open = async |url: &str| {
        let error = Postgres::open(Config {
            patience: Duration::from_mins(1),
            ..server::config(url)
        })
        .await
        .unwrap_err();
        let source = std::error::Error::source(&error).unwrap();
        format!("{error}: {source}")
    };
    let url = server::database();
    let other = url.rsplit_once("dbname=").unwrap().0;
    let text = open(&format!("{other}dbname=nowhere")).await;
    assert_eq!(
        text,
        "the store cannot open the database: database \"nowhere\" does not exist"
    );
    let text = open("postgres://127.0.0.1:1/x?user=y").await;
    assert!(
        text.starts_with("the database cannot be reached: error connecting to server"),
        "{text}"
    );
    let text = open("postgres://[").await;
    assert!(text.contains("invalid connection string"), "{text}");
}

/// The only connection of the host waits for a row that another session has locked.
#[needs(postgres)]
#[tokio::test]
async fn a_heartbeat_waits_for_no_other_operation() {
    const LOCK: &str = "INSERT INTO toolhost.workspaces VALUES ('w', '', '', 0, 0)";
    let url = server::database();
    let host = Postgres::open(Config {
        connections: 1,
        beat: Some(Duration::from_millis(50)),
        patience: PATIENCE,
        ..server::config(&url)
    });
    let host = Arc::new(host.await.unwrap());
    let mut admin = server::connect(&url).await;
    let watching = server::connect(&url).await;
    let lock = admin.transaction().await.unwrap();
    lock.execute(LOCK, &[]).await.unwrap();
    let waiting = Arc::clone(&host);
    let putting = tokio::spawn(async move { waiting.put_workspace(workspace("w")).await });
    let until = async |statement: &str, than: Option<std::time::SystemTime>| {
        let begun = std::time::Instant::now();
        loop {
            let row = watching.query_one(statement, &[]).await.unwrap();
            let is: Option<std::time::SystemTime> = row.get(0);
            if is > than {
                return is;
            }
            assert!(begun.elapsed() < PATIENCE, "{statement}");
        }
    };
    // It waits by now.
    let waits = "SELECT max(query_start) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'toolhost' AND datname = current_database()";
    until(waits, None).await;
    let prolonged = "SELECT max(until)::timestamptz FROM toolhost.hosts";
    let mut last = until(prolonged, None).await;
    for _ in 0..3 {
        last = until(prolonged, last).await;
    }
    assert!(!putting.is_finished());
    lock.rollback().await.unwrap();
    putting.await.unwrap().unwrap();
}

#[needs(postgres)]
#[tokio::test]
async fn hosts_follow_the_plugins_that_others_turned_off() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let mut news = other.news().unwrap();
    let switch = |configured, enabled| Switch {
        plugin: "p".to_owned(),
        configured,
        enabled,
        principal: "admin".to_owned(),
    };
    one.put_switch(switch(true, false)).await.unwrap();
    one.put_switch(switch(false, true)).await.unwrap();
    one.put_switch(switch(true, true)).await.unwrap();
    let mut switches = other.switches().await.unwrap();
    switches.sort_by_key(|switch| switch.configured);
    assert_eq!(switches, [switch(false, true), switch(true, true)]);
    // It listens before it is told of this one, or has learnt of it.
    let told = async |news: &mut tokio::sync::mpsc::UnboundedReceiver<News>, what: &News| {
        while &timeout(PATIENCE, news.recv()).await.unwrap().unwrap() != what {}
    };
    told(&mut news, &News::Reachable).await;
    one.put_switch(switch(true, false)).await.unwrap();
    told(&mut news, &News::Switched).await;
    let quarantine = Quarantine {
        plugin: "p".to_owned(),
        sha256: "00".to_owned(),
        lasts: Duration::from_millis(1500),
    };
    one.tell_quarantine(quarantine.clone()).await.unwrap();
    told(&mut news, &News::Quarantined(quarantine)).await;
    expire(&url, &one).await;
    let refused = one.put_switch(switch(true, true)).await.unwrap_err();
    assert!(matches!(refused, StoreError::NoLease), "{refused}");
    assert_eq!(other.switches().await.unwrap().len(), 2);
}

#[needs(postgres)]
#[tokio::test]
async fn an_agent_is_where_it_connected_last() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let third = Postgres::open(Config {
        name: "third".into(),
        address: Some("https://third.example.com".into()),
        ..server::config(&url)
    });
    let third = third.await.unwrap();
    let agent = || "build".parse().unwrap();
    let with = |token: &str| ConnectedAgent {
        name: agent(),
        token: Secret::new(token),
    };
    let at = async |host: &Postgres| host.host_of_agent(agent()).await.unwrap();
    assert_eq!(at(&one).await, None);
    other.put_agent(with("first")).await.unwrap();
    third.put_agent(with("second")).await.unwrap();
    let there = Some(AgentElsewhere {
        host: OtherHost {
            name: "third".into(),
            address: Some("https://third.example.com".into()),
            has_lease: true,
        },
        token: Some(Secret::new("second")),
    });
    assert_eq!(at(&one).await, there);
    assert_eq!(at(&third).await, None, "it is its own");
    // The end of an older connection, and a host that still has it, change nothing.
    other.remove_agent(agent()).await.unwrap();
    other.sync_agents(vec![with("first")]).await.unwrap();
    assert_eq!(at(&one).await, there);
    // A host without its lease has no agents, and its agent may be at another one.
    expire(&url, &third).await;
    assert_eq!(at(&one).await, None);
    other.sync_agents(vec![with("third")]).await.unwrap();
    let found = at(&one).await.unwrap();
    assert_eq!(found.token, Some(Secret::new("third")));
    other.sync_agents(Vec::new()).await.unwrap();
    assert_eq!(at(&one).await, None);
    // A host that lost its lease takes another one for an agent that connects.
    expire(&url, &other).await;
    other.put_agent(with("first")).await.unwrap();
    assert!(at(&one).await.is_some());
    other.remove_agent(agent()).await.unwrap();
    assert_eq!(at(&one).await, None);
}
