//! Calls and their callers, who repeat a call at any host until they have its outcome.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use toolhost_call::call::{Actor, Arguments, Cancelled, Refused, Request, State};
use toolhost_store::CallState;

use crate::database::Key;
use crate::random::Random;
use crate::world::World;

/// What a call may do after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has effects of its own, so it runs once.
    Once,
    /// It may run again, because its agent remembers what it started.
    Again,
    /// It changes nothing.
    ReadOnly,
}

/// A call that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) request: Arc<Request>,
    pub(crate) kind: Kind,
    /// How long its command takes.
    pub(crate) takes: Duration,
}

/// How long a caller waits for a host.
const AT_ONE: Duration = Duration::from_secs(30);

/// How often a caller asks before the call counts as stuck.
const TRIES: usize = 200;

impl Planned {
    fn new(world: &World, number: u64, random: &mut Random) -> Self {
        let agent = random.below(world.plan.agents as u64);
        let kind = match random.below(10) {
            0..5 => Kind::Once,
            5..9 => Kind::Again,
            _ => Kind::ReadOnly,
        };
        let is_slow = random.happens(world.plan.slow);
        let takes = match random.below(5) {
            _ if is_slow => random.millis(10_000, 60_000),
            0 => random.millis(1_000, 10_000),
            _ => random.millis(5, 1_000),
        };
        let request = Request::new(
            format!("agent-{agent}").parse().unwrap(),
            format!("call-{number}").parse().unwrap(),
            "execute",
            Arguments::parse("{\"command\":\"true\"}").unwrap(),
        );
        Self {
            request: Arc::new(request),
            kind,
            takes,
        }
    }

    fn key(&self) -> Key {
        (self.request.chat.clone(), self.request.id.clone())
    }
}

/// Makes one call after the other until there are enough.
pub(crate) async fn make(world: Arc<World>) {
    while let Some(number) = world.next_call() {
        let mut random = Random::of(world.seed, ("call", number));
        sleep(random.millis(0, 500)).await;
        let planned = Planned::new(&world, number, &mut random);
        world.tally.call();
        world.checker.call(&planned.key(), planned.kind);
        let cancels = random.happens(world.plan.cancels);
        let repeats = random.happens(world.plan.repeats);
        let mut other = Random::of(world.seed, ("other", number));
        let calling = ask(&world, &planned, &mut random);
        let also = async {
            if repeats {
                sleep(other.millis(0, 2_000)).await;
                ask(&world, &planned, &mut other).await;
            }
        };
        let mut third = Random::of(world.seed, ("cancel", number));
        let cancelling = async {
            if cancels {
                sleep(third.millis(0, 3_000)).await;
                cancel(&world, &planned, &mut third).await;
            }
        };
        tokio::join!(calling, also, cancelling);
        // A caller that has its outcome may have lost it.
        if random.happens(2_000) {
            ask(&world, &planned, &mut random).await;
        }
    }
}

/// Asks hosts until one of them has an outcome that lasts.
async fn ask(world: &Arc<World>, planned: &Planned, random: &mut Random) {
    let key = planned.key();
    let mut unknown = 0;
    for _ in 0..TRIES {
        let host = world.host(random).await;
        world.tally.request();
        let is_stored = is_stored(world, &key);
        let answer = tokio::select! {
            biased;
            () = host.life.killed() => {
                world.tally.lost_connection();
                continue;
            }
            answer = timeout(AT_ONE, host.call(world, planned)) => answer,
        };
        match answer {
            Err(_) => world.tally.timeout(),
            Ok(Ok(outcome)) => {
                world.checker.outcome(&key, &outcome, is_stored);
                if outcome.state() != State::Unknown {
                    return;
                }
                world.tally.unknown();
                unknown += 1;
                // The next request finds what a call started that may run again.
                if planned.kind == Kind::Once || unknown > 20 {
                    return;
                }
                sleep(random.millis(100, 2_000)).await;
            }
            Ok(Err(Refused::Cancelled)) => {
                world.tally.cancelled();
                world.checker.refused_as_cancelled(&key);
                return;
            }
            Ok(Err(Refused::Unrecorded(_) | Refused::Closed)) => {
                world.tally.refused();
                sleep(random.millis(100, 5_000)).await;
            }
            Ok(Err(refused)) => world.checker.violation(&key, &format!("{refused:?}")),
        }
    }
    world.checker.violation(&key, "its caller gave up");
}

/// Cancels a call at some host.
async fn cancel(world: &Arc<World>, planned: &Planned, random: &mut Random) {
    let key = planned.key();
    world.checker.cancels(&key);
    for _ in 0..TRIES {
        let host = world.host(random).await;
        world.tally.cancellation();
        let is_stored = is_stored(world, &key);
        let actor = Actor::default();
        let cancelling = async {
            host.life.goes_on().await;
            let cancelled = host.ledger.cancel(&key.0, &key.1, &actor).await;
            host.life.goes_on().await;
            cancelled
        };
        let answer = tokio::select! {
            biased;
            () = host.life.killed() => continue,
            answer = timeout(AT_ONE, cancelling) => answer,
        };
        match answer {
            Ok(Ok(Cancelled::Ended(outcome))) => {
                world.checker.outcome(&key, &outcome, is_stored);
                return;
            }
            Ok(Ok(Cancelled::Tombstone)) => {
                world.tally.tombstone();
                world.checker.tombstone(&key);
                return;
            }
            Ok(Ok(Cancelled::Gone)) => return,
            Ok(Err(_)) => sleep(random.millis(100, 5_000)).await,
            Err(_) => {}
        }
    }
    world.checker.violation(&key, "it cannot be cancelled");
}

/// Returns whether the database has an outcome of a call that is not unknown.
fn is_stored(world: &World, key: &Key) -> bool {
    let database = world.database.lock();
    let state = database.rows().get(key).map(|row| row.call.state);
    state.is_some_and(|state| {
        !matches!(
            state,
            CallState::Running | CallState::Unknown | CallState::Tombstone
        )
    })
}
