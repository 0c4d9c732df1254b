//! The suites once more, on the workspaces of agents.

use std::process::Stdio;

use super::*;

/// Runs some tests of this program on workspaces of another kind. Returns how many passed.
pub(crate) async fn passed(kind: &str, arguments: &[&str]) -> usize {
    let mut run = tokio::process::Command::new(std::env::current_exe().unwrap());
    run.args(arguments)
        .env(elsewhere::KIND, kind)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    // As long as some tests of them that wait in vain, one after the other.
    let output = tokio::time::timeout(PATIENCE * 4, run.output()).await;
    let output = output.expect("the tests do not end").unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let passed = text.lines().filter(|line| line.ends_with(" ... ok"));
    passed.count()
}

/// The suite of workspaces.
async fn workspaces(kind: &str) {
    // Those tests choose their workspaces themselves.
    let this = ["--skip", "workspace::kinds", "--skip", "workspace::faults"];
    let passed = passed(kind, &[&["workspace::"][..], &this].concat()).await;
    assert!(passed >= 15, "{passed}");
}

/// The suites of the tools, whose calls run in the default workspace of a host.
async fn tools(kind: &str) {
    // Other suites, and what the agent has no part in: its operations are those of the suite of workspaces.
    let others = ["agent::", "http::", "workspace::"];
    let same = ["execute::same_as_sh", "execute::terminals", "hostile_files"];
    let skipped = others.into_iter().chain(same);
    let skipped = skipped.flat_map(|name| ["--skip", name]);
    let arguments: Vec<_> = ["execute::", "files::"]
        .into_iter()
        .chain(skipped)
        .collect();
    let passed = passed(kind, &arguments).await;
    assert!(passed >= 30, "{passed}");
}

#[tokio::test]
async fn an_agent_does_what_this_machine_does() {
    if !elsewhere::is_elsewhere() {
        workspaces("agent").await;
        tools("agent").await;
    }
}

/// It differs from another agent in the way to it alone, so that the tools are as they are there.
#[tokio::test]
async fn an_agent_that_connects_does_it_as_well() {
    if !elsewhere::is_elsewhere() {
        workspaces("dialled").await;
    }
}
