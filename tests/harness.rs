//! The parts that tests share: hosts in temporary workspaces, guests from their text, and a server on a free port.

#[path = "harness/cluster.rs"]
#[allow(dead_code, reason = "benchmarks need none")]
pub(crate) mod cluster;
#[path = "harness/compiled.rs"]
mod compiled;
#[path = "harness/connecting.rs"]
#[allow(dead_code, reason = "benchmarks need little of it")]
pub(crate) mod connecting;
#[path = "harness/elsewhere.rs"]
pub(crate) mod elsewhere;
#[path = "harness/mounted.rs"]
mod mounted;
#[path = "harness/network.rs"]
#[allow(dead_code, reason = "benchmarks need none")]
pub(crate) mod network;
#[path = "harness/postgres.rs"]
#[allow(dead_code, reason = "benchmarks need none")]
pub(crate) mod postgres;
#[path = "harness/processes.rs"]
pub(crate) mod processes;
#[path = "harness/proxy.rs"]
#[allow(dead_code, reason = "benchmarks need none")]
pub(crate) mod proxy;
#[path = "harness/serving.rs"]
pub(crate) mod serving;
#[path = "harness/terminal.rs"]
#[allow(dead_code, reason = "benchmarks need none")]
pub(crate) mod terminal;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use toolhost_agent::Offer;
use toolhost_call::audit::Audit;
use toolhost_core::{Arguments, Builder, CallError, CallId, Host, Outcome, Request};
use toolhost_http::Tls;
use toolhost_http::access::{Access, Token, Tokens};
use toolhost_http::console::{Console, KEY_BYTES};
use toolhost_local::process::Spawner;
use toolhost_sandbox::Policy;
use toolhost_server::{ServerParts, serve};
use toolhost_workspace::process::{AllQuery, Info};

pub(crate) use compiled::{shared_code, with_code};
#[allow(unused_imports, reason = "benchmarks use the rest")]
pub(crate) use mounted::Mounted;

/// The token of every test server.
pub(crate) const TOKEN: &str = "a-token-for-tests";

/// Nothing here takes as long, on a slow machine with much to do either; a test that waits for it hangs, and says so.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// A script that waits until the last child is `sleep`: on a busy machine, it is a copy of the shell for a while.
pub(crate) const UNTIL_IT_SLEEPS: &str = "until grep -q ^sleep /proc/$!/cmdline; do :; done";

/// A directory for the state directories of this process.
pub(crate) fn state_dir() -> &'static Path {
    static STATE: OnceLock<PathBuf> = OnceLock::new();
    STATE.get_or_init(postgres::until_exit::directory)
}

/// A state directory that several tests of this process use, with the code of the embedded components.
pub(crate) fn shared_state(name: &str) -> PathBuf {
    static MADE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let state = state_dir().join(name);
    let mut made = MADE.lock().unwrap();
    if made.insert(name.to_owned()) {
        with_code(state.clone(), None);
    }
    state
}

/// The Toolhost program.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_toolhost"))
}

/// A client that takes no proxy from the environment.
pub(crate) fn client() -> reqwest::Client {
    http_client().timeout(PATIENCE).build().unwrap()
}

/// Copies the program to where every user can run it.
pub(crate) fn copy_for_others(directory: &Path) -> PathBuf {
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let copy = directory.join("toolhost");
    // In another process: a test that forked while this one had the copy open for writing would keep it from being executed.
    let copied = std::process::Command::new("cp")
        .args([program(), &copy])
        .status();
    assert!(copied.unwrap().success());
    mode(directory, 0o755);
    mode(&copy, 0o755);
    copy
}

/// A spawner for all tests of this process. Without cgroups, as most machines delegate none: whoever tests with them has a
/// spawner of its own.
pub(crate) fn spawner() -> Spawner {
    static SPAWNER: OnceLock<Spawner> = OnceLock::new();
    SPAWNER
        .get_or_init(|| Spawner::start_without_cgroup(program()).unwrap())
        .clone()
}

/// The policy of commands that tell a test the numbers of their processes: in namespaces, they have others.
pub(crate) fn without_namespaces() -> Policy {
    Policy {
        no_namespaces: true,
        ..Policy::default()
    }
}

/// A host with a workspace of its own.
pub(crate) struct Setup {
    pub(crate) host: Host,
    pub(crate) workspace: TempDir,
    /// The agent, if one has the workspace.
    _agent: Option<Box<dyn std::any::Any + Send + Sync>>,
    /// Further hosts of the same chats.
    pub(crate) others: Vec<Host>,
}

