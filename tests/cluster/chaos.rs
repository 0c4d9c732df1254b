//! Servers that are killed, stopped and cut off at random, while clients repeat their calls at whichever server answers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::*;
use crate::harness::TOKEN;
use crate::harness::proxy::Proxy;
use crate::harness::serving::{Serving, server};

/// How long a request may take before its client asks another server. A call that runs goes on.
const AT_ONE: Duration = Duration::from_secs(5);

/// How many clients there are.
const CLIENTS: usize = 16;

/// A server that is started again when it was killed.
struct Member {
    directory: TempDir,
    serving: Mutex<Option<Serving>>,
    url: RwLock<String>,
    /// How many requests wait for its answers.
    waiting: AtomicUsize,
}

/// What became of the calls.
#[derive(Debug, Default)]
struct Tally {
    finished: usize,
    unknown: Vec<usize>,
    retries: usize,
    longest: Duration,
}

/// An agent behind a link that can be cut.
struct Agent {
    root: TempDir,
    link: Proxy,
    _server: Server,
}

struct Field {
    database: Mutex<postgres::Server>,
    url: String,
    agents: Vec<Agent>,
    members: Vec<Member>,
    tally: Mutex<Tally>,
    answered: watch::Sender<usize>,
    /// How many requests waited for servers when these were lost.
    lost: AtomicUsize,
}

impl Field {
    async fn new(members: usize, agents: usize) -> Self {
        let database = postgres::Server::start();
        let url = database.database();
        let (mut field_agents, mut config) = (Vec::new(), String::new());
        for number in 0..agents {
            let root = tempfile::tempdir().unwrap();
            let offer = Offer {
                remembers_starts: true,
                ..elsewhere::offer(elsewhere::local(root.path()).await)
            };
            let server = Server::agent(offer).await;
            let link = Proxy::to(&server.url).await;
            config += &format!(
                "[workspaces.agents.agent-{number}]\nurl = {:?}\ntoken = {TOKEN:?}\n",
                link.url
            );
            field_agents.push(Agent {
                root,
                link,
                _server: server,
            });
        }
        let members = (0..members).map(|number| {
            let directory = tempfile::tempdir().unwrap();
            let text = format!(
                "[store]\nurl = {url:?}\nlease = \"2s\"\nconnections = 8\nname = \"host-{number}\"\n{config}"
            );
            std::fs::write(directory.path().join("toolhost.toml"), text).unwrap();
            Member {
                directory,
                serving: Mutex::default(),
                url: RwLock::default(),
                waiting: AtomicUsize::new(0),
            }
        });
        let field = Self {
            url: url.clone(),
            members: members.collect(),
            database: Mutex::new(database),
            agents: field_agents,
            tally: Mutex::default(),
            answered: watch::Sender::default(),
            lost: AtomicUsize::new(0),
        };
        field.members.iter().for_each(Member::start);
        field
    }

