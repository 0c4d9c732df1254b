//! Bounds: how much is kept, for how long, and for how many readers.

use std::time::Duration;

use super::*;

/// Publishes something that joins nothing.
fn fill(events: &Events, chat: &ChatId, count: usize) {
    for _ in 0..count {
        events.publish(chat, call("c", State::Running));
    }
}

#[test]
fn a_buffer_is_bounded_and_who_is_behind_hears_so() {
    let limits = Limits {
        per_chat: 8 << 10,
        ..Limits::default()
    };
    let (events, a) = (Events::new(limits), chat("a"));
    let (mut slow, mut fast) = (events.listen(&a, None), events.listen(&a, None));
    fill(&events, &a, 1);
    let first = now(&mut fast).unwrap();
    fill(&events, &a, 10_000);
    let stats = events.stats();
    assert!(stats.bytes <= 8 << 10, "{stats:?}");
    let heard = all(&mut slow);
    assert_eq!(heard[0], Event::Reset(Reset::Behind));
    assert!(
        !heard[1..]
            .iter()
            .any(|event| matches!(event, Event::Reset(_)))
    );
    assert_eq!(heard.len() as u64 - 1 + stats.dropped, 10_001);
    assert_eq!(stats.published, 10_001);
    // A listener that comes back hears a reset as well, but for another reason.
    let after = events.position(&a, first.id, None);
    let mut back = events.read(&a, Some(Ok(after))).unwrap();
    assert_eq!(all(&mut back)[0], Event::Reset(Reset::Expired));
}

/// An event that was heard in full is not missed when it is dropped, even if it is an output event, which could grow.
#[test]
fn who_has_heard_everything_misses_nothing() {
    let limits = Limits {
        per_chat: 0,
        ..Limits::default()
    };
    let (events, a) = (Events::new(limits), chat("a"));
    let mut listener = events.listen(&a, None);
    for offset in 0..100 {
        output(&events, &a, "p", offset, 1);
        let heard = now(&mut listener).unwrap();
        assert_eq!(stretches(&[heard.event]), [("p", offset, 1)]);
        fill(&events, &a, 1);
        assert_eq!(now(&mut listener).unwrap().event, call("c", State::Running));
    }
    output(&events, &a, "p", 100, 1);
    now(&mut listener).unwrap();
    // It has not heard of this, which is then dropped.
    output(&events, &a, "p", 101, 1);
    fill(&events, &a, 1);
    let heard = all(&mut listener);
    let expected = [Event::Reset(Reset::Behind), call("c", State::Running)];
    assert_eq!(heard, expected);
}

#[test]
fn all_buffers_together_are_bounded_and_the_silent_go_first() {
    let limits = Limits {
        per_chat: 64 << 10,
        total: 256 << 10,
        ..Limits::default()
    };
    let events = Events::new(limits);
    let chats: Vec<_> = (0..20)
        .map(|count| chat(&format!("chat-{count}")))
        .collect();
    let mut followed = events.listen(&chats[0], None);
    for chat in &chats {
        fill(&events, chat, 10_000);
        assert!(events.stats().bytes <= 256 << 10, "{:?}", events.stats());
    }
    assert!(events.stats().chats < 6, "{:?}", events.stats());
    assert_eq!(all(&mut followed), [Event::Reset(Reset::Behind)]);
    // The chat goes on for its listener.
    fill(&events, &chats[0], 1);
    assert_eq!(all(&mut followed), [call("c", State::Running)]);
    // A number is not used again after its chat was forgotten.
    let forgotten = events.position(&chats[1], 5000, None);
    let mut back = events.read(&chats[1], Some(Ok(forgotten))).unwrap();
    assert_eq!(all(&mut back), [Event::Reset(Reset::Expired)]);
}

#[tokio::test(start_paused = true)]
async fn silent_chats_are_forgotten() {
    let events = Events::default();
    let followed = events.listen(&chat("followed"), None);
    for name in ["followed", "silent"] {
        fill(&events, &chat(name), 1);
    }
    let heard = events.stats();
    tokio::time::advance(Duration::from_secs(9 * 60)).await;
    fill(&events, &chat("other"), 1);
    assert_eq!(events.stats().chats, 3);
    tokio::time::advance(Duration::from_secs(2 * 60)).await;
    fill(&events, &chat("other"), 1);
    assert_eq!(events.stats().chats, 2);
    drop(followed);
    tokio::time::advance(Duration::from_secs(11 * 60)).await;
    fill(&events, &chat("last"), 1);
    let stats = events.stats();
    assert_eq!(stats.chats, 1);
    assert!(stats.bytes < heard.bytes, "{stats:?}");
}

#[test]
fn readers_are_bounded_and_leave_nothing_behind() {
    let limits = Limits {
        readers_per_chat: 2,
        readers: 3,
        ..Limits::default()
    };
    let events = Events::new(limits);
    let read = |name: &str| events.read(&chat(name), None);
    let a = [read("a").unwrap(), read("a").unwrap()];
    assert_eq!(read("a").unwrap_err(), Refused::Chat(2));
    let b = read("b").unwrap();
    assert_eq!(read("c").unwrap_err(), Refused::All(3));
    // A listener of the host itself does not count.
    let own = events.listen(&chat("a"), None);
    assert_eq!(events.stats().readers, 3);
    drop(a);
    let c = read("c").unwrap();
    drop((b, c, own));
    let stats = events.stats();
    assert_eq!((stats.readers, stats.chats, stats.bytes), (0, 0, 0));
    assert_eq!(stats.refused, 2);
}
