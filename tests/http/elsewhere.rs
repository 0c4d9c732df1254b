//! Calls whose workspace answers late, or stops answering.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, Semaphore};
use toolhost_core::ChatId;
use toolhost_local::Local;
use toolhost_local::process::Config;
use toolhost_workspace::operation::{Answer, Operation};
use toolhost_workspace::process::{Error, Info, State};
use toolhost_workspace::{Context, Workspace};

use super::*;
use crate::harness::processes::temporary;
use crate::harness::{spawner, until, wait, without_namespaces};

/// A workspace that stands for one on another machine.
#[derive(Debug)]
struct Elsewhere {
    inner: Local,
    /// A start takes one of these.
    starts: Semaphore,
    asked: Notify,
    listed: Notify,
    /// Whether nobody hears how a start ended.
    silent: bool,
    /// Whether nothing can be ended, as what is stuck in the kernel.
    stuck: bool,
    /// The end of a process takes one of these.
    ends: Semaphore,
}

impl Elsewhere {
    fn new(directory: &Path, starts: usize, silent: bool) -> Arc<Self> {
        let config = Config {
            spawner: Some(spawner()),
            sandbox: without_namespaces(),
            ..Config::new(directory.to_owned())
        };
        let files = toolhost_local::files::Config::new(directory.to_owned());
        Arc::new(Self {
            inner: wait(Local::open(config, files, &temporary())).unwrap(),
            starts: Semaphore::new(starts),
            asked: Notify::new(),
            listed: Notify::new(),
            silent,
            stuck: false,
            ends: Semaphore::new(100),
        })
    }

    /// One on which nothing ends.
    fn stuck(directory: &Path) -> Arc<Self> {
        let mut workspace = Self::new(directory, 100, false);
        Arc::get_mut(&mut workspace).unwrap().stuck = true;
        workspace
    }

    fn processes(&self) -> Vec<Info> {
        let chat: ChatId = "a".parse().unwrap();
        self.inner.processes().list(Some(&chat), false, 100).0
    }
}

impl Workspace for Elsewhere {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn inner(&self) -> Option<&dyn Workspace> {
        Some(&self.inner)
    }

    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        async move {
            match &operation {
                Operation::Start(_) => {
                    self.asked.notify_one();
                    self.starts.acquire().await.unwrap().forget();
                }
                Operation::End(_) if self.stuck => return Answer::End(Ok(State::Running)),
                Operation::End(_) => self.ends.acquire().await.unwrap().forget(),
                _ => {}
            }
            let answer = self.inner.call(context, operation).await;
            match answer {
                Answer::Start(_) if self.silent => {
                    let error = Error::UnknownOutcome("the agent stopped answering".into());
                    Answer::Start(Err(error))
                }
                Answer::List(_) => {
                    self.listed.notify_one();
                    answer
                }
                answer => answer,
            }
        }
        .boxed()
    }
}

async fn served(workspace: &Arc<Elsewhere>) -> (Setup, Server) {
    let setup = Setup::with(|builder| builder.workspace(workspace.clone())).await;
    let server = Server::start(setup.host.clone()).await;
    (setup, server)
}

#[tokio::test]
async fn what_is_started_after_its_call_was_cancelled_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Elsewhere::new(directory.path(), 0, false);
    let (_setup, server) = served(&workspace).await;
    let call = server.put("a", "1", execute("exec sleep 98765"));
    let cancelling = async {
        workspace.asked.notified().await;
        let path = "/v1/chats/a/calls/1";
        server.request(Method::DELETE, path).send().await.unwrap()
    };
    // The start hangs for longer than anybody waits for it.
    let ((status, reply), cancelled) = tokio::join!(call, cancelling);
    assert_eq!((status, &reply["state"]), (200, &json!("cancelled")));
    assert_eq!(cancelled.json::<Value>().await.unwrap(), reply);
    assert_eq!(reply["processes"], json!([]));
    let message = reply["error"]["message"].as_str().unwrap();
    let says = "a process is still being started: it will be ended as soon as it is there";
    assert!(message.ends_with(says), "{message}");
    workspace.starts.add_permits(1);
    let ended = until("it was started, and ended", || {
        let mut infos = workspace.processes();
        infos.retain(|info| !info.state.is_live());
        infos.pop()
    });
    let ended = ended.await;
    let exit = ended.state.exit_status().unwrap();
    assert_eq!(exit.signal.as_deref(), Some("SIGTERM"));
}

