//! Servers that are killed, stopped and cut off from everything, while clients repeat their calls.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::field::Field;
use super::*;
use crate::harness::TOKEN;
use crate::harness::network::{Network, Way};

/// How long a request may take before its client sends it again. A call that runs goes on.
const AT_ONE: Duration = Duration::from_secs(5);

/// How long nothing is lost, or something is, unless enough calls get answers in less time.
const LASTS: Duration = Duration::from_secs(5);

/// How many clients and how many chats there are.
const CLIENTS: usize = 16;
const CHATS: usize = 30;

/// The time within which each client should have its answer.
const ANSWERED: Duration = Duration::from_secs(30);

/// What became of the calls.
#[derive(Debug, Default)]
struct Tally {
    finished: usize,
    cancelled: usize,
    unknown: Vec<usize>,
    /// Calls whose agent was killed while their commands ran.
    interrupted: Vec<usize>,
    retries: usize,
    longest: Duration,
}

/// Clients, which make calls and check the answers.
struct Clients<'a> {
    field: &'a Field,
    client: reqwest::Client,
    next: AtomicUsize,
    are_done: AtomicBool,
    /// Whether commands may have been killed.
    are_interrupted: AtomicBool,
    answered: watch::Sender<usize>,
    tally: Mutex<Tally>,
}

impl<'a> Clients<'a> {
    fn new(field: &'a Field) -> Self {
        // The balancer chooses for each request.
        let client = crate::harness::http_client().pool_max_idle_per_host(0);
        Self {
            field,
            client: client.build().unwrap(),
            next: AtomicUsize::new(0),
            are_done: AtomicBool::new(false),
            are_interrupted: AtomicBool::new(false),
            answered: watch::Sender::default(),
            tally: Mutex::default(),
        }
    }

    /// Makes calls until [`Clients::are_done`], all clients together one in this time.
    async fn run(&self, every: Duration, cancels: bool) {
        let clients = (0..CLIENTS).map(async |_| {
            let mut ticks = tokio::time::interval(every * CLIENTS as u32);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !self.are_done.load(Ordering::Relaxed) {
                ticks.tick().await;
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                self.call(number, cancels && number % 10 == 9).await;
            }
        });
        futures_util::future::join_all(clients).await;
    }

    /// Makes a call until it has an answer.
    async fn call(&self, number: usize, is_cancelled: bool) {
        let begun = Instant::now();
        let path = format!("/v1/chats/c{}/calls/{number}", number % CHATS);
        let command = match (is_cancelled, number % 7) {
            (true, _) => "echo $$ >> pids; exec sleep 1000".to_owned(),
            (false, 0) => format!("sleep 0.5; echo {number} >> ran"),
            (false, _) => format!("echo {number} >> ran"),
        };
        let mut body = json!({
            "tool": "execute", "arguments": { "command": command, "timeout": "10m" },
        });
        if let Some(workspace) = [Some("far"), Some("near"), None][number % CHATS % 3] {
            body["workspace"] = workspace.into();
        }
        let before = self.field.lines("pids").len();
        let is_answered = AtomicBool::new(false);
        let cancelling = async {
            // It cancels once this command runs, or another one that is cancelled.
            while self.field.lines("pids").len() == before && !is_answered.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            self.asked(&Method::DELETE, &path, None, begun).await;
        };
        let putting = async {
            let answer = self.asked(&Method::PUT, &path, Some(&body), begun).await;
            is_answered.store(true, Ordering::Relaxed);
            answer
        };
        let answer = match is_cancelled {
            true => tokio::join!(putting, cancelling).0,
            false => putting.await,
        };
        {
            let mut tally = self.tally.lock().unwrap();
            tally.longest = tally.longest.max(begun.elapsed());
            match answer["state"].as_str() {
                Some("finished") if answer["structured"]["success"] == true => {
                    assert!(!is_cancelled, "{number}: {answer}");
                    tally.finished += 1;
                }
                Some("cancelled") if is_cancelled => tally.cancelled += 1,
                // The host that ran it was cut off, and did not hear why its command was ended.
                Some("finished") if answer["structured"]["cause"] == "cancelled" => {
                    assert!(is_cancelled, "{number}: {answer}");
                    tally.cancelled += 1;
                }
                Some("unknown") => tally.unknown.push(number),
                Some("finished")
                    if body["workspace"] == "near"
                        && self.are_interrupted.load(Ordering::Relaxed) =>
                {
                    tally.interrupted.push(number);
                }
                _ => panic!("{number}: {answer}"),
            }
        }
        if !is_cancelled {
            self.look_up(number, &path, &answer).await;
        }
        self.answered.send_modify(|answered| *answered += 1);
    }

