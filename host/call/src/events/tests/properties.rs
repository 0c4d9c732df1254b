//! A property of all listeners: each hears of every event, once, in order, or is told that it missed some.

use proptest::prelude::*;

use super::*;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// A process writes.
    Write(usize, u64),
    /// A call changes.
    Change,
    /// A listener hears of so many events.
    Hear(usize, usize),
    /// A listener goes away, and comes back where it was: with part of its last event, if that was of output.
    Resume(usize, u64),
    /// A new one listens from now on.
    Listen(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..3_usize, 1..100_u64).prop_map(|(process, length)| Step::Write(process, length)),
        2 => Just(Step::Change),
        4 => (0..3_usize, 1..4_usize).prop_map(|(listener, count)| Step::Hear(listener, count)),
        1 => (0..3_usize, 0..100_u64).prop_map(|(listener, less)| Step::Resume(listener, less)),
        1 => (0..3_usize).prop_map(Step::Listen),
    ];
    prop::collection::vec(step, 1..200)
}

const PROCESSES: [&str; 3] = ["p", "q", "r"];

/// The history so far: how much each process wrote before each change of a call.
#[derive(Clone, Debug, Default)]
struct World {
    written: [u64; 3],
    changes: Vec<[u64; 3]>,
}

/// A listener, and the facts that it knows.
struct One {
    listener: Listener,
    /// Up to where it knows the output of each process.
    known: [u64; 3],
    changes: usize,
    /// The last event, and how much of its output.
    last: Option<(u64, Option<u64>)>,
    /// If that was of output: of which process, and how many bytes.
    output: Option<(usize, u64)>,
    /// Whether it was told that it misses something.
    reset: bool,
}

impl One {
    fn new(events: &Events, world: &World) -> Self {
        Self {
            listener: events.listen(&chat("a"), None),
            known: world.written,
            changes: world.changes.len(),
            last: None,
            output: None,
            reset: false,
        }
    }

    /// Hears of one event, and checks it. Returns whether there was one.
    fn hear(&mut self, world: &World) -> bool {
        let Some(Numbered { id, event }) = now(&mut self.listener) else {
            return false;
        };
        if let Event::Reset(_) = event {
            self.reset = true;
            self.last = Some((id, None));
            self.output = None;
            return true;
        }
        let mut part = None;
        self.output = None;
        match event {
            Event::Output {
                process,
                offset,
                length,
            } => {
                let index = PROCESSES
                    .iter()
                    .position(|name| *name == process.id)
                    .unwrap();
                let known = &mut self.known[index];
                assert!(length > 0);
                if self.reset {
                    assert!(offset >= *known);
                } else {
                    assert_eq!(offset, *known);
                }
                *known = offset + length;
                assert!(*known <= world.written[index]);
                part = Some(*known);
                self.output = Some((index, length));
            }
            Event::Call { call, .. } => {
                let index: usize = call.as_str().parse().unwrap();
                if self.reset {
                    assert!(index >= self.changes);
                } else {
                    assert_eq!(index, self.changes);
                    // All that was written before it, and nothing that was written after it.
                    assert_eq!(self.known, world.changes[index]);
                }
                self.changes = index + 1;
            }
            other => panic!("{other:?}"),
        }
        if let Some((last, last_part)) = self.last {
            assert!(id > last || (id == last && part > last_part));
        }
        self.last = Some((id, part));
        true
    }

    /// Goes away, and comes back: without the last `less` bytes, if the last event was of as many.
    fn resume(&mut self, events: &Events, world: &World, less: u64) {
        let Some((number, mut part)) = self.last else {
            *self = Self::new(events, world);
            return;
        };
        if let Some((process, length)) = self.output.take() {
            let known = &mut self.known[process];
            *known -= less.min(length);
            part = Some(*known);
        }
        let position = events.position(&chat("a"), number, part);
        self.last = Some((number, part));
        self.listener = events.read(&chat("a"), Some(Ok(position))).unwrap();
    }
}

fn play(events: &Events, steps: &[Step]) -> Result<(), TestCaseError> {
    let a = chat("a");
    let mut world = World::default();
    let mut all: Vec<One> = (0..3).map(|_| One::new(events, &world)).collect();
    for step in steps {
        match *step {
            Step::Write(process, length) => {
                let offset = world.written[process];
                world.written[process] += length;
                output(events, &a, PROCESSES[process], offset, length);
            }
            Step::Change => {
                let number = world.changes.len().to_string();
                world.changes.push(world.written);
                events.publish(&a, call(&number, State::Running));
            }
            Step::Hear(one, count) => {
                for _ in 0..count {
                    all[one].hear(&world);
                }
            }
            Step::Resume(one, less) => all[one].resume(events, &world, less),
            Step::Listen(one) => all[one] = One::new(events, &world),
        }
    }
    for one in &mut all {
        while one.hear(&world) {}
        if !one.reset {
            prop_assert_eq!(one.changes, world.changes.len());
            prop_assert_eq!(one.known, world.written);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn everything_is_heard_of_once_and_in_order(steps in steps()) {
        let events = Events::default();
        play(&events, &steps)?;
        prop_assert_eq!(events.stats().resets, 0);
    }

    #[test]
    fn what_is_dropped_is_told(steps in steps(), room in 0..6_usize) {
        let event = call("1", State::Running).size();
        let limits = Limits {
            per_chat: 600 + room * event,
            ..Limits::default()
        };
        play(&Events::new(limits), &steps)?;
    }
}
