//! Hosts to which something happens while callers call, who go on asking the next one.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::sync::watch;

use crate::harness::serving::{Serving, server};
use crate::harness::{Mounted, PATIENCE, TOKEN};
use crate::http::execute;

/// A server program with a token, in a workspace that keeps its state.
pub(super) fn start(workspace: &std::path::Path) -> Serving {
    let mut command = server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    // The disk of the state directory may take no files.
    command.arg("--audit-dir").arg(workspace.join("audit"));
    Serving::of(command)
}

/// Returns whether an answer refuses a call that cannot be recorded.
pub(super) fn is_unrecorded(answer: &Value) -> bool {
    let kind = answer["type"].as_str();
    kind.is_some_and(|kind| kind.ends_with("unrecorded"))
}

/// Calls until there is an answer, whichever server gives it.
pub(super) async fn persist(
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
                (503, Ok(body)) if is_unrecorded(&body) => return body,
                (429 | 503, _) => {
                    crate::harness::a_moment().await;
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

/// A fault of a host, or of the disk of its state directory, while the host works.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The host is killed, and another one starts.
    Kill,
    /// The host stops for a while.
    Stop,
    /// The host stops, and is killed before it goes on.
    KillStopped,
    /// The disk is filled to its last byte.
    Fill,
    /// The disk has space again.
    Empty,
    /// The disk meets an error, and is read-only from then on.
    Fail,
}

/// A host in a workspace, for callers who go on asking the next one.
pub(super) struct Hosts {
    pub(super) workspace: tempfile::TempDir,
    /// The disk of the state directory, if it is not that of the workspace.
    disk: Option<Mounted>,
    pub(super) serving: Serving,
    pub(super) urls: watch::Sender<String>,
}

impl Hosts {
    /// Starts a host. `mount` mounts the disk of its state directory.
    pub(super) fn start(mount: Option<fn(&std::path::Path) -> Mounted>) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let disk = mount.map(|mount| {
            let state = workspace.path().join(".state");
            std::fs::create_dir(&state).unwrap();
            let disk = mount(&state);
            crate::harness::with_code(state, None);
            disk
        });
        let serving = start(workspace.path());
        let (urls, _) = watch::channel(serving.url.clone());
        Self {
            workspace,
            disk,
            serving,
            urls,
        }
    }

    /// Kills the host and starts another one.
    async fn restart(&mut self) {
        self.serving.signal(Signal::SIGKILL);
        self.start_again().await;
    }

    async fn start_again(&mut self) {
        let workspace = self.workspace.path().to_owned();
        self.serving = tokio::task::spawn_blocking(move || start(&workspace))
            .await
            .unwrap();
        self.urls.send_replace(self.serving.url.clone());
    }

    /// Kills the host and starts another one with the files of its disk, as they are now, on a disk that can be written.
    pub(super) async fn move_to_another_disk(&mut self) {
        self.serving.signal(Signal::SIGKILL);
        let [state, copy] = [".state", "copy"].map(|name| self.workspace.path().join(name));
        let copied = Command::new("cp").arg("-a").args([&state, &copy]).status();
        assert!(copied.unwrap().success());
        self.disk = None;
        std::fs::remove_dir(&state).unwrap();
        std::fs::rename(copy, state).unwrap();
        self.start_again().await;
    }

    pub(super) fn disk(&self) -> &Mounted {
        self.disk.as_ref().unwrap()
    }

    fn send(&self, signal: Signal) {
        let pid = nix::unistd::Pid::from_raw(self.serving.child.id().cast_signed());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    async fn meet(&mut self, event: Event, pause: Duration) {
        match event {
            Event::Kill => self.restart().await,
            Event::Stop => {
                self.send(Signal::SIGSTOP);
                tokio::time::sleep(pause).await;
                self.send(Signal::SIGCONT);
            }
            Event::KillStopped => {
                self.send(Signal::SIGSTOP);
                tokio::time::sleep(pause).await;
                self.restart().await;
            }
            Event::Fill => self.disk().fill(),
            Event::Empty => self.disk().empty(),
            Event::Fail => self.disk().fail(),
        }
    }

    /// Returns how often the command of each call ran.
    pub(super) fn runs(&self) -> HashMap<String, usize> {
        let counter = std::fs::read_to_string(self.workspace.path().join("counter")).unwrap();
        let mut runs = HashMap::new();
        for line in counter.lines() {
            *runs.entry(line.to_owned()).or_default() += 1;
        }
        runs
    }
}

const CALLERS: usize = 8;

/// Lets callers make 300 calls while these events happen. Then kills the host, and repeats each call. No command runs twice, and each
/// caller gets an answer. Returns how many calls were unknown at first, how many became unknown later, and how many were refused.
pub(super) async fn call_during(mut hosts: Hosts, events: &[Event]) -> (usize, usize, usize) {
    const CALLS: usize = 300;
    /// Some replies are so large that the log of the store grows.
    const LARGE: usize = 2;
    let has_disk = hosts.disk.is_some();
    let url = hosts.urls.subscribe();
    let client = crate::harness::client();
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
    let meeting = async {
        let (mut replied, mut at) = (replied, 0);
        for event in events {
            let random = uuid::Uuid::new_v4().as_u128();
            // In the midst of what is done for a call: the moment is what is random here, nothing waits for it.
            at += 5 + (random % 25) as usize;
            let reached = replied.wait_for(|count| *count >= at.min(CALLS));
            tokio::time::timeout(PATIENCE, reached)
                .await
                .expect("calls are answered")
                .unwrap();
            let moment = Duration::from_micros((random >> 64) as u64 % 40_000);
            tokio::time::sleep(moment).await;
            hosts.meet(*event, moment).await;
        }
    };
    let callers = (0..CALLERS).map(|_| caller());
    tokio::join!(futures_util::future::join_all(callers), meeting);
    match events.iter().any(|event| matches!(event, Event::Fail)) {
        true => hosts.move_to_another_disk().await,
        false => hosts.restart().await,
    }

    let outcomes = outcomes.into_inner().unwrap();
    assert_eq!(outcomes.len(), CALLS);
    let mut runs = hosts.runs();
    let (mut unknown, mut forgotten, mut refused) = (0, 0, 0);
    for (id, body, outcome) in outcomes {
        let again = persist(&client, &url, &id, &body).await;
        if is_unrecorded(&outcome) {
            refused += 1;
            assert_eq!(runs.insert(id, 1), None, "{outcome}");
            assert_eq!(again["state"], "finished", "{again}");
            continue;
        }
        let runs = runs.get(&id).copied().unwrap_or_default();
        match outcome["state"].as_str() {
            Some("finished") => {
                if outcome["structured"]["status"] == "failed_to_start" {
                    // On a full disk, there was no room for its temporary files.
                    assert_eq!(runs, 0, "{id}: {outcome}");
                    continue;
                }
                assert_eq!(runs, 1, "{id}: {outcome}");
                let output = outcome["structured"]["output"].as_str().unwrap();
                assert!(output.starts_with(&format!("{id}\n")), "{id}: {output}");
                if has_disk && again["state"] == "unknown" {
                    forgotten += 1;
                    continue;
                }
            }
            Some("unknown") => {
                unknown += 1;
                assert!(runs <= 1, "{id} ran {runs} times");
                let text = outcome["content"][0]["text"].as_str().unwrap();
                assert!(text.starts_with("outcome unknown: "), "{text}");
                assert_eq!(outcome["error"]["kind"], "unknown_outcome");
                if has_disk {
                    assert_eq!(again["state"], "unknown", "{id}: {again}");
                    continue;
                }
                let says = "outcome unknown: the host stopped while this call ran";
                assert!(text.starts_with(says), "{text}");
            }
            _ => panic!("{id}: {outcome}"),
        }
        // The last host knows what every other one replied.
        assert_eq!(again, outcome, "{id}");
    }
    assert_eq!(
        hosts.runs(),
        runs,
        "no repeat ran, except of a call that was refused"
    );
    let kills = |event: &&Event| matches!(event, Event::Kill | Event::KillStopped);
    assert!(
        unknown <= CALLERS * events.iter().filter(kills).count(),
        "{unknown} of {CALLS} are unknown, more than ran when the host was killed"
    );
    (unknown, forgotten, refused)
}
