//! The world: hosts, agents, callers and the database, and what goes wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::agents::Agents;
use crate::calls::make;
use crate::checker::Checker;
use crate::database::{Broken, Database, LEASE};
use crate::host::Host;
use crate::random::Random;
use crate::tally::Tally;

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) hosts: usize,
    pub(crate) agents: usize,
    pub(crate) callers: usize,
    pub(crate) calls: u64,
    /// The longest time between two faults, in milliseconds; 0: there are none.
    pub(crate) peace: u64,
    /// How many of 10,000 statements lose their connection before, how many their answer, how many are late, and how many fail.
    pub(crate) losses: u64,
    /// How many of 10,000 calls are made by two callers.
    pub(crate) repeats: u64,
    /// How many of 10,000 calls are cancelled.
    pub(crate) cancels: u64,
    /// How many of 10,000 calls take more than ten seconds.
    pub(crate) slow: u64,
    pub(crate) broken: Option<Broken>,
}

/// A world.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) database: Arc<Mutex<Database>>,
    pub(crate) agents: Agents,
    pub(crate) checker: Checker,
    pub(crate) tally: Arc<Tally>,
    /// The hosts, by their machines; `None` while one starts.
    hosts: Mutex<Vec<Option<Arc<Host>>>>,
    machines: Mutex<Vec<usize>>,
    made: AtomicU64,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) tally: Arc<Tally>,
    pub(crate) violations: Vec<String>,
    /// How long the run took in simulated time.
    pub(crate) simulated: Duration,
    pub(crate) taken_over: u64,
    /// A digest of all changes of the database, with their times.
    pub(crate) trace: u64,
}

/// Runs a world with paused time on one thread.
pub(crate) fn run(seed: u64, plan: Plan) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(World::run(seed, plan))
}

impl World {
    async fn run(seed: u64, plan: Plan) -> Report {
        let begun = Instant::now();
        let world = Arc::new(Self {
            seed,
            plan,
            database: Arc::new(Mutex::new(Database::new(plan.broken))),
            agents: Agents::new(plan.agents),
            checker: Checker::default(),
            tally: Arc::new(Tally::new()),
            hosts: Mutex::new(vec![None; plan.hosts]),
            machines: Mutex::new((0..plan.hosts).collect()),
            made: AtomicU64::new(0),
        });
        for place in 0..plan.hosts {
            world.start(place).await;
        }
        let faults = (plan.peace > 0).then(|| tokio::spawn(Arc::clone(&world).make_faults()));
        let callers = (0..plan.callers).map(|_| tokio::spawn(make(Arc::clone(&world))));
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
        if let Some(faults) = faults {
            faults.abort();
        }
        world.tally.calm();
        // Leases run out, links come back, and each host stores what waits.
        sleep(Duration::from_secs(300)).await;
        let database = world.database.lock();
        let violations = world.checker.finish(&database, &world.agents, &world.tally);
        Report {
            tally: Arc::clone(&world.tally),
            violations,
            simulated: begun.elapsed(),
            taken_over: database.audit.taken_over,
            trace: database.audit.trace(),
        }
    }

    pub(crate) fn next_call(&self) -> Option<u64> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        (number < self.plan.calls).then_some(number)
    }

    async fn start(self: &Arc<Self>, place: usize) {
        let machine = self.machines.lock()[place];
        let host = Host::start(self, machine).await;
        self.hosts.lock()[place] = Some(host);
    }

    /// Returns some host that runs, or has stopped without its clients knowing.
    pub(crate) async fn host(&self, random: &mut Random) -> Arc<Host> {
        loop {
            let host = self.hosts.lock()[random.index(self.plan.hosts)].clone();
            match host {
                Some(host) => return host,
                // The connection is refused.
                None => sleep(Duration::from_millis(10)).await,
            }
        }
    }

    async fn make_faults(self: Arc<Self>) {
        let mut random = Random::of(self.seed, "faults");
        loop {
            sleep(random.millis(1, self.plan.peace)).await;
            let place = random.index(self.plan.hosts);
            let host = self.hosts.lock()[place].clone();
            let Some(host) = host else {
                continue;
            };
            match random.below(100) {
                0..40 => self.kill(place, &host, &mut random),
                40..60 => {
                    self.tally.stop();
                    let lease = u64::try_from(LEASE.as_millis()).unwrap();
                    host.life
                        .stop(Instant::now() + random.millis(lease, 3 * lease));
                }
                60..98 => {
                    self.tally.cut();
                    let until = Instant::now() + random.millis(100, 30_000);
                    *host.store.link.cut_until.lock() = Some(until);
                    self.listen_again(&host, until);
                }
                _ => {
                    self.tally.restart();
                    let until = Instant::now() + random.millis(500, 8_000);
                    self.database.lock().down_until = Some(until);
                    let hosts: Vec<_> = self.hosts.lock().iter().flatten().cloned().collect();
                    for host in hosts {
                        self.listen_again(&host, until);
                    }
                }
            }
        }
    }

    /// Kills a host, and starts another one in its place: with its state directory, or on another machine.
    fn kill(self: &Arc<Self>, place: usize, host: &Arc<Host>, random: &mut Random) {
        self.tally.kill();
        host.life.kill();
        let machine = {
            let mut machines = self.machines.lock();
            self.database.lock().ears.remove(&machines[place]);
            if random.happens(5_000) {
                machines[place] += self.plan.hosts;
            }
            self.hosts.lock()[place] = None;
            machines[place]
        };
        let pause = Random::of(self.seed, ("start", machine, self.tally.now_ms())).millis(1, 5_000);
        let world = Arc::clone(self);
        tokio::spawn(async move {
            sleep(pause).await;
            world.start(place).await;
        });
    }

    /// Lets a host listen again some time after it can reach the database.
    fn listen_again(&self, host: &Arc<Host>, until: Instant) {
        let host = Arc::clone(host);
        tokio::spawn(async move {
            tokio::time::sleep_until(until + Duration::from_millis(500)).await;
            host.life.goes_on().await;
            host.store.listen_again().await;
        });
    }
}
