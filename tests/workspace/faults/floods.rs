//! Agents that answer without end: what the host takes of one answer, and of the answers of all agents together, is bounded.

use super::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use futures_util::stream::{self, FuturesUnordered, StreamExt as _};
use toolhost_link::{Address, Agents, AgentsConfig, TlsFiles};
use toolhost_state::secret::Secret;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::operation::{Identity, VERSION};
use toolhost_workspace::process::{AllQuery, Shell};
use toolhost_workspace::{AgentSpec, Provider as _, Spec};

use crate::harness::TOKEN;

const AGENTS: usize = 12;

const PIECE: usize = 64 << 10;

/// Much more than the buffers of a connection hold.
const MUCH: u64 = 32 << 20;

/// Spaces without end, or so many pieces and then nothing, without an end either. Counts the bytes that were taken.
fn flood(pieces: usize, taken: &Arc<AtomicU64>) -> Body {
    let taken = Arc::clone(taken);
    let flood = stream::repeat(Bytes::from(vec![b' '; PIECE])).take(pieces);
    let flood =
        flood.inspect(move |piece| _ = taken.fetch_add(piece.len() as u64, Ordering::SeqCst));
    Body::from_stream(flood.chain(stream::pending()).map(std::io::Result::Ok))
}

async fn served(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

fn agents(url: &str, timing: Timing) -> Agents {
    let address = Address {
        url: url.to_owned(),
        token: Secret::new(TOKEN),
        tls: TlsFiles::default(),
    };
    let named = (0..AGENTS).map(|number| (format!("a{number}"), address.clone()));
    Agents::new(AgentsConfig {
        named: named.collect(),
        timing,
        ..AgentsConfig::default()
    })
    .unwrap()
}

async fn opened(agents: &Agents, number: usize) -> Result<Arc<dyn Workspace>, String> {
    let (name, spec) = (
        format!("a{number}").parse().unwrap(),
        Spec::Agent(AgentSpec::default()),
    );
    let opened = agents.open(&name, &spec).await;
    Ok(opened.map_err(|error| error.to_string())?.workspace)
}

/// As a test, this counts the bytes that agents could send: each was read up to 128 MiB before, again and again.
#[tokio::test]
async fn a_description_without_end_is_given_up_after_kilobytes() {
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&taken);
    let router = Router::new().route(
        "/api/v0/workspace",
        get(move || async move { flood(usize::MAX, &counted) }),
    );
    let agents = agents(&served(router).await, patient());
    let opening = (0..AGENTS).map(|number| opened(&agents, number));
    for opened in futures_util::future::join_all(opening).await {
        let error = opened.unwrap_err();
        assert!(error.contains("has more than 65536 bytes"), "{error}");
    }
    let each = taken.load(Ordering::SeqCst) / AGENTS as u64;
    assert!(each < MUCH, "{each} bytes of each answer");
}

#[tokio::test]
async fn the_answers_of_all_agents_share_one_budget() {
    let identity = Identity {
        operations: VERSION,
        toolhost: "0".into(),
        instance: "1".into(),
        root: "/".into(),
        shell: Shell::Sh,
        files: FilesGrant::None,
        remembers_starts: true,
        time_unix_ms: 0,
    };
    let taken = Arc::new(AtomicU64::new(0));
    let router = Router::new()
        .route(
            "/api/v0/workspace",
            get(move || std::future::ready(axum::Json(identity.clone()))),
        )
        .route(
            "/api/v0/workspace/list-all",
            // 40 MiB, and then it waits.
            post(move || async move { flood(640, &taken) }),
        );
    let timing = Timing {
        patience: Duration::ZERO,
        ..patient()
    };
    let agents = agents(&served(router).await, timing);
    let mut workspaces = Vec::new();
    for number in 0..AGENTS {
        workspaces.push(opened(&agents, number).await.unwrap());
    }
    let mut listing: FuturesUnordered<_> = workspaces
        .iter()
        .map(|workspace| workspace.list_all(AllQuery::default()))
        .collect();
    // Three times 40 MiB fit into 128 MiB.
    for _ in 0..AGENTS - 3 {
        let error = listing.next().await.unwrap().unwrap_err().to_string();
        assert!(
            error.contains("the answers of all agents have 128 MiB of memory"),
            "{error}"
        );
    }
    // Short answers need nothing of it.
    opened(&agents, 0).await.unwrap();
}
