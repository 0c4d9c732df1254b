//! Turns: tasks that work on one thing do it one after the other, and those that work on others are not held up.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The turns that are taken, each with the channel that ends with it.
type Taken<K> = Arc<Mutex<HashMap<K, watch::Receiver<()>>>>;

/// The things that are worked on, by their keys.
#[derive(Debug)]
pub struct Turns<K>(Taken<K>);

/// A turn, until it is dropped.
#[derive(Debug)]
pub struct Turn<K: Eq + Hash> {
    taken: Taken<K>,
    key: K,
    _held: watch::Sender<()>,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// Waits for the turn at a thing.
    pub async fn take(&self, key: &K) -> Turn<K> {
        loop {
            let mut other = {
                let mut taken = self.0.lock();
                match taken.get(key) {
                    Some(other) => other.clone(),
                    None => {
                        let (held, ends) = watch::channel(());
                        taken.insert(key.clone(), ends);
                        return Turn {
                            taken: Arc::clone(&self.0),
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

impl<K: Eq + Hash> Drop for Turn<K> {
    fn drop(&mut self) {
        self.taken.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn a_turn_holds_up_those_at_the_same_thing_alone() {
        let turns = Turns::default();
        let first = turns.take(&"a").await;
        drop(turns.take(&"b").await);
        let mut second = pin!(turns.take(&"a"));
        let mut context = Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(first);
        let Poll::Ready(second) = second.as_mut().poll(&mut context) else {
            panic!("the turn is free");
        };
        assert_eq!(turns.0.lock().len(), 1);
        drop(second);
        assert!(turns.0.lock().is_empty());
    }
}
