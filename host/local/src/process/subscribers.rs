//! The subscribers that follow all processes of a registry.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;

use super::{Denials, ProcessEvent, Subject, Subscriber};

/// A list of subscribers. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscribers(Arc<RwLock<Vec<Weak<dyn Subscriber>>>>);

impl Subscribers {
    /// Adds a subscriber, and removes those that were dropped.
    pub(super) fn add(&self, subscriber: Weak<dyn Subscriber>) {
        let mut subscribers = self.0.write();
        subscribers.retain(|subscriber| subscriber.strong_count() > 0);
        subscribers.push(subscriber);
    }

    /// Sends an event to all subscribers.
    pub(super) fn tell(&self, process: Subject<'_>, event: ProcessEvent<'_>) {
        for subscriber in self.0.read().iter().filter_map(Weak::upgrade) {
            subscriber.event(process, event);
        }
    }

    /// Sends denials of the sandbox.
    pub(super) fn tell_denials(&self, denials: Denials<'_>) {
        for subscriber in self.0.read().iter().filter_map(Weak::upgrade) {
            subscriber.denied(denials);
        }
    }
}