/// A server that shuts down says so until everything has ended, also to clients that come only now.
#[tokio::test]
async fn a_server_that_shuts_down_answers_until_all_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut workspace = Elsewhere::new(directory.path(), 100, false);
    Arc::get_mut(&mut workspace).unwrap().ends = Semaphore::new(0);
    let (setup, server) = served(&workspace).await;
    let url = server.url.clone();
    // Each with a connection of its own.
    let client = || crate::harness::client();
    let put = |call: &str, command: &str| {
        let request = client().put(format!("{url}/v1/chats/a/calls/{call}"));
        request.bearer_auth(TOKEN).json(&execute(command))
    };
    let call = tokio::spawn(put("0", "echo > begun; exec sleep 98765").send());
    crate::harness::file(&directory.path().join("begun")).await;
    let stopping = tokio::spawn(server.stop());
    until("it shuts down", || {
        setup.host.stopping().is_cancelled().then_some(())
    })
    .await;
    for request in [client().get(format!("{url}/readyz")), put("1", "echo x")] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
    }
    workspace.ends.add_permits(100);
    let reply: Value = call.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(reply["state"], "cancelled");
    // Its port may belong to the server of another test from here on.
    stopping.await.unwrap();
}

/// A process that starts while its chat ends is one of those that the end reports.
#[tokio::test]
async fn the_end_of_a_chat_names_a_process_that_was_just_starting() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Elsewhere::new(directory.path(), 0, false);
    let (_setup, server) = served(&workspace).await;
    let call = server.put("a", "1", execute("exec sleep 98765"));
    let ending = async {
        workspace.asked.notified().await;
        let deleted = server.request(Method::DELETE, "/v1/chats/a").send();
        let starting = async {
            workspace.listed.notified().await;
            workspace.starts.add_permits(1);
        };
        let (deleted, ()) = tokio::join!(deleted, starting);
        deleted.unwrap().json::<Value>().await.unwrap()
    };
    let ((_, reply), ended) = tokio::join!(call, ending);
    assert_eq!(reply["state"], "cancelled", "{reply}");
    let command = &ended["ended"][0]["command"];
    assert_eq!(command, "exec sleep 98765", "{ended}");
    assert_eq!(ended["ended"].as_array().unwrap().len(), 1, "{ended}");
}

/// The reply of a cancelled call says so if its command could not be ended, and how to look at it.
#[tokio::test]
async fn a_command_that_cannot_be_killed_is_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Elsewhere::stuck(directory.path());
    let (_setup, server) = served(&workspace).await;
    let path = "/v1/chats/a/calls/1";
    let call = server.put("a", "1", execute("echo > begun; exec sleep 1000"));
    let cancelling = async {
        crate::harness::file(&directory.path().join("begun")).await;
        server.request(Method::DELETE, path).send().await.unwrap()
    };
    let ((status, reply), _) = tokio::join!(call, cancelling);
    assert_eq!((status, &reply["state"]), (200, &json!("cancelled")));
    let structured = &reply["structured"];
    let error = structured["error"].as_str().unwrap();
    let says = "the call was cancelled, but the command could not be killed and still runs after ";
    assert!(error.starts_with(says), "{error}");
    assert_eq!(structured["running"], true, "{reply}");
    assert_eq!(
        structured["background_process_id"], reply["processes"][0],
        "{reply}"
    );
    workspace.end_all().await;
}

#[tokio::test]
async fn a_call_of_which_nobody_knows_whether_it_ran_is_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Elsewhere::new(directory.path(), 100, true);
    let (setup, server) = served(&workspace).await;
    let body = execute("echo ran >> counter");
    let first = server.put("a", "1", body.clone()).await;
    let (status, reply) = &first;
    assert_eq!((*status, &reply["state"]), (200, &json!("unknown")));
    let text = reply["content"].to_string();
    assert!(text.contains("the agent stopped answering"), "{text}");
    // It is not run again, and says the same to everybody.
    assert_eq!(server.put("a", "1", body).await, first);
    assert_eq!(workspace.processes().len(), 1);
    let metrics = setup.host.metrics().text();
    assert!(
        metrics.contains("toolhost_calls_total{state=\"unknown\"} 1"),
        "{metrics}"
    );
}
