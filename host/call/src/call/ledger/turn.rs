//! Turns: requests for one call ask the store one after the other.

use std::sync::Arc;

use tokio::sync::watch;

use super::answer::Key;
use super::shared::Shared;

/// The turn of a request at the store: no other one for the same call asks the store meanwhile.
#[derive(Debug)]
pub(super) struct Turn {
    shared: Arc<Shared>,
    key: Key,
    _held: watch::Sender<()>,
}

impl Turn {
    /// Waits for the turn at this call.
    pub(super) async fn take(shared: &Arc<Shared>, key: &Key) -> Self {
        loop {
            let mut other = {
                let mut calls = shared.calls.lock();
                match calls.turns.get(key) {
                    Some(other) => other.clone(),
                    None => {
                        let (held, ends) = watch::channel(());
                        calls.turns.insert(key.clone(), ends);
                        return Self {
                            shared: Arc::clone(shared),
                            key: key.clone(),
                            _held: held,
                        };
                    }
                }
            };
            // An error says that it has ended.
            _ = other.changed().await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.calls.lock().turns.remove(&self.key);
    }
}
