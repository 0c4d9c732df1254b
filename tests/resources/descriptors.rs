//! Descriptors: what has ended holds none.

use std::path::PathBuf;

use serde_json::json;
use toolhost_needs::needs;

use super::Measured;
use crate::harness::until;

const COUNT: usize = 100;

impl Measured {
    fn descriptors(&self) -> Vec<PathBuf> {
        let fds = std::fs::read_dir(self.proc("fd")).unwrap().flatten();
        fds.filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .collect()
    }
}

/// Some of them without output, some with a little, and some with more than memory has. The descriptors of a host are shown to
/// root only.
#[needs(root)]
#[tokio::test]
async fn a_hundred_ended_processes_leave_no_descriptor() {
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
    // A few more may be there: the runtime and connections have theirs.
    until("the descriptors are closed", || {
        (host.descriptors().len() < before.len() + 10).then_some(())
    })
    .await;
}