    /// Asks until there is an answer other than that it is to be repeated.
    async fn asked(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        begun: Instant,
    ) -> Value {
        let url = format!("{}{path}", self.field.balancer.url);
        loop {
            let answer = self.ask(method, &url, body).await;
            match answer {
                // 204: it had not arrived, and will not run.
                Some((200 | 204, answer)) => return answer,
                // The cancellation came first.
                Some((409, answer)) if answer["code"] == "cancelled" => {
                    return json!({ "state": "cancelled" });
                }
                // Nothing can be said now, or somebody else has to be asked.
                None | Some((421 | 429 | 502 | 503, _)) => {}
                Some((status, answer)) => panic!("{method} {path}: {status} {answer}"),
            }
            let waited = begun.elapsed();
            assert!(waited < PATIENCE, "{method} {path}: {answer:?}");
            self.tally.lock().unwrap().retries += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks once; `None` if the connection broke, or there was no answer in time.
    async fn ask(&self, method: &Method, url: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let mut request = self.client.request(method.clone(), url).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.timeout(AT_ONE).send().await.ok()?;
        match answer.status().as_u16() {
            204 => Some((204, Value::Null)),
            status => Some((status, answer.json().await.ok()?)),
        }
    }

    /// Looks a call up at one of the hosts, which may not know it now, and never says that there is none.
    async fn look_up(&self, number: usize, path: &str, answer: &Value) {
        let host = &self.field.hosts[number % self.field.hosts.len()];
        let url = format!("{}{path}", host.url);
        match self.ask(&Method::GET, &url, None).await {
            Some((200, found)) => assert_eq!(&found, answer, "{path} at {}", host.name),
            None | Some((502 | 503, _)) => {}
            Some((status, found)) => panic!("{path} at {}: {status} {found}", host.name),
        }
    }

    /// Waits until so many more calls have answers, but no longer than [`LASTS`].
    async fn answers(&self, more: usize) {
        let until = *self.answered.borrow() + more;
        let mut answered = self.answered.subscribe();
        let waiting = answered.wait_for(|answered| *answered >= until);
        _ = tokio::time::timeout(LASTS, waiting).await;
    }

    /// Ends all chats, and checks what was done.
    async fn finish(&self) -> HashMap<usize, usize> {
        for chat in 0..CHATS {
            let path = format!("/v1/chats/c{chat}");
            self.asked(&Method::DELETE, &path, None, Instant::now())
                .await;
        }
        self.field.nothing_runs().await;
        for host in &self.field.hosts {
            let url = format!("{}/v1/processes?running=true", host.url);
            let (status, listed) = self.ask(&Method::GET, &url, None).await.unwrap();
            assert_eq!(
                (status, &listed["processes"]),
                (200, &json!([])),
                "{listed}"
            );
            assert!(listed["unanswered"].is_null(), "{listed}");
        }
        self.field.runs()
    }
}

/// What is lost, and for how long: until so many calls have answers, or for [`LASTS`].
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// A host is killed, and started again.
    Kill,
    /// A host stops for longer than its lease. It knows nothing of the time in which others take its calls over.
    Freeze,
    /// A host is restarted in an orderly way.
    Drain,
    /// Nothing arrives that a host and the database send each other.
    StoreSilent,
    /// Nothing arrives that others and a host send each other.
    FrontSilent,
    /// Nothing arrives at or from the agent that listens, or the one that connects.
    FarSilent,
    NearSilent,
    /// The agent that connects is killed, with its commands, and started again.
    NearKill,
    /// The connections to the agents are cut, where that can be done.
    AgentsCut,
    /// All connections to the database are cut, or those by which hosts listen.
    StoreCut,
    ListenersCut,
    /// The database is restarted.
    Restart,
}

const LOSSES: [Loss; 12] = [
    Loss::Kill,
    Loss::StoreSilent,
    Loss::NearSilent,
    Loss::ListenersCut,
    Loss::Drain,
    Loss::FarSilent,
    Loss::Freeze,
    Loss::AgentsCut,
    Loss::NearKill,
    Loss::FrontSilent,
    Loss::StoreCut,
    Loss::Restart,
];

/// Loses something, and restores it.
async fn lose(clients: &Clients<'_>, loss: Loss, number: usize) {
    const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolhost'";
    let field = clients.field;
    let host = &field.hosts[number % field.hosts.len()];
    let silent = async |way: &Way| {
        way.silence();
        clients.answers(40).await;
        way.mend();
    };
    let cut = async |which: &str| {
        let admin = postgres::connect(&field.url).await;
        admin.execute(&format!("{CUT}{which}"), &[]).await.unwrap();
    };
    match loss {
        Loss::Kill => {
            host.signal(Signal::SIGKILL);
            host.ended().await;
            clients.answers(20).await;
            host.start();
        }
        Loss::Freeze => {
            host.signal(Signal::SIGSTOP);
            is_out(&field.url, &host.name).await;
            clients.answers(20).await;
            host.signal(Signal::SIGCONT);
        }
        Loss::Drain => {
            host.signal(Signal::SIGTERM);
            assert!(host.ended().await.success());
            host.start();
        }
        Loss::StoreSilent => silent(&host.store).await,
        Loss::FrontSilent => silent(&host.front).await,
        Loss::FarSilent => silent(&field.far.way).await,
        Loss::NearSilent => silent(&field.near.way).await,
        Loss::NearKill => {
            clients.are_interrupted.store(true, Ordering::Relaxed);
            field.near.restart();
        }
        Loss::AgentsCut => {
            for agent in [&field.far, &field.near] {
                if let Way::Proxy(proxy) = &agent.way {
                    proxy.cut();
                }
            }
        }
        Loss::StoreCut => cut("").await,
        Loss::ListenersCut => cut(" AND query LIKE '%LISTEN%'").await,
        Loss::Restart => tokio::task::block_in_place(|| {
            let mut database = field.database.lock().unwrap();
            database.stop();
            database.run();
        }),
    }
}

/// Waits until the lease of a host has run out.
async fn is_out(url: &str, name: &str) {
    const OUT: &str = "SELECT coalesce(bool_and(until < clock_timestamp()), true) FROM toolhost.hosts WHERE name = $1";
    let (admin, begun) = (postgres::connect(url).await, Instant::now());
    let is_out = async || -> bool { admin.query_one(OUT, &[&name]).await.unwrap().get(0) };
    while !is_out().await {
        assert!(
            begun.elapsed() < PATIENCE,
            "the lease of {name} does not run out"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Loses one thing after the other, and each at least once, for so long.
async fn ordeal(network: Option<Network>, lasts: Duration, seed: usize) {
    let field = Field::start(network, "2s").await;
    let (clients, begun) = (Clients::new(&field), Instant::now());
    let mut losses = 0;
    let losing = async {
        while losses < LOSSES.len() || begun.elapsed() < lasts {
            clients.answers(20).await;
            let (round, at) = (losses / LOSSES.len(), losses % LOSSES.len());
            // Each round has another order: these factors share no divisor with the number of losses.
            let factor = [1, 5, 7, 11][(seed + round) % 4];
            let loss = LOSSES[(seed + round + at * factor) % LOSSES.len()];
            println!("{:>6.1?}: {loss:?}", begun.elapsed());
            lose(&clients, loss, seed + losses).await;
            losses += 1;
        }
        clients.answers(40).await;
        clients.are_done.store(true, Ordering::Relaxed);
    };
    tokio::join!(clients.run(Duration::from_millis(40), true), losing);
    let runs = clients.finish().await;
    let tally = clients.tally.lock().unwrap();
    let calls = clients.next.load(Ordering::Relaxed);
    for number in (0..calls).filter(|number| number % 10 != 9) {
        let ran = runs.get(&number).copied().unwrap_or_default();
        let is_unknown = tally.unknown.contains(&number) || tally.interrupted.contains(&number);
        assert!(
            ran == 1 || ran == 0 && is_unknown,
            "call {number} ran {ran} times"
        );
    }
    println!(
        "{calls} calls in {:.0?}: {} finished, {} cancelled, {} interrupted, {} unknown; {losses} losses; {} requests sent again; the longest call took {:.1?}",
        begun.elapsed(),
        tally.finished,
        tally.cancelled,
        tally.interrupted.len(),
        tally.unknown.len(),
        tally.retries,
        tally.longest,
    );
    if !lasts.is_zero() {
        assert!(tally.longest < ANSWERED, "{:?}", tally.longest);
        assert!(tally.unknown.len() * 200 < calls, "{:?}", tally.unknown);
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_twice_whatever_is_lost() {
    ordeal(None, Duration::ZERO, 7).await;
}

#[needs(postgres, networks)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_twice_whatever_is_lost_in_real_networks() {
    ordeal(Some(Network::new()), Duration::ZERO, 7).await;
}

/// The whole ordeal: `TOOLHOST_CLUSTER_SECONDS`, 600 if it is not set, with the seed `TOOLHOST_CLUSTER_SEED`. Root has it in real networks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes ten minutes"]
async fn nothing_runs_twice_in_ten_minutes() {
    let number = |name, or| std::env::var(name).map_or(or, |text| text.parse().unwrap());
    let lasts = Duration::from_secs(number("TOOLHOST_CLUSTER_SECONDS", 600));
    let seed = number("TOOLHOST_CLUSTER_SEED", 7) as usize;
    let network = nix::unistd::geteuid().is_root().then(Network::new);
    ordeal(network, lasts, seed).await;
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_call() {
    // No host is lost here, however slow the machine is.
    let field = Field::start(None, "5m").await;
    let (clients, begun) = (Clients::new(&field), Instant::now());
    let restarting = async {
        for host in &field.hosts {
            clients.answers(40).await;
            host.signal(Signal::SIGTERM);
            assert!(host.ended().await.success());
            host.start();
        }
        clients.answers(40).await;
        clients.are_done.store(true, Ordering::Relaxed);
    };
    // 20 calls a second.
    tokio::join!(clients.run(Duration::from_millis(50), false), restarting);
    let runs = clients.finish().await;
    let tally = clients.tally.lock().unwrap();
    println!(
        "{} calls in {:.1?}; the longest took {:.1?}",
        tally.finished,
        begun.elapsed(),
        tally.longest
    );
    assert_eq!(tally.unknown, [0; 0], "{tally:?}");
    assert_eq!(tally.finished, clients.next.load(Ordering::Relaxed));
    assert!(runs.len() == tally.finished && runs.values().all(|ran| *ran == 1));
}
