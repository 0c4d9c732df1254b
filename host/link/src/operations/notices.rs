//! `GET /api/v0/workspace/events`: the events of all processes, one JSON object in each line.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::broadcast::{self, Receiver, error::RecvError};
use toolhost_workspace::Workspace;
use toolhost_workspace::operation::{Notice, Numbered};
use toolhost_workspace::process::{Denials, ProcessEvent, Subject, Subscriber};

/// How many events a reader may be behind. Further ones are dropped, and the reader is told.
const BEHIND: usize = 4096;

/// How often a line is sent when nothing happens. A host takes an agent for gone after a few of these times.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// The events of a workspace, for all who read them.
#[derive(Debug)]
pub(super) struct Hub {
    /// How many events there were, with the sender of their lines. One lock, so that the lines are in the order of their numbers.
    state: Mutex<(u64, broadcast::Sender<Line>)>,
}

/// A number, and the line of the event that has it.
type Line = Bytes;

impl Hub {
    /// Follows the events of a workspace.
    pub(super) fn of(workspace: &dyn Workspace) -> Arc<Self> {
        let (sender, _) = broadcast::channel(BEHIND);
        let state = Mutex::new((0, sender));
        let hub = Arc::new(Self { state });
        let subscriber: Arc<dyn Subscriber> = Arc::<Self>::clone(&hub);
        workspace.subscribe(Arc::downgrade(&subscriber));
        hub
    }

    /// Returns how many events there were.
    pub(super) fn count(&self) -> u64 {
        self.state.lock().0
    }

    fn send(&self, notice: impl FnOnce() -> Notice) {
        let mut state = self.state.lock();
        state.0 += 1;
        let (number, sender) = &*state;
        if sender.receiver_count() > 0 {
            let number = *number;
            let notice = notice();
            // It fails if the last reader has gone meanwhile.
            _ = sender.send(line(&Numbered { number, notice }));
        }
    }
}

impl Subscriber for Hub {
    fn event(&self, process: Subject<'_>, event: ProcessEvent<'_>) {
        self.send(|| Notice::new(process, event));
    }

    fn denied(&self, denials: Denials<'_>) {
        self.send(|| denials.into());
    }
}

/// Answers with every event from now on.
pub(super) async fn notices(State(hub): State<Arc<Hub>>) -> Response {
    let (number, receiver) = {
        let state = hub.state.lock();
        (state.0, state.1.subscribe())
    };
    let notice = Notice::Alive;
    let first = line(&Numbered { number, notice });
    let lines = stream::unfold(
        (Some(first), receiver, hub),
        async |(first, mut receiver, hub)| {
            let next = match first {
                Some(first) => first,
                None => next(&mut receiver, &hub).await?,
            };
            Some((
                Ok::<_, std::convert::Infallible>(next),
                (None, receiver, hub),
            ))
        },
    );
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from_stream(lines)).into_response()
}

async fn next(receiver: &mut Receiver<Line>, hub: &Hub) -> Option<Line> {
    let notice = match tokio::time::timeout(ALIVE_EVERY, receiver.recv()).await {
        Ok(Ok(line)) => return Some(line),
        Ok(Err(RecvError::Closed)) => return None,
        Ok(Err(RecvError::Lagged(_))) => Notice::Missed,
        Err(_) => Notice::Alive,
    };
    // Lines that are still in the channel have lower numbers, and come later: no harm, as a number only says what the agent had.
    let number = match notice {
        Notice::Alive if receiver.is_empty() => hub.count(),
        _ => 0,
    };
    Some(line(&Numbered { number, notice }))
}

fn line(notice: &impl Serialize) -> Bytes {
    let mut line = serde_json::to_vec(notice).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
