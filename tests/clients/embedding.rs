//! `examples/embedding`, which `cargo test` builds, and the test itself where only tests were built.

use super::*;
use crate::harness::state_dir;

#[tokio::test]
async fn a_program_embeds_the_library() {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().join("../examples/embedding");
    if !program.exists() {
        let arguments = ["build", "-p", "toolhost", "--example", "embedding"];
        let status = Command::new(env!("CARGO")).args(arguments).status();
        assert!(status.unwrap().success());
    }
    let workspace = tempfile::tempdir().unwrap();
    // The second start knows what the first did.
    for _ in 0..2 {
        let mut command = clean(&program);
        command.arg(workspace.path());
        command.arg(state_dir().join("embedding"));
        let output = run(command).await;
        let lines: Vec<_> = printed(&output).lines().collect();
        let [tools, reply, rest @ ..] = lines.as_slice() else {
            panic!("{lines:?}");
        };
        assert_eq!(*tools, "tools: 11");
        let reply: serde_json::Value =
            serde_json::from_str(reply.strip_prefix("reply: ").unwrap()).unwrap();
        assert_eq!(reply["output"], "hello\n");
        let expected = [
            "asked again: the same is true",
            "heard: it runs",
            "cancelled: Cancelled",
            "waiting: Cancelled",
        ];
        assert_eq!(rest, expected);
    }
    let log = std::fs::read_to_string(workspace.path().join("log")).unwrap();
    assert_eq!(log, "hello\n", "the command ran twice");
}
