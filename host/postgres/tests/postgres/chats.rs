//! Chats of hosts that do not come back, and how long hosts are known.

use std::time::Duration;

use toolhost_needs::needs;
use toolhost_postgres::{Config, Postgres};
use toolhost_store::{Begun, Home, Store};

use crate::hosts::{expire, open};
use crate::server;
use crate::suite::begin;

#[needs(postgres)]
#[tokio::test]
async fn where_a_chat_runs_is_looked_up_without_a_change() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let chat = || "c".parse().unwrap();
    assert_eq!(one.home_of(chat()).await.unwrap(), None);
    assert_eq!(one.settle(chat(), "t".into()).await.unwrap(), Home::Here);
    assert_eq!(one.home_of(chat()).await.unwrap(), Some(Home::Here));
    let has_lease = async || match other.home_of(chat()).await.unwrap() {
        Some(Home::Elsewhere(host)) => host.has_lease,
        found => panic!("{found:?}"),
    };
    assert!(has_lease().await);
    let machine = one.machine().unwrap();
    let known = other.host_of_machine(machine.clone()).await.unwrap();
    assert!(known.unwrap().has_lease);
    expire(&url, &one).await;
    assert!(!has_lease().await);
    let known = other.host_of_machine(machine).await.unwrap();
    assert!(!known.unwrap().has_lease);
    let unknown = other.host_of_machine("no machine".into()).await;
    assert_eq!(unknown.unwrap(), None);
}

/// A host whose state directory is lost starts again as another machine.
#[needs(postgres)]
#[tokio::test]
async fn a_host_takes_over_the_chats_of_an_earlier_one_of_its_name() {
    let url = server::database();
    let named = |name: &str| Config {
        name: name.to_owned(),
        lease: Duration::from_secs(2),
        ..server::config(&url)
    };
    let (chat, other_chat) = (|| "c".parse().unwrap(), || "d".parse().unwrap());
    let first = Postgres::open(named("one")).await.unwrap();
    assert_eq!(first.settle(chat(), "t".into()).await.unwrap(), Home::Here);
    // One that runs beside it under the same name leaves its chats alone, also when it has ended.
    let beside = Postgres::open(Config {
        lease: Duration::from_mins(10),
        ..named("one")
    });
    let beside = beside.await.unwrap();
    let settled = beside.settle(other_chat(), "t".into()).await;
    assert_eq!(settled.unwrap(), Home::Here);
    assert!(matches!(
        first.home_of(other_chat()).await.unwrap(),
        Some(Home::Elsewhere(_))
    ));
    // The first one is killed: its lease runs out after the next one has started.
    drop(first);
    let stranger = Postgres::open(named("two")).await.unwrap();
    let next = Postgres::open(named("one")).await.unwrap();
    while next.home_of(chat()).await.unwrap() != Some(Home::Here) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for chat in [chat(), other_chat()] {
        let home = stranger.home_of(chat).await.unwrap();
        assert!(matches!(home, Some(Home::Elsewhere(host)) if host.has_lease));
    }
    assert!(matches!(
        next.home_of(other_chat()).await.unwrap(),
        Some(Home::Elsewhere(_))
    ));
    beside.close().await.unwrap();
}

#[needs(postgres)]
#[tokio::test]
async fn a_chat_is_freed_from_a_host_that_is_gone() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let chat = || "c".parse().unwrap();
    assert_eq!(other.free(chat()).await.unwrap(), None, "it is not known");
    assert_eq!(one.settle(chat(), "t".into()).await.unwrap(), Home::Here);
    assert_eq!(other.free(chat()).await.unwrap(), None, "its host is there");
    one.close().await.unwrap();
    let freed = other.free(chat()).await.unwrap();
    assert!(freed.is_some_and(|host| !host.has_lease));
    assert_eq!(other.home_of(chat()).await.unwrap(), None);
    assert_eq!(other.settle(chat(), "t".into()).await.unwrap(), Home::Here);
    assert_eq!(other.free(chat()).await.unwrap(), None, "it runs here");
}

/// Clients learn from its row where their chats run, and why a call does not end.
#[needs(postgres)]
#[tokio::test]
async fn a_host_that_left_is_kept_for_an_hour_and_while_it_is_named() {
    const AGE: &str = "UPDATE toolhost.hosts SET until = until - interval '2 hours' WHERE id <> $1";
    let url = server::database();
    let named = |name: &str| Config {
        name: name.to_owned(),
        ..server::config(&url)
    };
    let last = open(&url).await;
    for name in ["idle", "chat", "call"] {
        let host = Postgres::open(named(name)).await.unwrap();
        match name {
            "chat" => _ = host.settle("c".parse().unwrap(), "t".into()).await.unwrap(),
            "call" => assert_eq!(begin(&host, "d", "1").await, Begun::New),
            _ => {}
        }
        host.close().await.unwrap();
    }
    let client = server::connect(&url).await;
    let names = async || -> Vec<String> {
        last.sweep(crate::values::limits()).await.unwrap();
        const NAMES: &str = "SELECT name FROM toolhost.hosts WHERE name <> '' ORDER BY name";
        let rows = client.query(NAMES, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(names().await, ["call", "chat", "idle"]);
    let aged = client.execute(AGE, &[&last.leases().host]).await;
    assert_eq!(aged.unwrap(), 3);
    assert_eq!(names().await, ["call", "chat"]);
    last.free("c".parse().unwrap()).await.unwrap();
    assert_eq!(names().await, ["call"]);
}
