//! Descriptors: what has ended holds none.

use std::path::PathBuf;

use serde_json::json;

use super::Measured;
use crate::harness::until;

const COUNT: usize = 200;

impl Measured {
    fn descriptors(&self) -> Vec<PathBuf> {
        let fds = std::fs::read_dir(self.proc("fd")).unwrap().flatten();
        fds.filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .collect()
    }
}

/// Some of them without output, some with a little, and some with more than memory has.
#[tokio::test]
async fn two_hundred_ended_processes_leave_no_descriptor() {
    let host = Measured::start();
    let commands = ["true", "echo hi", "seq 1 20000"];
    for command in commands {
        host.call("execute", json!({ "command": command })).await;
    }
    let before = host.descriptors();
    for command in commands.iter().cycle().take(COUNT) {
        let reply = host.call("execute", json!({ "command": command })).await;
        assert_eq!(reply["exit_code"], 0, "{reply}");
    }
    let mut after = Vec::new();
    // A few more may be there: the runtime and connections have theirs.
    let gone = || {
        after = host.descriptors();
        (after.len() < before.len() + 10).then_some(())
    };
    if tokio::time::timeout(
        std::time::Duration::from_secs(20),
        until("they are closed", gone),
    )
    .await
    .is_err()
    {
        panic!(
            "{} before, {} after: {:?}",
            before.len(),
            after.len(),
            after.iter().take(40).collect::<Vec<_>>()
        );
    }
}
