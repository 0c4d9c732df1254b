//! A host that is killed while it works for many callers, who go on asking the next one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::*;
use crate::cli::{self, Serving};

/// A server program with a token, in a workspace that keeps its state.
fn start(workspace: &std::path::Path) -> Serving {
    let mut command = cli::server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    Serving::of(command)
}

/// Calls until there is an answer, whichever server gives it.
async fn persist(
    client: &reqwest::Client,
    url: &watch::Receiver<String>,
    id: &str,
    body: &Value,
) -> Value {
    let mut url = url.clone();
    loop {
        let at = url.borrow_and_update().clone();
        let request = client
            .put(format!("{at}/v1/chats/chat/calls/{id}"))
            .bearer_auth(TOKEN)
            .json(body);
        if let Ok(response) = request.send().await {
            let status = response.status().as_u16();
            match (status, response.json::<Value>().await) {
                (200, Ok(body)) => return body,
                (429 | 503, _) => {
                    tokio::task::yield_now().await;
                    continue;
                }
                (_, Err(_)) => {}
                (_, Ok(body)) => panic!("{id}: {status} {body}"),
            }
        }
        // That server is gone. There is another one soon.
        if *url.borrow() == at {
            tokio::time::timeout(PATIENCE, url.changed())
                .await
                .expect("there is another server")
                .unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_twice_though_the_host_is_killed_and_no_caller_is_left_alone() {
    const CALLS: usize = 300;
    const CALLERS: usize = 8;
    const KILLS: usize = 9;
    /// Some calls reply as much as makes the journal be rewritten in between, so that this is interrupted, too.
    const LARGE: usize = 2;
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = start(workspace.path());
    let (urls, url) = watch::channel(serving.url.clone());
    let client = crate::harness::http_client().build().unwrap();
    let (replies, replied) = watch::channel(0_usize);
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let replies = Arc::new(replies);
    let caller = async || {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= CALLS {
                return;
            }
            let id = format!("call_{number}");
            let more = match number % LARGE {
                0 => "; head -c 60000 /dev/zero | tr '\\0' x",
                _ => "",
            };
            let body = execute(&format!("echo {id} >> counter; echo {id}{more}"));
            let outcome = persist(&client, &url, &id, &body).await;
            outcomes.lock().unwrap().push((id, body, outcome));
            replies.send_modify(|count| *count += 1);
        }
    };
    let killer = async {
        let (mut replied, mut at) = (replied, 0);
        for _ in 0..KILLS {
            let random = uuid::Uuid::new_v4().as_u128();
            // In the midst of what is done for a call: the moment is what is random here, nothing waits for it.
            at += 1 + (random % 30) as usize;
            replied.wait_for(|count| *count >= at).await.unwrap();
            let moment = std::time::Duration::from_micros((random >> 64) as u64 % 40_000);
            tokio::time::sleep(moment).await;
            serving.signal(nix::sys::signal::Signal::SIGKILL);
            let workspace = workspace.path().to_owned();
            serving = tokio::task::spawn_blocking(move || start(&workspace))
                .await
                .unwrap();
            urls.send_replace(serving.url.clone());
        }
    };
    let callers = (0..CALLERS).map(|_| caller());
    tokio::join!(futures_util::future::join_all(callers), killer);

    let counter = std::fs::read_to_string(workspace.path().join("counter")).unwrap();
    let outcomes = outcomes.into_inner().unwrap();
    assert_eq!(outcomes.len(), CALLS);
    let mut unknown = 0;
    for (id, body, outcome) in outcomes {
        let runs = counter.lines().filter(|line| *line == id).count();
        match outcome["state"].as_str() {
            Some("finished") => {
                assert_eq!(runs, 1, "{id}: {outcome}");
                let output = outcome["structured"]["output"].as_str().unwrap();
                assert!(output.starts_with(&format!("{id}\n")), "{id}: {output}");
            }
            Some("unknown") => {
                unknown += 1;
                assert!(runs <= 1, "{id} ran {runs} times");
                let text = outcome["content"][0]["text"].as_str().unwrap();
                let says = "outcome unknown: the host stopped while this call ran";
                assert!(text.starts_with(says), "{text}");
                assert_eq!(outcome["error"]["kind"], "unknown_outcome");
            }
            _ => panic!("{id}: {outcome}"),
        }
        // The last host knows what every other one replied.
        assert_eq!(persist(&client, &url, &id, &body).await, outcome, "{id}");
    }
    assert!(
        unknown <= CALLERS * KILLS,
        "{unknown} of {CALLS} are unknown, more than ran when the host was killed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_call_says_what_its_process_wrote() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = start(workspace.path());
    let (_urls, url) = watch::channel(serving.url.clone());
    let client = crate::harness::http_client().build().unwrap();
    let body = execute("echo as far as it came; echo > begun; exec sleep 1000");
    let mut call = Box::pin(persist(&client, &url, "1", &body));
    let begun = crate::harness::until("the command runs", || {
        workspace.path().join("begun").exists().then_some(())
    });
    tokio::select! {
        outcome = &mut call => panic!("{outcome}"),
        () = begun => {}
    }
    drop(call);
    // The process is known by what it wrote once that is saved.
    crate::harness::until("the output is saved", || {
        saved(workspace.path()).then_some(())
    })
    .await;
    serving.signal(nix::sys::signal::Signal::SIGKILL);
    let serving = start(workspace.path());
    let (_urls, url) = watch::channel(serving.url.clone());
    let outcome = persist(&client, &url, "1", &body).await;
    assert_eq!(outcome["state"], "unknown", "{outcome}");
    let text = outcome["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("as far as it came\n"), "{text}");
    let [process] = outcome["processes"].as_array().unwrap().as_slice() else {
        panic!("{outcome}");
    };
    assert!(text.contains(process.as_str().unwrap()), "{text}");
}

/// Whether any saved output has the line.
fn saved(workspace: &std::path::Path) -> bool {
    fn any(directory: &std::path::Path) -> bool {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            let path = entry.path();
            let is_it = std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"as far as it"));
            is_it || path.is_dir() && any(&path)
        })
    }
    any(&workspace.join(".state"))
}
