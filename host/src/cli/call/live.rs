//! A call as a terminal shows it while it runs: its output, and its progress.

use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::screen::{Screen, Streamed};
use crate::cli::remote::{self, Events};
use toolhost_call::call::Request;
use toolhost_call::events::{Event, Listener, Subject};
use toolhost_core::Host;
use toolhost_state::id::{CallId, ChatId};

/// How much output is read at once, in bytes.
const PIECE: usize = 64 << 10;

/// How many pieces wait to be shown.
const WAITING: usize = 16;

/// After how long a call has a line with its progress, and how often that changes.
const TICK: Duration = Duration::from_secs(1);

/// How long the last events of a call that is over are waited for. A reply that was saved earlier has no events.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// A call that a terminal shows.
pub(super) struct Live {
    seen: Receiver<Seen>,
    screen: Screen,
    is_over: bool,
}

/// A thing that happened in the call.
enum Seen {
    Output(Vec<u8>),
    Progress {
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// Some output cannot be shown.
    Lost,
    /// The call has ended, and all that it waited for.
    Over,
}

impl Live {
    /// Shows a call that will run in this process.
    pub(super) fn here(host: &Host, request: &Request) -> Self {
        let (to, seen) = mpsc::channel(WAITING);
        let (chat, call) = (request.chat.clone(), request.id.clone());
        let listener = host.events().listen(&chat, None);
        let host = host.clone();
        tokio::spawn(async move { listen(&host, listener, &chat, &call, &to).await });
        Self::new(seen, request)
    }

    /// Shows a call that will run on a server; `None` if the server does not let this client follow the chat.
    pub(super) async fn on_server(server: &remote::Server, request: &Request) -> Option<Self> {
        let (to, seen) = mpsc::channel(WAITING);
        let events = server.events(&request.chat, Some(&request.id)).await;
        let events = events.inspect_err(|error| {
            let error = format!("{error:#}");
            tracing::debug!(error, "the output is shown at the end of the call");
        });
        let events = events.ok()?;
        tokio::spawn(async move { follow(events, &to).await });
        Some(Self::new(seen, request))
    }

    fn new(seen: Receiver<Seen>, request: &Request) -> Self {
        Self {
            seen,
            screen: Screen::new(&request.tool),
            is_over: false,
        }
    }

    /// Removes the line with the progress.
    pub(super) fn clear(&mut self) {
        self.screen.clear();
    }

    /// Shows a line of this program.
    pub(super) fn say(&mut self, text: &str) {
        self.screen.say(text);
    }

    async fn during<T>(&mut self, run: impl Future<Output = T>) -> T {
        let mut run = std::pin::pin!(run);
        let mut tick = interval_at(Instant::now() + TICK, TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                seen = self.seen.recv(), if !self.is_over => self.show(seen),
                result = &mut run => return result,
                _ = tick.tick() => self.screen.tick(),
            }
        }
    }

    fn show(&mut self, seen: Option<Seen>) {
        match seen {
            Some(Seen::Output(bytes)) => self.screen.output(&bytes),
            Some(Seen::Progress {
                done,
                total,
                message,
            }) => self.screen.progress(done, total, message.as_deref()),
            Some(Seen::Lost) => self.screen.lost(),
            Some(Seen::Over) => self.is_over = true,
            None => {
                // The stream of events was cut.
                self.screen.lost();
                self.is_over = true;
            }
        }
    }
}

/// Runs something, and shows the call meanwhile if there is a terminal.
pub(super) async fn during<T>(live: &mut Option<Live>, run: impl Future<Output = T>) -> T {
    match live {
        Some(live) => live.during(run).await,
        None => run.await,
    }
}

/// Shows the rest of a call that has a reply, and returns how much of its output was shown.
pub(super) async fn rest(live: Option<Live>) -> Streamed {
    let Some(mut live) = live else {
        return Streamed::default();
    };
    while !live.is_over {
        match timeout(LAST_EVENTS, live.seen.recv()).await {
            Ok(seen) => live.show(seen),
            Err(_) => break,
        }
    }
    live.screen.finish()
}

/// Passes the events of a call in this process on.
async fn listen(
    host: &Host,
    mut listener: Listener,
    chat: &ChatId,
    call: &CallId,
    to: &Sender<Seen>,
) {
    while let Some(numbered) = listener.next().await {
        let event = numbered.event;
        let seen = match event {
            Event::Reset(_) => Seen::Lost,
            ref event if event.call() != Some(call) => continue,
            Event::Output {
                process,
                offset,
                length,
            } => {
                let end = offset.saturating_add(length);
                if !read(host, chat, &process, offset, end, to).await {
                    return;
                }
                continue;
            }
            Event::Progress {
                done,
                total,
                message,
                ..
            } => Seen::Progress {
                done,
                total,
                message,
            },
            Event::Call { state, .. } if !state.is_live() => Seen::Over,
            _ => continue,
        };
        let is_over = matches!(seen, Seen::Over);
        if to.send(seen).await.is_err() || is_over {
            return;
        }
    }
}

/// Passes output on. Returns `false` if the call is no longer shown.
async fn read(
    host: &Host,
    chat: &ChatId,
    process: &Subject,
    mut cursor: u64,
    end: u64,
    to: &Sender<Seen>,
) -> bool {
    while cursor < end {
        let max = usize::try_from(end - cursor).unwrap_or(PIECE).min(PIECE);
        let read = host.workspace().read(Some(chat), &process.id, cursor, max);
        let seen = match read.await {
            Ok(chunk) if chunk.offset == cursor && !chunk.data.is_empty() => {
                cursor += chunk.data.len() as u64;
                Seen::Output(chunk.data.to_vec())
            }
            _ => {
                cursor = end;
                Seen::Lost
            }
        };
        if to.send(seen).await.is_err() {
            return false;
        }
    }
    true
}

/// Passes the events of a call on a server on.
async fn follow(mut events: Events, to: &Sender<Seen>) {
    while let Ok(Some(heard)) = events.next().await {
        let seen = match heard.name.as_str() {
            "output" => match heard.output() {
                Some((_, bytes)) => Seen::Output(bytes),
                None => Seen::Lost,
            },
            "gap" | "reset" => Seen::Lost,
            "progress" => Seen::Progress {
                done: heard.fraction("done").unwrap_or_default(),
                total: heard.fraction("total"),
                message: heard.text("message").map(str::to_owned),
            },
            "call" if !matches!(heard.text("state"), Some("queued" | "running")) => Seen::Over,
            _ => continue,
        };
        let is_over = matches!(seen, Seen::Over);
        if to.send(seen).await.is_err() || is_over {
            return;
        }
    }
}
