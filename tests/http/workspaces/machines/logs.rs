//! The log of a machine while it is made: readers follow it, and a call that waits tells of it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::*;

/// It writes a line, and waits for a file of its machine.
const WAITS: &str = "start_up = 'echo one; until [ -e go ]; do sleep 0.01; done; echo two'";

#[tokio::test(flavor = "multi_thread")]
async fn it_is_followed_and_a_call_that_waits_tells_of_it() {
    let machines = Machines::new(&[("box", WAITS)]);
    machines.put("a", "box").await;
    let events = machines
        .serving
        .request(Method::GET, "/v1/chats/c/events")
        .send();
    let mut events = events.await.unwrap();
    let mut follows = client();
    follows.args(["workspaces", "log", "a", "--follow", "--server"]);
    follows.arg(&machines.serving.url);
    follows.env("TOOLHOST_TOKEN", TOKEN).stdout(Stdio::piped());
    let mut follows = follows.spawn().unwrap();
    let mut lines = BufReader::new(follows.stdout.take().unwrap()).lines();
    let calling = async {
        let output = machines.run("c", "a", "echo done").await;
        assert_eq!(output, "done\n");
    };
    let watching = async {
        let mut heard = String::new();
        while !heard.contains(r#""message":"one""#) {
            let chunk = events.chunk().await.unwrap();
            heard.push_str(&String::from_utf8_lossy(
                &chunk.expect("the stream goes on"),
            ));
        }
        let (page, next) = machines.page(0, 0).await;
        assert!(page.ends_with("the start-up script runs\none\n"), "{page}");
        // Nothing comes, so a reader that does not wait has an answer at once.
        assert_eq!(machines.page(next, 0).await, (String::new(), next));
        std::fs::write(machines.only().join("work/go"), "").unwrap();
        let (mut page, mut after) = (String::new(), next);
        while !page.ends_with("the start-up script is done\n") {
            let (more, next) = machines.page(after, 60).await;
            (page, after) = (page + &more, next);
        }
        assert_eq!(page, "two\nthe start-up script is done\n");
    };
    futures_util::join!(calling, watching);
    for line in ["one", "two"] {
        let found = lines.by_ref().any(|one| one.unwrap() == line);
        assert!(found, "the reader hears no {line:?}");
    }
    kill(Pid::from_raw(follows.id() as i32), Signal::SIGINT).unwrap();
    assert!(follows.wait().unwrap().success());
}
