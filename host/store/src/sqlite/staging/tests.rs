//! Tests of staging without a database.

use super::*;
use crate::sqlite::schema;
use crate::sqlite::tests::process;

fn staging(directory: &StateDir) -> Mutex<Staging> {
    let connection = Connection::open_in_memory().unwrap();
    schema::migrate(&connection, schema::STEPS, |_| Ok(())).unwrap();
    let clock = Clock::open(&connection, || Ok(0)).unwrap();
    let witness = Arc::new(Mutex::new(Witness::none()));
    let staging = Staging::open(directory, connection, (witness, Arc::default(), clock));
    Mutex::new(staging.unwrap())
}

/// While each batch is committed, another change is staged, as under load. The thread that commits must let go of the connection.
#[test]
fn a_commit_does_not_wait_for_later_changes() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    let staging = staging(&directory);
    staging.lock().put_process(&process("0"), true).unwrap();
    let mut commits = 0;
    let fault = commit(&staging, |_| {
        commits += 1;
        if commits < 100 {
            let id = commits.to_string();
            staging.lock().put_process(&process(&id), true).unwrap();
        }
        Uncommitted::default()
    });
    assert!(fault.is_none());
    assert!(commits <= 2, "{commits} commits");
    assert!(!staging.lock().is_empty());
}
