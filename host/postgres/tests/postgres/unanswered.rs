//! Statements whose answers are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::Client;
use toolhost_needs::needs;
use toolhost_postgres::{Config, Postgres};
use toolhost_store::{Begun, CallState, EndedCall, Ending, News, Store};

use crate::hosts::open;
use crate::server;
use crate::suite::begin;
use crate::values::{call, cancellation, ended};
use crate::workspaces::workspace;

/// A way to a server on which answers can be swallowed.
struct Way {
    url: String,
    swallows: watch::Sender<bool>,
    /// Whether all answers are swallowed on connections that are made from now on, once they are made.
    mutes: watch::Sender<bool>,
    /// The number of the last connection on which all answers are swallowed.
    dead: watch::Sender<u64>,
    made: Arc<AtomicU64>,
}

impl Way {
    /// Makes a way to the server of an address.
    async fn to(url: &str) -> Self {
        let (directory, rest) = url.strip_prefix("host=").unwrap().split_once(' ').unwrap();
        let (port, rest) = rest.strip_prefix("port=").unwrap().split_once(' ').unwrap();
        let socket = format!("{directory}/.s.PGSQL.{port}");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (swallows, mutes) = (watch::Sender::new(false), watch::Sender::new(false));
        let is_muted = mutes.subscribe();
        let (dead, made) = (watch::Sender::new(0), Arc::new(AtomicU64::new(0)));
        let (state, is_dead, count) = (swallows.subscribe(), dead.subscribe(), Arc::clone(&made));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                tokio::spawn(async move {
                    _ = tokio::io::copy(&mut from_client, &mut to_server).await;
                });
                let (state, is_dead) = (state.clone(), is_dead.clone());
                let is_muted = *is_muted.borrow();
                let mut is_made = false;
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::spawn(async move {
                    let mut bytes = vec![0; 4096];
                    while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
                        let is_lost = *state.borrow() || *is_dead.borrow() >= number;
                        let is_lost = is_lost || (is_muted && is_made);
                        // `ReadyForQuery` ends what the server says of a new connection.
                        is_made |= bytes[..count].ends_with(b"Z\0\0\0\x05I");
                        if !is_lost && to_client.write_all(&bytes[..count]).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self {
            url: format!("host=127.0.0.1 port={port} {rest}"),
            swallows,
            mutes,
            dead,
            made,
        }
    }

    /// Drops the packets of all present connections, which stay open.
    fn drop_packets(&self) {
        self.dead.send_replace(self.made.load(Ordering::SeqCst));
    }

    /// Opens the store of a host that takes this way and soon gives an answer up.
    async fn impatient(&self) -> Postgres {
        let config = Config {
            patience: Duration::from_millis(500),
            beat: Some(Duration::from_millis(100)),
            ..server::config(&self.url)
        };
        Postgres::open(config).await.unwrap()
    }
}

/// A connection that only listens sends nothing, so the system notices late that packets are dropped.
#[needs(postgres)]
#[tokio::test]
async fn a_host_listens_again_after_packets_were_dropped() {
    let url = server::database();
    let way = Way::to(&url).await;
    let (one, other) = (way.impatient().await, open(&url).await);
    let mut news = one.news().unwrap();
    way.drop_packets();
    let heard = async {
        loop {
            other.put_workspace(workspace("w")).await.unwrap();
            let soon = timeout(Duration::from_millis(100), async {
                while !matches!(news.recv().await, Some(News::Workspace(_))) {}
            });
            if soon.await.is_ok() {
                return;
            }
        }
    };
    timeout(Duration::from_mins(1), heard).await.unwrap();
}

/// A connection that is cut right after it was made must not keep anybody waiting for ever.
#[needs(postgres)]
#[tokio::test]
async fn a_new_connection_without_answers_is_given_up() {
    let url = server::database();
    let way = Way::to(&url).await;
    let (one, other) = (way.impatient().await, open(&url).await);
    let mut news = one.news().unwrap();
    way.mutes.send_replace(true);
    way.drop_packets();
    for _ in 0..3 {
        let lost = timeout(Duration::from_mins(1), one.begin(call("c", "1")));
        lost.await.expect("it gives up").unwrap_err();
    }
    way.mutes.send_replace(false);
    let begun = async {
        while one.begin(call("c", "1")).await.is_err() {}
        while !matches!(news.recv().await, Some(News::Workspace(_))) {
            other.put_workspace(workspace("w")).await.unwrap();
        }
    };
    timeout(Duration::from_mins(1), begun).await.unwrap();
}

/// The database stores that a call begins, and the host never hears of it: it did not run, so a repeat may run it, at whichever host.
#[needs(postgres)]
#[tokio::test]
async fn a_beginning_without_an_answer_leaves_no_call_behind() {
    let url = server::database();
    let way = Way::to(&url).await;
    let (one, other) = (way.impatient().await, open(&url).await);
    prepare_statements(&one).await;
    for (round, is_here) in [(0, true), (1, false), (2, true), (3, false)] {
        let id = format!("call-{round}");
        way.swallows.send_replace(true);
        let lost = one.begin(call("c", &id)).await;
        assert!(lost.is_err(), "{lost:?}");
        way.swallows.send_replace(false);
        if is_here {
            // A new connection is made, which the old ones may keep waiting for a while.
            let begun = loop {
                if let Ok(begun) = one.begin(call("c", &id)).await {
                    break begun;
                }
            };
            assert_eq!(begun, Begun::New);
            assert_eq!(begin(&other, "c", &id).await, Begun::Running);
            continue;
        }
        let (chat, name) = ("c".parse().unwrap(), id.parse().unwrap());
        let settled = other.settled(chat, name).await.unwrap();
        assert_eq!(settled, None, "it was withdrawn");
        assert_eq!(begin(&other, "c", &id).await, Begun::New);
        let begun = one.begin(call("c", &id)).await.unwrap();
        assert_eq!(begun, Begun::Running);
    }
}

/// Makes another host the one that runs a call.
const MOVE: &str = "UPDATE toolhost.calls SET host = $1 WHERE call = $2";

/// Stores that a call has begun at a host that does not know of it, as if the answer to its beginning was lost.
async fn leave_unheard(client: &Client, (one, other): (&Postgres, &Postgres), id: &str) {
    assert_eq!(begin(other, "c", id).await, Begun::New);
    let moved = client.execute(MOVE, &[&one.leases().host, &id]).await;
    assert_eq!(moved.unwrap(), 1);
}

/// A call that is cancelled does not run later, also if it has begun and its host does not know that.
#[needs(postgres)]
#[tokio::test]
async fn a_cancelled_beginning_without_an_answer_does_not_run() {
    let url = server::database();
    let (one, other) = (open(&url).await, open(&url).await);
    let client = server::connect(&url).await;
    for (id, host) in [("here", &one), ("elsewhere", &other)] {
        leave_unheard(&client, (&one, &other), id).await;
        host.cancel(cancellation("c", id, None)).await.unwrap();
        assert_eq!(begin(&one, "c", id).await, Begun::Cancelled, "{id}");
    }
}

/// A call that is about to begin or to be withdrawn is looked up when that is over.
#[needs(postgres)]
#[tokio::test]
async fn a_call_that_is_about_to_begin_is_looked_up_later() {
    const STOP: &str =
        "BEGIN; UPDATE toolhost.calls SET state = 5, cancelled = true WHERE call = '1'";
    const WAITS: &str = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    const WAS_READ: &str = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' \
         AND query LIKE 'SELECT c.chat,%' AND query_start > $1";
    let url = server::database();
    // One connection is for the beginning, and the other one for all else.
    let one = Postgres::open(Config {
        connections: 2,
        ..server::config(&url)
    });
    let (one, other) = (one.await.unwrap(), open(&url).await);
    let (client, watcher) = (server::connect(&url).await, server::connect(&url).await);
    leave_unheard(&client, (&one, &other), "1").await;
    client.batch_execute(STOP).await.unwrap();
    let beginning = one.begin(call("c", "1"));
    let looking = async {
        while watcher.query(WAITS, &[]).await.unwrap().is_empty() {}
        // This prepares the statement.
        let nothing = one.call("c".parse().unwrap(), "2".parse().unwrap()).await;
        assert_eq!(nothing.unwrap(), None);
        let now = watcher.query_one("SELECT clock_timestamp()", &[]);
        let since: SystemTime = now.await.unwrap().get(0);
        let committing = async {
            while watcher.query(WAS_READ, &[&since]).await.unwrap().is_empty() {}
            client.batch_execute("COMMIT").await.unwrap();
        };
        let looking = one.call("c".parse().unwrap(), "1".parse().unwrap());
        tokio::join!(looking, committing).0
    };
    let (begun, found) = tokio::join!(beginning, looking);
    assert_eq!(begun.unwrap(), Begun::Cancelled);
    assert_eq!(found.unwrap().unwrap().state, CallState::Tombstone);
}

/// A call that its host has taken over from itself is not withdrawn: its callers may have heard that its outcome is unknown.
#[needs(postgres)]
#[tokio::test]
async fn a_beginning_that_was_taken_over_is_not_withdrawn() {
    const TRIGGERS: &str = "CREATE TABLE gone (call text); \
         CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.taken = true; RETURN NEW; END'; \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO gone VALUES (OLD.call); RETURN OLD; END'; \
         CREATE TRIGGER take BEFORE INSERT ON toolhost.calls FOR EACH ROW WHEN (NEW.call = 'taken') EXECUTE FUNCTION take(); \
         CREATE TRIGGER note AFTER DELETE ON toolhost.calls FOR EACH ROW EXECUTE FUNCTION note()";
    let url = server::database();
    let way = Way::to(&url).await;
    let (one, other) = (way.impatient().await, open(&url).await);
    let client = server::connect(&url).await;
    client.batch_execute(TRIGGERS).await.unwrap();
    let mut number = 0;
    let mut lose = async |id: &str| {
        // The connections on which answers were lost may keep the next ones waiting.
        while one.begin(call("warm", &number.to_string())).await.is_err() {}
        number += 1;
        way.swallows.send_replace(true);
        assert!(one.begin(call("c", id)).await.is_err());
        way.swallows.send_replace(false);
    };
    let find = async |id: &str| {
        let (chat, id) = ("c".parse().unwrap(), id.parse().unwrap());
        other.call(chat, id).await.unwrap()
    };
    let known = loop {
        lose("taken").await;
        if let Some(known) = find("taken").await {
            break known;
        }
    };
    // Withdrawals that begin after others have ended.
    for round in 0.. {
        let id = format!("lost-{round}");
        lose(&id).await;
        while find(&id).await.is_some() {}
        if client.query("SELECT FROM gone", &[]).await.unwrap().len() > 2 {
            break;
        }
    }
    assert_eq!(find("taken").await, Some(known));
}

/// Has the statements prepared, so that the answer to a beginning is lost, and not one before it.
async fn prepare_statements(store: &Postgres) {
    for number in 0..8 {
        crate::suite::run(store, "warm", &number.to_string()).await;
    }
}

/// A call that ran before is of unknown outcome again, and neither forgotten nor a tombstone: a signal that it sent is not sent again.
#[needs(postgres)]
#[tokio::test]
async fn a_call_that_was_to_run_again_is_what_it_was_before() {
    let url = server::database();
    let (one, other) = (open(&url).await, open(&url).await);
    let client = server::connect(&url).await;
    let unknown = EndedCall {
        state: CallState::Unknown,
        ..ended("c", "1")
    };
    let find = async || {
        let found = other.call("c".parse().unwrap(), "1".parse().unwrap());
        found.await.unwrap().unwrap()
    };
    other.end(unknown).await.unwrap();
    let before = find().await;
    let leave_unheard = async || {
        let begun = other.resume(call("c", "1")).await.unwrap();
        assert_eq!(begun, Begun::New);
        let running = find().await;
        assert_eq!((running.state, running.outcome), (CallState::Running, None));
        let moved = client.execute(MOVE, &[&one.leases().host, &"1"]).await;
        assert_eq!(moved.unwrap(), 1);
    };
    leave_unheard().await;
    let withdrawn = one.withdraw("c".parse().unwrap(), "1".parse().unwrap());
    withdrawn.await.unwrap();
    let after = find().await;
    assert_eq!(
        (after.state, &after.outcome),
        (CallState::Unknown, &before.outcome)
    );
    for host in [&one, &other] {
        leave_unheard().await;
        host.cancel(cancellation("c", "1", None)).await.unwrap();
        assert_eq!(begin(&one, "c", "1").await, Begun::Cancelled);
        let after = find().await;
        assert_eq!(
            (after.state, &after.outcome),
            (CallState::Unknown, &before.outcome)
        );
        client
            .batch_execute("UPDATE toolhost.calls SET cancelled = false")
            .await
            .unwrap();
    }
    // A repeat at its host runs it.
    leave_unheard().await;
    assert_eq!(one.resume(call("c", "1")).await.unwrap(), Begun::New);
    assert_eq!(one.end(ended("c", "1")).await.unwrap(), Ending::Stored);
    assert_eq!(find().await.state, CallState::Finished);
}
