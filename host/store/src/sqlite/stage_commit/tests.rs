//! Tests of commits that fail.

use super::*;
use crate::sqlite::open;
use crate::sqlite::tests::process;

fn staged(id: usize) -> StagedProcess {
    StagedProcess {
        process: process(&id.to_string()),
        is_new: true,
    }
}

/// On a full disk, each further change tries the batch again. If each change of the batch was tried, that would take long.
#[test]
fn a_disk_that_takes_nothing_is_not_tried_for_each_change() {
    let (full, _) = std::sync::mpsc::sync_channel(1);
    let mut core = open::open_in_memory(None, full).unwrap();
    let mut batch = Batch::default();
    batch.processes = (0..1000).map(staged).collect();
    core.connection
        .pragma_update(None, "query_only", true)
        .unwrap();
    let uncommitted = core.commit_staged(&batch);
    assert!(uncommitted.fault.is_some());
    assert_eq!(uncommitted.left.processes.len(), 1000);
    assert!(core.metrics.failures.load(Ordering::Relaxed) < 100);
    core.connection
        .pragma_update(None, "query_only", false)
        .unwrap();
    let uncommitted = core.commit_staged(&uncommitted.left);
    assert!(uncommitted.fault.is_none() && uncommitted.left.is_empty());
    for id in ["0", "999"] {
        assert!(core.has_process(id).unwrap());
    }
}
