//! A store that refuses changes for a while.

use std::sync::Arc;

use super::*;
use crate::Sqlite;

/// The disk to which the changes of these tests write.
#[derive(Debug, Default)]
struct Disk {
    is_full: bool,
    stored: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Number {
    number: u32,
    bytes: usize,
    disk: Arc<Mutex<Disk>>,
}

impl Change for Number {
    fn store(self, _: &dyn Store) -> Answer<'_, ()> {
        let mut disk = self.disk.lock();
        let stored = match (disk.is_full, self.number) {
            (true, _) => Err(StoreError::Full),
            (false, 13) => Err(StoreError::Damaged {
                path: "store.db".into(),
                problem: String::new(),
            }),
            (false, number) => {
                disk.stored.push(number);
                Ok(())
            }
        };
        Box::pin(async { stored })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[tokio::test]
async fn changes_wait_in_order_and_damage_holds_up_no_other() {
    let store = Sqlite::in_memory().unwrap();
    let disk = Arc::new(Mutex::new(Disk::default()));
    let backlog = Backlog::default();
    let change = |number| Number {
        number,
        bytes: 1,
        disk: Arc::clone(&disk),
    };
    backlog.store(&store, change(1)).await;
    disk.lock().is_full = true;
    for number in [2, 13, 3] {
        backlog.store(&store, change(number)).await;
    }
    backlog.catch_up(&store).await.unwrap_err();
    assert_eq!(backlog.look(|changes| changes.count()), 3);
    disk.lock().is_full = false;
    backlog.store(&store, change(4)).await;
    assert_eq!(disk.lock().stored, [1, 2, 3, 4]);
    assert_eq!(backlog.look(|changes| changes.count()), 0);
}

#[tokio::test]
async fn the_oldest_of_too_many_are_dropped() {
    let store = Sqlite::in_memory().unwrap();
    let disk = Arc::new(Mutex::new(Disk::default()));
    let backlog = Backlog::default();
    let change = |number, bytes| Number {
        number,
        bytes,
        disk: Arc::clone(&disk),
    };
    assert!(backlog.keep(change(0, 1)));
    for number in 1..=8192 {
        assert!(!backlog.keep(change(number, 1)));
    }
    let first = backlog.look(|changes| changes.next().map(|change| change.number));
    assert_eq!(first, Some(1));
    backlog.keep(change(9000, MAX_BYTES - 1));
    assert_eq!(backlog.look(|changes| changes.count()), 2);
    backlog.catch_up(&store).await.unwrap();
    assert_eq!(disk.lock().stored, [8192, 9000]);
}
