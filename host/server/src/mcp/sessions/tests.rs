//! Tests of the limits on sessions, and of their ends.

use rmcp::transport::streamable_http_server::SessionManager as _;

use super::*;
use toolhost_http::access::Scope;
use toolhost_workspace::files::FilesGrant;

async fn sessions(max: usize, idle: Duration) -> (tempfile::TempDir, Arc<Sessions>) {
    let workspace = tempfile::tempdir().unwrap();
    let builder = Host::builder(workspace.path()).without_shell();
    let host = builder.files(FilesGrant::None).start().await.unwrap();
    (workspace, Arc::new(Sessions::with(host, max, idle)))
}

fn token(name: &str) -> Principal {
    Principal::new(name, [Scope::Call], None, None)
}

/// Begins a session of a token, as its first message does.
async fn begin(sessions: &Arc<Sessions>, name: &str) -> Option<SessionId> {
    let (_, manager) = sessions.prepare(&token(name), None).ok()?;
    let (id, _transport) = manager.create_session().await.unwrap();
    assert!(manager.create_session().await.is_err());
    Some(id)
}

fn count(sessions: &Sessions) -> usize {
    sessions.open.lock().len()
}

#[tokio::test]
async fn one_token_leaves_sessions_to_others() {
    let (_workspace, sessions) = sessions(4, IDLE).await;
    let one = begin(&sessions, "a").await.unwrap();
    // A session that was prepared and did not begin takes no slot.
    drop(sessions.prepare(&token("a"), None).unwrap());
    let prepared = sessions.prepare(&token("a"), None).unwrap();
    assert!(begin(&sessions, "a").await.is_none());
    for name in ["b", "c"] {
        begin(&sessions, name).await.unwrap();
    }
    assert!(begin(&sessions, "c").await.is_none());
    drop(prepared);
    assert!(begin(&sessions, "c").await.is_some());
    assert!(sessions.end_if_unused(&one, |principal| principal.name() == "a"));
    assert!(!sessions.end_if_unused(&one, |principal| principal.name() != "a"));
    assert!(sessions.find(&one, &token("a")).is_none());
    assert!(begin(&sessions, "a").await.is_some());
    assert_eq!(count(&sessions), 4);
}

#[tokio::test]
async fn idle_sessions_end_and_make_room() {
    let (_workspace, sessions) = sessions(4, Duration::ZERO).await;
    let one = begin(&sessions, "a").await.unwrap();
    let other = begin(&sessions, "a").await.unwrap();
    let held = sessions.enter(&one).unwrap();
    let third = begin(&sessions, "a").await.unwrap();
    assert!(sessions.find(&other, &token("a")).is_none());
    assert!(sessions.end_if_unused(&one, |_| true), "it is in use");
    drop(held);
    assert!(!sessions.end_if_unused(&one, |_| true) && !sessions.end_if_unused(&one, |_| true));
    assert!(sessions.find(&one, &token("b")).is_none());
    let manager = Manager::of(&sessions);
    assert!(manager.has_session(&third).await.unwrap());
    manager.close_session(&third).await.unwrap();
    // Closing a session twice is no failure: the client and the server may close it at the same time.
    manager.close_session(&third).await.unwrap();
    assert_eq!(count(&sessions), 0);
}

#[tokio::test]
async fn the_end_of_a_session_cancels_what_waits_in_it() {
    let (_workspace, sessions) = sessions(4, IDLE).await;
    let (session, manager) = sessions.prepare(&token("a"), None).unwrap();
    let (id, _transport) = manager.create_session().await.unwrap();
    manager.close_session(&id).await.unwrap();
    assert!(session.lost.is_cancelled() && sessions.enter(&id).is_err());
}

/// Hosts with one state directory, one after the other.
struct Hosts(tempfile::TempDir);

impl Hosts {
    async fn sessions(&self, max: usize, idle: Duration) -> Arc<Sessions> {
        // Tasks of the host before still have its lock for a moment.
        let host = loop {
            let builder = Host::builder(self.0.path()).without_shell();
            let builder = builder.files(FilesGrant::None);
            let started = builder.keep(self.0.path().join("state")).unwrap().start();
            match started.await {
                Ok(host) => break host,
                Err(error) => assert!(format!("{error:?}").contains("Locked"), "{error:?}"),
            }
            tokio::task::yield_now().await;
        };
        let sessions = Arc::new(Sessions::with(host, max, idle));
        sessions.take_over().await;
        sessions
    }

    /// Returns how many sessions the next host takes over.
    async fn taken_over(&self, max: usize, idle: Duration) -> usize {
        let sessions = self.sessions(max, idle).await;
        let taken_over = count(&sessions);
        sessions.leave().await;
        taken_over
    }
}

/// Begins a session of a token that the store has.
async fn begin_stored(sessions: &Arc<Sessions>, name: &str) -> SessionId {
    let id = begin(sessions, name).await.unwrap();
    let client = serde_json::json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" },
    });
    sessions
        .begun(&id, serde_json::from_value(client).unwrap())
        .await;
    id
}

#[tokio::test]
async fn sessions_of_an_earlier_host_count_and_end_as_others_do() {
    let hosts = Hosts(tempfile::tempdir().unwrap());
    let sessions = hosts.sessions(4, IDLE).await;
    let ended = begin_stored(&sessions, "a").await;
    let idle = begin_stored(&sessions, "a").await;
    begin_stored(&sessions, "b").await;
    *sessions.open.lock()[&idle].used.lock() -= IDLE;
    sessions.close(&ended).await;
    let prepared = begin(&sessions, "b").await.unwrap();
    assert!(sessions.find(&prepared, &token("b")).is_some());
    sessions.leave().await;
    // The end of a worker counts no more: the server stops.
    let left: Vec<_> = sessions.open.lock().keys().cloned().collect();
    for id in left {
        sessions.close(&id).await;
    }
    drop(sessions);
    assert_eq!(hosts.taken_over(4, IDLE).await, 1);

    let sessions = hosts.sessions(4, IDLE).await;
    begin_stored(&sessions, "b").await;
    assert!(begin(&sessions, "b").await.is_none());
    sessions.leave().await;
    drop(sessions);
    assert_eq!(hosts.taken_over(4, IDLE).await, 2);
    assert_eq!(hosts.taken_over(1, IDLE).await, 1);
    assert_eq!(hosts.taken_over(4, Duration::ZERO).await, 0);
    assert_eq!(hosts.taken_over(4, IDLE).await, 0);
}
