//! Cancellations of calls that run at other hosts.

use std::time::Duration;

use tokio::time::timeout;
use toolhost_needs::needs;
use toolhost_postgres::{Config, Postgres};
use toolhost_store::{Begun, CancelAnswer, News, Store};

use crate::hosts::{PATIENCE, expire, open};
use crate::server;
use crate::suite::begin;
use crate::values::{cancellation, ended};

#[needs(postgres)]
#[tokio::test]
async fn a_cancellation_elsewhere_reaches_the_host_that_runs_the_call() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let mut news = one.news().unwrap();
    assert!(one.news().is_none());
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    let answer = other.cancel(cancellation("c", "1", None)).await.unwrap();
    let CancelAnswer::Known(known) = answer else {
        panic!("{answer:?}");
    };
    assert!(known.is_elsewhere);
    let cancelled = News::Cancelled {
        chat: "c".parse().unwrap(),
        call: "1".parse().unwrap(),
    };
    while timeout(PATIENCE, news.recv()).await.unwrap().unwrap() != cancelled {}
    one.end(ended("c", "1")).await.unwrap();
    assert_eq!(begin(&other, "c", "1").await, Begun::Cancelled);
}

/// The notification is lost with a connection that breaks without a sign.
#[needs(postgres)]
#[tokio::test]
async fn a_cancellation_whose_notification_is_lost_is_found() {
    const CANCEL: &str = "UPDATE toolhost.calls SET cancelled = true";
    let url = server::database();
    let short = Config {
        lease: Duration::from_secs(2),
        ..server::config(&url)
    };
    let host = Postgres::open(short).await.unwrap();
    let mut news = host.news().unwrap();
    assert_eq!(begin(&host, "c", "1").await, Begun::New);
    let client = server::connect(&url).await;
    assert_eq!(client.execute(CANCEL, &[]).await.unwrap(), 1);
    let cancelled = News::Cancelled {
        chat: "c".parse().unwrap(),
        call: "1".parse().unwrap(),
    };
    while timeout(PATIENCE, news.recv()).await.unwrap().unwrap() != cancelled {}
}

/// It runs on at the host that lost its lease.
#[needs(postgres)]
#[tokio::test]
async fn a_host_that_comes_back_hears_of_the_cancellations_of_its_earlier_calls() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    let mut news = one.news().unwrap();
    expire(&url, &one).await;
    assert_eq!(other.interrupt().await.unwrap().len(), 1);
    other.cancel(cancellation("c", "1", None)).await.unwrap();
    while !matches!(
        timeout(PATIENCE, news.recv()).await.unwrap(),
        Some(News::Cancelled { .. })
    ) {}
}

/// The notification is lost as well, and the call has another host by then.
#[needs(postgres)]
#[tokio::test]
async fn a_host_with_another_lease_finds_the_cancellations_of_its_earlier_calls() {
    let url = server::database();
    let [one, other] = [open(&url).await, open(&url).await];
    let mut news = one.news().unwrap();
    assert_eq!(begin(&one, "c", "1").await, Begun::New);
    expire(&url, &one).await;
    assert_eq!(other.interrupt().await.unwrap().len(), 1);
    let client = server::connect(&url).await;
    let cancel = client.execute("UPDATE toolhost.calls SET cancelled = true", &[]);
    assert_eq!(cancel.await.unwrap(), 1);
    assert_eq!(begin(&one, "c", "2").await, Begun::New);
    let cancelled = News::Cancelled {
        chat: "c".parse().unwrap(),
        call: "1".parse().unwrap(),
    };
    while timeout(PATIENCE, news.recv()).await.unwrap().unwrap() != cancelled {}
}
