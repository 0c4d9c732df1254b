//! Tests of the memory of tool calls, and of its bounds.

use super::uses::{BYTES_OF_CHAT, TOMBSTONES_OF_CHAT};
use super::*;

const CHAT: &str = "11111111-2222-4333-8444-555555555555";

fn key(chat: Option<&str>, call: &str) -> Key {
    Key {
        chat: chat.map(|chat| chat.parse().unwrap()),
        call: call.into(),
    }
}

fn request(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}

fn answer(bytes: usize) -> Answer {
    let mut answer = Answer::json(StatusCode::OK, "done");
    answer.body = vec![b'x'; bytes].into();
    answer
}

fn token(name: &str) -> Arc<str> {
    name.into()
}

impl Records {
    /// Runs a request to its end.
    fn run(&mut self, key: &Key, name: &str, bytes: usize) {
        let begun = self.begin(key, &token(name), request("a"));
        assert!(matches!(begun, Ok(Begun::New(..))), "{key:?}");
        self.finish(key, &answer(bytes));
    }

    /// Returns the status and the length of the answer that a repeat gets.
    fn repeat(&mut self, key: &Key) -> Option<(u16, usize)> {
        match self.begin(key, &token("t"), request("a")) {
            Ok(Begun::Answered(answer)) => Some((answer.status.as_u16(), answer.body.len())),
            Ok(Begun::New(..) | Begun::Running(_)) => None,
            Err(error) => Some((error.status().as_u16(), 0)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_is_remembered() {
    let mut records = Records::default();
    let (a, tombstone, running) = (key(None, "a"), key(Some(CHAT), "f"), key(None, "r"));
    records.run(&a, "t", 4);
    assert!(matches!(
        records.cancel(&tombstone, &token("t")),
        Ok(Cancelled::NotReceived)
    ));
    let first = records.begin(&running, &token("t"), request("a"));
    assert!(matches!(first, Ok(Begun::New(..))));
    tokio::time::advance(AGE).await;
    assert_eq!(records.repeat(&a), Some((200, 4)));
    assert_eq!(records.repeat(&tombstone), Some((409, 0)));
    tokio::time::advance(Duration::from_secs(1)).await;
    // A call under way is kept at any age.
    let again = records.begin(&running, &token("t"), request("a"));
    assert!(matches!(again, Ok(Begun::Running(_))));
    assert_eq!(records.by_key.len(), 1);
    records.finish(&running, &answer(1));
    tokio::time::advance(AGE * 2).await;
    records.forget_old();
    assert!(records.by_key.is_empty());
    let uses = format!("{:?}", records.uses);
    assert_eq!(uses, format!("{:?}", Uses::default()));
}

#[test]
fn a_refusal_of_a_request_that_did_nothing_is_no_answer() {
    for status in UNDONE {
        let mut records = Records::default();
        let (a, cancelled) = (key(None, "a"), key(None, "c"));
        let refusal = Answer::json(status, "full");
        for key in [&a, &cancelled] {
            let first = records.begin(key, &token("t"), request("a"));
            assert!(matches!(first, Ok(Begun::New(..))));
        }
        assert!(matches!(
            records.cancel(&cancelled, &token("t")),
            Ok(Cancelled::Running(_))
        ));
        for key in [&a, &cancelled] {
            records.finish(key, &refusal);
        }
        // Also under another request: the first did nothing.
        let again = records.begin(&a, &token("t"), request("b"));
        assert!(matches!(again, Ok(Begun::New(..))));
        assert_eq!(records.repeat(&cancelled), Some((409, 0)));
    }
}

#[test]
fn the_oldest_answers_of_a_busy_chat_go_first() {
    let mut records = Records::default();
    let quiet = key(None, "quiet");
    records.run(&quiet, "t", 1000);
    let busy: Vec<_> = (0..40)
        .map(|n| key(Some(CHAT), &format!("busy {n}")))
        .collect();
    for key in &busy {
        records.run(key, "t", BYTES_OF_CHAT / 16);
    }
    // Their answers are gone, and they do not run again.
    assert_eq!(records.repeat(&busy[0]).unwrap().0, 410);
    let newest = records.repeat(busy.last().unwrap());
    assert_eq!(newest, Some((200, BYTES_OF_CHAT / 16)));
    assert_eq!(records.repeat(&quiet), Some((200, 1000)));
    // An answer that is too large is not kept, and nothing else suffers.
    let large = key(None, "large");
    records.run(&large, "t", MAX_ANSWER + 1);
    assert_eq!(records.repeat(&large).unwrap().0, 410);
    assert_eq!(records.repeat(busy.last().unwrap()), newest);
}

#[test]
fn a_busy_token_leaves_room_to_others() {
    let mut records = Records::default();
    let chat = |n: usize| format!("c{n}");
    let first = key(Some("first"), "a");
    records.run(&first, "quiet", 1000);
    for n in 0..80 {
        records.run(&key(Some(&chat(n)), "a"), "busy", 1 << 20);
    }
    assert_eq!(records.repeat(&first), Some((200, 1000)));
    assert_eq!(records.repeat(&key(Some("c0"), "a")).unwrap().0, 410);
    assert_eq!(records.repeat(&key(Some("c79"), "a")).unwrap().0, 200);
}

#[test]
fn tombstones_are_refused_rather_than_forgotten() {
    let mut records = Records::default();
    for n in 0..TOMBSTONES_OF_CHAT {
        let tombstone = key(Some(CHAT), &n.to_string());
        assert!(records.cancel(&tombstone, &token("t")).is_ok());
    }
    let more = key(Some(CHAT), "more");
    let refused = records.cancel(&more, &token("t")).err().unwrap();
    assert_eq!(refused.status(), 429);
    // The same one again is no more, and other chats have room of their own.
    assert!(records.cancel(&key(Some(CHAT), "0"), &token("t")).is_ok());
    assert!(records.cancel(&key(None, "more"), &token("t")).is_ok());
    // Calls that have arrived can be cancelled all the same.
    records.run(&more, "t", 1);
    assert!(matches!(
        records.cancel(&more, &token("t")),
        Ok(Cancelled::Answered(_))
    ));
    assert_eq!(records.repeat(&more), Some((409, 0)));
}
