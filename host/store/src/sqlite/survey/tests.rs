//! Tests of the survey.

use std::path::Path;

use toolhost_state::state_dir::StateDir;

use super::*;
use crate::sqlite::FILE;
use crate::sqlite::tests::new_call;
use crate::{Cancellation, Durability, EndedCall, Sqlite, Store};

/// How many calls the store of these tests has.
const CALLS: u32 = 1200;

fn open(state: &Path) -> Result<Sqlite, crate::StoreError> {
    let directory = StateDir::open(state).unwrap();
    Sqlite::open(&directory, Durability::Host)
}

/// Surveys a store into a filter of its own.
fn surveyed(store: &Sqlite) -> (Known, Result<End, Fault>) {
    let known = Known::default();
    let (wake, _asked) = std::sync::mpsc::sync_channel(1);
    known.begin(wake);
    let ended = survey(&store.shared, &known, drop);
    (known, ended)
}

fn lacked(known: &Known) -> usize {
    let ids = (0..CALLS).map(|id| key("c", &format!("id-{id}")));
    ids.filter(|key| known.lacks(key)).count()
}

/// Stores calls that run, have ended, or were cancelled before they arrived.
async fn fill(store: &Sqlite) {
    for id in 0..CALLS {
        let call = new_call(&format!("id-{id}"), 0);
        match id % 3 {
            0 => _ = store.begin(call).await.unwrap(),
            1 => {
                let (outcome, cancelled) = ("{}".into(), false);
                let state = crate::CallState::Finished;
                let ended = EndedCall {
                    call,
                    state,
                    cancelled,
                    outcome,
                };
                store.end(ended).await.unwrap();
            }
            _ => {
                let cancellation = Cancellation {
                    chat: call.chat,
                    call: call.call,
                    principal: call.principal,
                    tools: None,
                    most: u64::MAX,
                };
                store.cancel(cancellation).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_survey_finds_every_call() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state).unwrap();
    // A call of which only the digest is left.
    let lost = key("c", "lost");
    let lose = |core: &mut Core| core.transact(|core| core.lose(lost));
    store.shared.writer.alone(lose).unwrap();
    fill(&store).await;
    for is_committed in [false, true] {
        if is_committed {
            store.counts();
        }
        let (known, ended) = surveyed(&store);
        assert_eq!(ended.unwrap(), End::Whole);
        assert_eq!(lacked(&known), 0);
        assert!(!known.lacks(&lost) && known.lacks(&key("c", "other")));
    }
    drop(store);
    let store = open(&state).unwrap();
    let (known, ended) = surveyed(&store);
    assert_eq!(ended.unwrap(), End::Whole);
    assert_eq!(lacked(&known), 0);
    assert!(!known.lacks(&lost));
}

#[tokio::test]
async fn a_survey_during_which_calls_are_forgotten_has_no_result() {
    let base = tempfile::tempdir().unwrap();
    let store = open(&base.path().join("state")).unwrap();
    fill(&store).await;
    store.counts();
    let known = Known::default();
    let (wake, _asked) = std::sync::mpsc::sync_channel(1);
    known.begin(wake);
    let (chat, call) = ("c".parse().unwrap(), "id-0".parse().unwrap());
    let withdraw = |_| {
        let withdraw = |core: &mut Core| core.transact(|core| core.withdraw(&chat, &call));
        store.shared.writer.alone(withdraw).unwrap();
    };
    let ended = survey(&store.shared, &known, withdraw);
    assert_eq!(ended.unwrap(), End::Changed);
    assert!(!known.lacks(&key("c", "other")));
}

/// A filter that lacks a call lets it run again.
#[tokio::test]
async fn no_flip_makes_a_filter_lack_a_call() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state).unwrap();
    fill(&store).await;
    drop(store);
    let file = state.join(FILE);
    let sound = std::fs::read(&file).unwrap();
    let (mut whole, mut refused) = (0, 0);
    for flip in 0..200_usize {
        let mut bytes = sound.clone();
        let at = flip * (bytes.len() - 97) / 200 + flip % 97;
        bytes[at] ^= 1 << (flip % 8);
        std::fs::write(&file, &bytes).unwrap();
        let Ok(store) = open(&state) else {
            continue;
        };
        let (known, ended) = surveyed(&store);
        match ended {
            Ok(_) => whole += 1,
            Err(_) => refused += 1,
        }
        assert_eq!(
            lacked(&known),
            0,
            "bit {} of byte {at} is flipped",
            flip % 8
        );
        drop(store);
        for name in ["store.db-wal", "store.seen"] {
            _ = std::fs::remove_file(state.join(name));
        }
    }
    assert!(
        whole > 10 && refused > 10,
        "{whole} whole, {refused} refused"
    );
}