impl Setup {
    /// A host with the embedded tools.
    pub(crate) async fn new() -> Self {
        if !elsewhere::is_elsewhere() {
            return Self::with(|builder| builder).await;
        }
        let root = tempfile::tempdir().unwrap();
        let (workspace, agent) = elsewhere::of_any_kind(root.path()).await;
        let mut hosts = Vec::new();
        for state in cluster::states_of_kind().await {
            let change = |builder: Builder| match state {
                Some(state) => builder.workspace(Arc::clone(&workspace)).state(state),
                None => builder.workspace(Arc::clone(&workspace)),
            };
            hosts.push(Self::with(change).await.host);
        }
        Self {
            host: hosts.remove(0),
            workspace: root,
            _agent: agent,
            others: hosts,
        }
    }

    /// A host that was changed before its start.
    pub(crate) async fn with(change: impl FnOnce(Builder) -> Builder) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let builder = Host::builder(workspace.path())
            .state_dir(shared_state("state"))
            .shared_code(shared_code().join("toolhost"))
            .spawner(spawner())
            .sandbox(without_namespaces());
        let host = change(builder).start().await.unwrap();
        Self::of(host, workspace)
    }

    /// A host that was started elsewhere, in this workspace.
    pub(crate) fn of(host: Host, workspace: TempDir) -> Self {
        Self {
            host,
            workspace,
            _agent: None,
            others: Vec::new(),
        }
    }

    /// How many processes live in the workspace, on whichever machine it is.
    pub(crate) async fn live(&self) -> usize {
        let query = AllQuery {
            running_only: true,
            max: usize::MAX,
            ..AllQuery::default()
        };
        self.host
            .workspace()
            .list_all(query)
            .await
            .unwrap()
            .processes
            .len()
    }

    /// The workspace as commands see it.
    pub(crate) fn root(&self) -> PathBuf {
        self.workspace.path().canonicalize().unwrap()
    }

    /// Calls a tool in the chat `chat`.
    pub(crate) async fn outcome(&self, tool: &str, arguments: Value) -> Arc<Outcome> {
        call(&self.host, request("chat", tool, &arguments))
            .await
            .unwrap()
    }

    /// Calls a tool and returns its structured reply.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.outcome(tool, arguments).await;
        let reply = outcome
            .result
            .as_ref()
            .unwrap_or_else(|error| panic!("{error:?}"));
        serde_json::from_str(reply.structured().unwrap().get()).unwrap()
    }

    /// Runs a command in the foreground.
    pub(crate) async fn execute(&self, command: &str) -> Value {
        self.call("execute", json!({ "command": command })).await
    }

    /// Waits until a file of the workspace is there, and returns its text.
    pub(crate) async fn file(&self, name: &str) -> String {
        file(&self.root().join(name)).await
    }
}

/// A request with a call id of its own.
pub(crate) fn request(chat: &str, tool: &str, arguments: &Value) -> Request {
    Request::new(
        chat.parse().unwrap(),
        CallId::random(),
        tool,
        Arguments::parse(&arguments.to_string()).unwrap(),
    )
}

/// Calls, and fails the test if that takes for ever.
pub(crate) async fn call(host: &Host, request: Request) -> Result<Arc<Outcome>, CallError> {
    tokio::time::timeout(PATIENCE, host.call(request))
        .await
        .expect("the call hangs")
}

/// Waits until a file is there and ends with a line end, as `echo` leaves it, and returns its text.
pub(crate) async fn file(path: &Path) -> String {
    until(&format!("{} is written", path.display()), || {
        std::fs::read_to_string(path)
            .ok()
            .filter(|text| text.ends_with('\n'))
    })
    .await
}

/// Waits for a future on a thread of its own, where the caller cannot wait.
pub(crate) fn wait<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let runtime = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| runtime.block_on(future));
        waiting.join().unwrap()
    })
}

/// Waits for something that has no event to wait for, such as the end of somebody else's process.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        a_moment().await;
    }
}

/// Lets other tests have the processor before something is looked at again.
pub(crate) async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until a process is gone.
pub(crate) async fn until_dead(pid: u32) {
    until(&format!("{pid} is gone"), || (!is_alive(pid)).then_some(())).await;
}

/// Writes a certificate or a key as files have it.
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// A client that goes straight to its server.
pub(crate) fn http_client() -> reqwest::ClientBuilder {
    let tls = toolhost_call::client::tls(rustls::RootCertStore::empty()).unwrap();
    toolhost_call::client::builder(tls).redirect(reqwest::redirect::Policy::default())
}

/// A certificate for this machine that signed itself, and its key, in files.
pub(crate) struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) files: [PathBuf; 2],
}

