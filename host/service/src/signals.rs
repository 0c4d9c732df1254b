//! Signals: which end the program, and which make it reload its files.

use std::fs::File;
use std::sync::OnceLock;

use futures_util::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The meaning of SIGHUP for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// The signal ends the program, as it does by default.
    Ends,
    /// The signal makes the program reload its files, unless the terminal of the program was closed.
    Reloads,
}

/// How this program was started, as far as SIGHUP is concerned.
#[derive(Clone, Copy, Debug)]
struct Started {
    /// Whether SIGHUP was ignored at the start, as under `nohup`.
    ignores: bool,
    /// Whether the program has a terminal, which can be closed.
    terminal: bool,
}

static STARTED: OnceLock<Started> = OnceLock::new();

/// Remembers how this program was started. Call this before anything handles a signal.
pub(crate) fn remember_start() {
    started();
}

fn started() -> Started {
    *STARTED.get_or_init(|| Started {
        ignores: toolhost_local::process::is_ignored(nix::libc::SIGHUP),
        terminal: has_terminal(),
    })
}

/// Returns whether this program has a terminal that was not closed.
fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Waits for a signal that ends the program: SIGINT, SIGTERM, or SIGHUP if that ends the program. From this call on, these
/// signals no longer kill the process.
pub fn ended(hangup: Hangup) -> impl Future<Output = ()> {
    let started = started();
    let ends = [SignalKind::interrupt(), SignalKind::terminate()].map(caught);
    let hangups = caught(SignalKind::hangup());
    async move {
        let ends = ends.into_iter().flatten().map(|mut signal| {
            Box::pin(async move { _ = signal.recv().await })
                as std::pin::Pin<Box<dyn Future<Output = ()> + Send>>
        });
        let mut all: Vec<_> = ends.collect();
        if let Some(mut hangups) = hangups.filter(|_| !started.ignores) {
            all.push(Box::pin(async move {
                loop {
                    hangups.recv().await;
                    let closed = started.terminal && !has_terminal();
                    if hangup == Hangup::Ends || closed {
                        return;
                    }
                }
            }));
        }
        if all.is_empty() {
            return std::future::pending().await;
        }
        select_all(all).await;
    }
}

/// Calls `reload` at every SIGHUP, for as long as the runtime runs.
pub fn on_reload(reload: impl Fn() + Send + 'static) {
    let Some(mut hangups) = caught(SignalKind::hangup()) else {
        return;
    };
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            reload();
        }
    });
}

fn caught(kind: SignalKind) -> Option<Signal> {
    let caught = signal(kind);
    caught
        .inspect_err(|error| tracing::warn!(%error, "a signal cannot be handled"))
        .ok()
}