    /// Makes a call until a server answers, and checks that others answer the same.
    async fn call(&self, client: &reqwest::Client, number: usize, random: &mut Random) {
        let begun = Instant::now();
        let chat = number % 50;
        let agent = chat % self.agents.len();
        let body = json!({
            "tool": "execute", "workspace": format!("agent-{agent}"),
            "arguments": { "command": format!("echo {number} >> ran") },
        });
        let path = format!("/v1/chats/c{chat}/calls/{number}");
        let repeats = 1 + random.below(3) / 2;
        let mut answers = Vec::new();
        let mut retries = 0;
        while answers.len() < repeats {
            let member = &self.members[random.below(self.members.len())];
            match member.put(client, &path, &body).await {
                Some(answer) => answers.push(answer),
                None => {
                    retries += 1;
                    assert!(
                        begun.elapsed() < PATIENCE,
                        "no server answers call {number}"
                    );
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        let answer = &answers[0];
        assert!(answers.iter().all(|other| other == answer), "{answers:?}");
        let mut tally = self.tally.lock().unwrap();
        tally.retries += retries;
        tally.longest = tally.longest.max(begun.elapsed());
        match answer["state"].as_str() {
            Some("finished") => tally.finished += 1,
            Some("unknown") => tally.unknown.push(number),
            _ => panic!("{answer}"),
        }
        drop(tally);
        self.answered.send_modify(|answered| *answered += 1);
    }

    /// Waits until so many more calls have answers, or all have.
    async fn answers(&self, more: usize, all: usize) {
        let until = (*self.answered.borrow() + more).min(all);
        let mut answered = self.answered.subscribe();
        let waiting = answered.wait_for(|answered| *answered >= until);
        tokio::time::timeout(2 * PATIENCE, waiting)
            .await
            .unwrap()
            .unwrap();
    }

    /// Waits until the lease of a host has run out.
    async fn is_out(&self, name: &str) {
        const OUT: &str = "SELECT coalesce(bool_and(until < clock_timestamp()), true) FROM toolhost.hosts WHERE name = $1";
        let admin = postgres::connect(&self.url).await;
        let begun = Instant::now();
        while !admin
            .query_one(OUT, &[&name])
            .await
            .unwrap()
            .get::<_, bool>(0)
        {
            assert!(
                begun.elapsed() < PATIENCE,
                "the lease of {name} does not run out"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// How often the command of each call ran.
    fn runs(&self) -> HashMap<usize, usize> {
        let mut runs = HashMap::new();
        for agent in &self.agents {
            let text = std::fs::read_to_string(agent.root.path().join("ran")).unwrap_or_default();
            for line in text.lines() {
                *runs.entry(line.parse().unwrap()).or_default() += 1;
            }
        }
        runs
    }

    fn lose(&self, member: &Member) {
        let waiting = member.waiting.load(Ordering::Relaxed);
        self.lost.fetch_add(waiting, Ordering::Relaxed);
    }
}

impl Member {
    fn start(&self) {
        let workspace: PathBuf = self.directory.path().into();
        let mut command = server(&workspace);
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.args(["--log", "error", "--config"]);
        command.arg(workspace.join("toolhost.toml"));
        command.args(["serve", "--drain", "5m"]);
        let serving = Serving::of(command);
        self.url.write().unwrap().clone_from(&serving.url);
        *self.serving.lock().unwrap() = Some(serving);
    }

    fn signal(&self, signal: Signal) {
        let serving = self.serving.lock().unwrap();
        let pid = serving.as_ref().unwrap().child.id();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
    }

    /// Returns the answer to a call; `None` if the server has none.
    async fn put(&self, client: &reqwest::Client, path: &str, body: &Value) -> Option<Value> {
        let url = format!("{}{path}", self.url.read().unwrap());
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let request = client.put(url).bearer_auth(TOKEN).json(body);
        let answer = tokio::time::timeout(AT_ONE, async {
            let response = request.send().await.ok()?;
            let status = response.status().as_u16();
            Some((status, response.json::<Value>().await.ok()?))
        });
        let answer = answer.await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        match answer.ok()?? {
            (200, answer) => Some(answer),
            // Something is being loaded, or the store or the workspace cannot be reached.
            (404 | 429 | 503, _) => None,
            (status, answer) => panic!("{status} {answer}"),
        }
    }
}

/// Numbers that repeat with their seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// How often the database is restarted.
const RESTARTS: usize = 2;

/// Kills (0), stops (1), cuts (2), and restarts of the database (3), in turns.
const KINDS: [usize; 5] = [0, 1, 2, 0, 3];

/// Loses a host, a link or the database, once whenever so many more calls have answers.
async fn lose(field: &Field, calls: usize, between: usize) -> [usize; 4] {
    let mut losses = [0; 4];
    for number in 0.. {
        field.answers(between, calls).await;
        if *field.answered.borrow() >= calls {
            break;
        }
        let (at, half) = (number % field.members.len(), between / 2);
        let member = &field.members[at];
        let kind = match number % KINDS.len() {
            4 if losses[3] == RESTARTS => 0,
            at => KINDS[at],
        };
        losses[kind] += 1;
        match kind {
            0 => {
                field.lose(member);
                member.signal(Signal::SIGKILL);
                let serving = member.serving.lock().unwrap().take();
                serving.unwrap().child.wait().unwrap();
                field.answers(half, calls).await;
                member.start();
            }
            1 => {
                // It knows nothing of the time in which others take its calls over.
                field.lose(member);
                member.signal(Signal::SIGSTOP);
                field.is_out(&format!("host-{at}")).await;
                field.answers(half, calls).await;
                member.signal(Signal::SIGCONT);
            }
            2 => {
                // The links to the database and to the agents are cut, in the middle of whatever they are used for.
                field.agents.iter().for_each(|agent| agent.link.cut());
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolhost'";
                let admin = postgres::connect(&field.url).await;
                admin.execute(cut, &[]).await.unwrap();
            }
            _ => tokio::task::block_in_place(|| {
                let mut database = field.database.lock().unwrap();
                database.stop();
                database.run();
            }),
        }
    }
    losses
}

/// Makes so many calls, and loses something whenever so many have answers.
async fn ordeal(agents: usize, calls: usize, between: usize, seed: u64) {
    let field = Field::new(3, agents).await;
    let (next, client) = (AtomicUsize::new(0), crate::harness::client());
    let begun = Instant::now();
    let clients = (0..CLIENTS).map(async |number| {
        let mut random = Random(seed + number as u64 + 1);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= calls {
                return;
            }
            field.call(&client, number, &mut random).await;
        }
    });
    let clients = futures_util::future::join_all(clients);
    let losing = lose(&field, calls, between);
    let (_, [kills, stops, cuts, restarts]) = tokio::join!(clients, losing);
    let runs = field.runs();
    let tally = field.tally.lock().unwrap();
    for number in 0..calls {
        let ran = runs.get(&number).copied().unwrap_or_default();
        let is_unknown = tally.unknown.contains(&number);
        assert!(
            ran == 1 || ran == 0 && is_unknown,
            "call {number} ran {ran} times"
        );
    }
    println!(
        "{calls} calls in {:.0?}: {} finished, {} unknown of {} that waited for a host when it was lost; {kills} kills, {stops} stops, \
         {cuts} cuts, {restarts} restarts of the database; {} requests sent again; the longest call took {:.1?}",
        begun.elapsed(),
        tally.finished,
        tally.unknown.len(),
        field.lost.load(Ordering::Relaxed),
        tally.retries,
        tally.longest,
    );
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_runs_twice_whatever_is_lost() {
    ordeal(2, 240, 20, 7).await;
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_call() {
    let field = Field::new(3, 2).await;
    let (next, client) = (AtomicUsize::new(0), crate::harness::client());
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let clients = (0..CLIENTS).map(async |number| {
        let mut random = Random(number as u64 + 1);
        // Together they make 100 calls a second, unless the machine is too slow for that.
        let mut ticks = tokio::time::interval(Duration::from_millis(10) * CLIENTS as u32);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !is_over.load(Ordering::Relaxed) {
            ticks.tick().await;
            let number = next.fetch_add(1, Ordering::Relaxed);
            field.call(&client, number, &mut random).await;
        }
    });
    let begun = Instant::now();
    let restarting = async {
        for member in &field.members {
            field.answers(100, usize::MAX).await;
            member.signal(Signal::SIGTERM);
            let serving = member.serving.lock().unwrap().take();
            let ended = tokio::task::spawn_blocking(move || serving.unwrap().child.wait());
            assert!(ended.await.unwrap().unwrap().success());
            member.start();
        }
        field.answers(30, usize::MAX).await;
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(futures_util::future::join_all(clients), restarting);
    let (runs, tally) = (field.runs(), field.tally.lock().unwrap());
    println!("{} calls in {:.1?}", tally.finished, begun.elapsed());
    assert_eq!(tally.unknown, [0; 0], "{tally:?}");
    assert_eq!(tally.finished, *field.answered.borrow());
    assert!(runs.len() == tally.finished && runs.values().all(|ran| *ran == 1));
}

/// The whole ordeal: `TOOLHOST_CLUSTER_CALLS` calls, 20,000 if it is not set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn no_command_runs_twice_in_twenty_thousand_calls() {
    let calls = std::env::var("TOOLHOST_CLUSTER_CALLS");
    let calls = calls.map_or(20_000, |calls| calls.parse().unwrap());
    ordeal(10, calls, 100, 11).await;
}