impl Certificate {
    /// Makes one, and replaces the files of the one before it.
    pub(crate) fn new(directory: &Path) -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let write = |name: &str, text: String, mode| {
            let path = directory.join(name);
            let new = directory.join(format!("{name}.new"));
            std::fs::write(&new, text).unwrap();
            std::fs::set_permissions(&new, PermissionsExt::from_mode(mode)).unwrap();
            std::fs::rename(&new, &path).unwrap();
            path
        };
        let key = pem("PRIVATE KEY", &made.signing_key.serialize_der());
        let key = write("key.pem", key, 0o600);
        let certificate = write("cert.pem", pem("CERTIFICATE", made.cert.der()), 0o644);
        Self {
            der: made.cert.der().clone(),
            files: [certificate, key],
        }
    }

    pub(crate) fn tls(&self) -> Tls {
        let [certificate, key] = &self.files;
        Tls::open(certificate, key).unwrap()
    }
}

/// A server on a free port, ended with the test.
pub(crate) struct Server {
    pub(crate) url: String,
    /// Servers of further hosts of the same chats. Each request goes to the next one.
    others: Vec<Server>,
    requests: std::sync::atomic::AtomicUsize,
    pub(crate) client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<Vec<Info>>,
}

impl Server {
    pub(crate) async fn start(parts: impl Into<ServerParts>) -> Self {
        Self::with_tokens(parts, Token::new(TOKEN).unwrap().into()).await
    }

    /// The same, with tokens of which one should be [`TOKEN`].
    pub(crate) async fn with_tokens(parts: impl Into<ServerParts>, tokens: Tokens) -> Self {
        let parts = parts.into();
        Self::run(tokens, async move |listener, access, stop| {
            serve(listener, parts, access, stop).await
        })
        .await
    }

    /// A server of the agent API alone.
    pub(crate) async fn agent(offer: Offer) -> Self {
        let tokens = Token::new(TOKEN).unwrap().into();
        Self::run(tokens, async move |listener, access, stop| {
            toolhost_link::serve(listener, offer, access, stop).await
        })
        .await
    }

    async fn run<F, R>(tokens: Tokens, serve: F) -> Self
    where
        F: FnOnce(TcpListener, Access, BoxFuture<'static, ()>) -> R + Send + 'static,
        R: Future<Output = std::io::Result<Vec<Info>>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let access = Access {
            tokens,
            console: Some(Console::new([7; KEY_BYTES], Audit::default())),
            ..Access::default()
        };
        let stopped = async { stopped.await.unwrap_or_default() };
        let serving = serve(listener, access, stopped.boxed());
        let served = tokio::spawn(async { serving.await.unwrap() });
        Self {
            url,
            others: Vec::new(),
            requests: 0.into(),
            client: client(),
            stop: Some(stop),
            served,
        }
    }

    /// Adds the server of another host of the same chats.
    pub(crate) fn add(&mut self, other: Self) {
        self.others.push(other);
    }

    /// Begins a request with the right token.
    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let number = self
            .requests
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let other = (number % (self.others.len() + 1)).checked_sub(1);
        let url = other.map_or(&self.url, |other| &self.others[other].url);
        self.client
            .request(method, format!("{url}{path}"))
            .bearer_auth(TOKEN)
    }

    /// Puts a call and returns status and body.
    pub(crate) async fn put(&self, chat: &str, call: &str, body: Value) -> (u16, Value) {
        let path = format!("/v1/chats/{chat}/calls/{call}");
        let response = self
            .request(reqwest::Method::PUT, &path)
            .json(&body)
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Ends the server as SIGTERM would, and returns the processes that were still live.
    pub(crate) async fn stop(mut self) -> Vec<Info> {
        _ = self.stop.take().unwrap().send(());
        tokio::time::timeout(PATIENCE, &mut self.served)
            .await
            .expect("the server does not stop")
            .unwrap()
    }
}

/// Runs something and returns what was logged meanwhile, at level debug and above, in this process.
///
/// Guests run on threads of their own, so the log of the whole process is captured, with the lines of other tests in it.
pub(crate) async fn logged<T>(run: impl Future<Output = T>) -> String {
    static CAPTURES: Mutex<Vec<Arc<Mutex<Vec<u8>>>>> = Mutex::new(Vec::new());
    static SUBSCRIBED: OnceLock<()> = OnceLock::new();

    struct Writer;

    impl std::io::Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            for capture in CAPTURES.lock().unwrap().iter() {
                capture.lock().unwrap().extend_from_slice(bytes);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    SUBSCRIBED.get_or_init(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false);
        subscriber.with_writer(|| Writer).init();
    });
    let captured = Arc::new(Mutex::new(Vec::new()));
    CAPTURES.lock().unwrap().push(Arc::clone(&captured));
    run.await;
    CAPTURES
        .lock()
        .unwrap()
        .retain(|capture| !Arc::ptr_eq(capture, &captured));
    let captured = std::mem::take(&mut *captured.lock().unwrap());
    String::from_utf8(captured).unwrap()
}
