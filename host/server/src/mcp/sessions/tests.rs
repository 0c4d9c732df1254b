//! Tests of the limits on sessions, and of their ends.

use super::*;
use toolhost_http::access::Scope;
use toolhost_workspace::files::FilesGrant;

async fn shared(max: usize, idle: Duration) -> (tempfile::TempDir, Shared) {
    let workspace = tempfile::tempdir().unwrap();
    let builder = Host::builder(workspace.path()).without_shell();
    let host = builder.files(FilesGrant::None).start().await.unwrap();
    (workspace, Shared(Arc::new(Sessions::with(host, max, idle))))
}

fn token(name: &str) -> Principal {
    Principal::new(name, [Scope::Call], None, None)
}

/// Begins a session of a token, as its first message does.
async fn begin(shared: &Shared, name: &str) -> Option<SessionId> {
    let prepared = shared.0.prepare(&token(name), None).await.ok()?;
    let (id, _transport) = shared.create_session().await.unwrap();
    assert!(prepared.begin(&shared.0, &id) && !prepared.begin(&shared.0, &id));
    Some(id)
}

#[tokio::test]
async fn one_token_leaves_sessions_to_others() {
    let (_workspace, shared) = shared(4, IDLE).await;
    let sessions = &shared.0;
    let one = begin(&shared, "a").await.unwrap();
    // A reservation that is dropped takes no slot.
    drop(sessions.prepare(&token("a"), None).await.unwrap());
    let made = sessions.prepare(&token("a"), None).await.unwrap();
    assert!(begin(&shared, "a").await.is_none());
    for name in ["b", "c"] {
        begin(&shared, name).await.unwrap();
    }
    assert!(begin(&shared, "c").await.is_none());
    drop(made);
    assert!(begin(&shared, "c").await.is_some());
    let gone = sessions.gone(|principal| principal.name() != "a");
    assert_eq!(gone, [Arc::clone(&one)]);
    sessions.close(gone).await;
    assert!(sessions.chat_of(&one, &token("a")).is_none());
    assert!(begin(&shared, "a").await.is_some());
    assert_eq!(sessions.open().count(), 4);
}

#[tokio::test]
async fn idle_sessions_end_and_make_room() {
    let (_workspace, shared) = shared(4, Duration::ZERO).await;
    let sessions = &shared.0;
    let one = begin(&shared, "a").await.unwrap();
    let other = begin(&shared, "a").await.unwrap();
    let held = Held::new(sessions, &one);
    assert_eq!(sessions.look(), (vec![Arc::clone(&other)], true));
    let third = begin(&shared, "a").await.unwrap();
    assert!(sessions.chat_of(&other, &token("a")).is_none());
    assert!(
        sessions.chat_of(&one, &token("a")).is_some(),
        "it is in use"
    );
    drop(held);
    let (idle, more) = sessions.look();
    assert_eq!((idle.len(), more), (2, false));
    shared.close_session(&third).await.unwrap();
    // Closing a session twice is no failure: the client and the server may close it at the same time.
    shared.close_session(&third).await.unwrap();
    assert_eq!(sessions.look().0, [one]);
}
