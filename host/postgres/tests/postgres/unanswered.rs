//! Statements whose answers are lost.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use toolhost_needs::needs;
use toolhost_postgres::{Config, Postgres};
use toolhost_store::{Begun, Store};

use crate::hosts::open;
use crate::server;
use crate::suite::begin;
use crate::values::call;

/// A way to a server on which answers can be swallowed.
struct Way {
    url: String,
    swallows: watch::Sender<bool>,
}

impl Way {
    /// Makes a way to the server of an address.
    async fn to(url: &str) -> Self {
        let (directory, rest) = url.strip_prefix("host=").unwrap().split_once(' ').unwrap();
        let socket = format!("{directory}/.s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let swallows = watch::Sender::new(false);
        let state = swallows.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                tokio::spawn(async move {
                    _ = tokio::io::copy(&mut from_client, &mut to_server).await;
                });
                let state = state.clone();
                tokio::spawn(async move {
                    let mut bytes = vec![0; 4096];
                    while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
                        let is_lost = *state.borrow();
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
        }
    }
}

/// The database stores that a call begins, and the host never hears of it: it did not run, so a repeat may run it, at whichever host.
#[needs(postgres)]
#[tokio::test]
async fn a_beginning_without_an_answer_leaves_no_call_behind() {
    let url = server::database();
    let way = Way::to(&url).await;
    let one = Postgres::open(Config {
        patience: Duration::from_millis(500),
        beat: Some(Duration::from_millis(100)),
        ..server::config(&way.url)
    });
    let (one, other) = (one.await.unwrap(), open(&url).await);
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

/// Has the statements prepared, so that the answer to a beginning is lost, and not one before it.
async fn prepare_statements(store: &Postgres) {
    for number in 0..8 {
        crate::suite::run(store, "warm", &number.to_string()).await;
    }
}
