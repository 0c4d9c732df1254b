//! Tests of the buffers: nothing is lost or repeated without a word, and nothing grows without end.

mod bounds;
mod properties;

use futures_util::FutureExt;

use super::*;

fn chat(name: &str) -> ChatId {
    name.parse().unwrap()
}

fn call(name: &str, state: State) -> Event {
    Event::Call {
        call: name.parse().unwrap(),
        tool: "t".into(),
        state,
    }
}

fn progress(done: f64) -> Event {
    Event::Progress {
        call: "c".parse().unwrap(),
        done,
        total: None,
        message: None,
    }
}

/// As a process would tell of its output.
fn output(events: &Events, chat: &ChatId, process: &str, offset: u64, length: u64) {
    if !events.hub.lock().extend(chat, process, offset, length) {
        about(events, chat, process, |process| Event::Output {
            process,
            offset,
            length,
        });
    }
}

fn about(events: &Events, chat: &ChatId, process: &str, event: impl FnOnce(Arc<Subject>) -> Event) {
    let mut hub = events.hub.lock();
    hub.publish(chat, |buffer| event(buffer.subject(process, || None)));
}

/// The next event, if there is one now.
fn now(listener: &mut Listener) -> Option<Numbered> {
    listener.next().now_or_never().flatten()
}

fn all(listener: &mut Listener) -> Vec<Event> {
    std::iter::from_fn(|| now(listener))
        .map(|numbered| numbered.event)
        .collect()
}

/// The output in a list of events.
fn stretches(events: &[Event]) -> Vec<(&str, u64, u64)> {
    let stretch = |event| match event {
        &Event::Output {
            ref process,
            offset,
            length,
        } => Some((process.id.as_str(), offset, length)),
        _ => None,
    };
    events.iter().filter_map(stretch).collect()
}

#[test]
fn output_that_nobody_has_heard_of_is_one_event() {
    let (events, a) = (Events::default(), chat("a"));
    let mut listener = events.listen(&a, None);
    for offset in 0..1000 {
        output(&events, &a, "p", offset * 10, 10);
        output(&events, &a, "q", offset, 1);
    }
    events.publish(&a, call("c", State::Finished));
    output(&events, &a, "p", 10_000, 5);
    let heard = all(&mut listener);
    let expected = [("p", 0, 10_000), ("q", 0, 1000), ("p", 10_000, 5)];
    assert_eq!(stretches(&heard), expected);
    assert_eq!(heard[2], call("c", State::Finished));
    // Later output is heard, too.
    output(&events, &a, "p", 10_005, 1);
    output(&events, &a, "p", 10_006, 1);
    assert_eq!(stretches(&all(&mut listener)), [("p", 10_005, 2)]);
    assert_eq!(events.stats().published, 4);
}

#[test]
fn more_progress_than_a_few_steps_that_nobody_has_heard_of_is_replaced() {
    let (events, a) = (Events::default(), chat("a"));
    let mut listener = events.listen(&a, None);
    for done in 0..1000 {
        events.publish(&a, progress(done.into()));
    }
    let heard = all(&mut listener);
    assert_eq!(heard.len(), 16);
    assert_eq!(
        (&heard[14], &heard[15]),
        (&progress(14.0), &progress(999.0))
    );
    events.publish(&a, progress(1000.0));
    assert_eq!(all(&mut listener), [progress(1000.0)]);
}

#[test]
fn positions_are_text_that_reads_back() {
    for (number, part) in [(0, None), (7, Some(0)), (u64::MAX, Some(u64::MAX))] {
        let position = Events::default().position(&chat("a"), number, part);
        assert_eq!(position.to_string().parse(), Ok(position));
    }
    for text in [
        "",
        "1",
        "x-1",
        "0-1",
        "00000000000000ff-",
        "00000000000000ff-1-",
        "00000000000000FF-1",
        "00000000000000ff-01",
        "00000000000000ff-+1",
        "00000000000000ff-1-2-3",
        "-1-2",
        "00000000000000ff-18446744073709551616",
        "🙂",
    ] {
        assert_eq!(text.parse::<Position>(), Err(InvalidPosition), "{text:?}");
    }
}

#[test]
fn who_cannot_go_on_hears_so_and_gets_what_is_kept() {
    let (events, a) = (Events::default(), chat("a"));
    events.publish(&a, call("c", State::Running));
    let kept = call("c", State::Running);
    let elsewhere = Events::default().position(&a, 1, None);
    let future = events.position(&a, 1 << 40, None);
    // A number that an event of this chat has as well.
    events.publish(&chat("b"), kept.clone());
    let mut other = events.read(&chat("b"), Some(Err(InvalidPosition))).unwrap();
    let reset = now(&mut other).unwrap();
    let of_other = events.position(&chat("b"), reset.id, None);
    for after in [
        Ok(elsewhere),
        Ok(future),
        Ok(of_other),
        Err(InvalidPosition),
    ] {
        let mut listener = events.read(&a, Some(after)).unwrap();
        let expected = [Event::Reset(Reset::Unknown), kept.clone()];
        assert_eq!(all(&mut listener), expected, "{after:?}");
    }
    assert_eq!(events.stats().resets, 5);
    // A listener that goes on from the reset hears no second one.
    let mut listener = events.read(&a, Some(Ok(future))).unwrap();
    let reset = now(&mut listener).unwrap();
    let again = events.position(&a, reset.id, None);
    let mut again = events.read(&a, Some(Ok(again))).unwrap();
    assert_eq!(all(&mut again), [kept]);
}

#[test]
fn chats_are_apart_and_the_end_ends_listening() {
    let events = Events::default();
    let (mut a, mut b) = (
        events.listen(&chat("a"), None),
        events.listen(&chat("b"), None),
    );
    events.publish(&chat("a"), Event::ChatEnded);
    events.close();
    events.publish(&chat("a"), Event::ChatEnded);
    assert_eq!(now(&mut a).map(|heard| heard.event), Some(Event::ChatEnded));
    assert_eq!(a.next().now_or_never(), Some(None));
    assert_eq!(b.next().now_or_never(), Some(None));
}

#[tokio::test]
async fn a_listener_that_waits_is_woken() {
    let (events, a) = (Events::default(), chat("a"));
    let mut listener = events.listen(&a, None);
    output(&events, &a, "p", 0, 1);
    assert!(listener.next().await.is_some());
    // Output that joins an event which the listener has heard wakes it.
    let told = async {
        tokio::task::yield_now().await;
        output(&events, &a, "p", 1, 1);
    };
    let (heard, ()) = tokio::join!(listener.next(), told);
    assert_eq!(stretches(&[heard.unwrap().event]), [("p", 1, 1)]);
}
