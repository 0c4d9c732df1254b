//! A store that refuses changes for a while.

use std::sync::Arc;

use super::*;

/// The disk to which the changes of these tests write.
#[derive(Debug, Default)]
struct Disk {
    is_full: bool,
    /// Changes of at least so many bytes do not fit; 0: all fit.
    room: usize,
    stored: Vec<u32>,
    refused: usize,
}

#[derive(Clone, Debug)]
struct Number {
    number: u32,
    bytes: usize,
    disk: Arc<Mutex<Disk>>,
}

impl Change for Number {
    type Store = ();

    /// Numbers with the same last digit are of the same record.
    fn is_of_same(&self, other: &Self) -> bool {
        self.number % 10 == other.number % 10
    }

    fn store(self, (): &()) -> Answer<'_, ()> {
        let mut disk = self.disk.lock();
        let stored = match (disk.is_full, self.number) {
            (true, _) => Err(StoreError::Full {
                path: "disk".into(),
            }),
            _ if (1..=self.bytes).contains(&disk.room) => {
                disk.refused += 1;
                Err(StoreError::Full {
                    path: "disk".into(),
                })
            }
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
    let disk = Arc::new(Mutex::new(Disk::default()));
    let backlog = Backlog::default();
    let change = |number| Number {
        number,
        bytes: 1,
        disk: Arc::clone(&disk),
    };
    backlog.store(&(), change(1)).await;
    disk.lock().is_full = true;
    for number in [2, 13, 3] {
        backlog.store(&(), change(number)).await;
    }
    backlog.catch_up(&()).await.unwrap_err();
    assert_eq!(backlog.look(|changes| changes.count()), 3);
    disk.lock().is_full = false;
    backlog.store(&(), change(4)).await;
    assert_eq!(disk.lock().stored, [1, 2, 3, 4]);
    assert_eq!(backlog.look(|changes| changes.count()), 0);
}

/// A later change of the same record waits for the one that does not fit.
#[tokio::test]
async fn a_change_that_does_not_fit_holds_up_no_other_record() {
    let disk = Arc::new(Mutex::new(Disk::default()));
    let backlog = Backlog::default();
    let change = |number, bytes| Number {
        number,
        bytes,
        disk: Arc::clone(&disk),
    };
    disk.lock().is_full = true;
    for (number, bytes) in [(1, 100), (11, 1), (2, 1)] {
        backlog.store(&(), change(number, bytes)).await;
    }
    disk.lock().is_full = false;
    disk.lock().room = 50;
    backlog.store(&(), change(3, 1)).await;
    backlog.store(&(), change(21, 1)).await;
    assert_eq!(disk.lock().stored, [2, 3]);
    disk.lock().room = 0;
    backlog.catch_up(&()).await.unwrap();
    assert_eq!(disk.lock().stored, [2, 3, 1, 11, 21]);
}

/// If the disk takes nothing, not every change that waits is tried.
#[tokio::test]
async fn a_full_disk_is_not_asked_for_every_change() {
    let disk = Arc::new(Mutex::new(Disk::default()));
    let backlog = Backlog::default();
    for number in 0..10 {
        backlog.keep(Number {
            number,
            bytes: 100,
            disk: Arc::clone(&disk),
        });
    }
    disk.lock().room = 50;
    backlog.catch_up(&()).await.unwrap_err();
    assert_eq!(disk.lock().refused, TRIES);
}

#[tokio::test]
async fn the_oldest_of_too_many_are_dropped() {
    let disk = Arc::new(Mutex::new(Disk::default()));
    let backlog = Backlog::default();
    let change = |number, bytes| Number {
        number,
        bytes,
        disk: Arc::clone(&disk),
    };
    assert!(backlog.keep(change(0, 1)).is_first);
    for number in 1..=8192 {
        let added = backlog.keep(change(number, 1));
        let dropped: Vec<_> = added.dropped.iter().map(|change| change.number).collect();
        assert!(!added.is_first && (dropped == [0]) == (number == 8192));
    }
    let first = backlog.look(|changes| changes.next().map(|change| change.number));
    assert_eq!(first, Some(1));
    backlog.keep(change(9000, MAX_BYTES - 1));
    assert_eq!(backlog.look(|changes| changes.count()), 2);
    backlog.catch_up(&()).await.unwrap();
    assert_eq!(disk.lock().stored, [8192, 9000]);
}
