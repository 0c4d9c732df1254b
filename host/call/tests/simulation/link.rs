//! The link of a host to the database: what becomes of a statement and of its answer.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use toolhost_store::StoreError;

use crate::database::{Database, Key};
use crate::life::Life;
use crate::random::Random;
use crate::tally::Tally;

/// How long a host waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a host tries work whose connection was lost.
pub(crate) const ATTEMPTS: usize = 3;

/// How long a statement may be under way after its host gave it up, in milliseconds.
const UNDER_WAY: u64 = 60_000;

/// A link.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) seed: u64,
    /// How many of 10,000 statements go wrong in each way.
    pub(crate) losses: u64,
    pub(crate) number: usize,
    pub(crate) life: Arc<Life>,
    pub(crate) database: Arc<Mutex<Database>>,
    pub(crate) tally: Arc<Tally>,
    /// Until then, no packet passes.
    pub(crate) cut_until: Arc<Mutex<Option<Instant>>>,
}

/// A reason why a host has no answer, as in `host/postgres`.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The connection was lost, and another one may do.
    Lost,
    /// The database cannot be reached, or does not answer.
    Unreachable(&'static str),
    /// The database says that the statement failed.
    Failed,
    /// The host has lost its lease.
    NoLease,
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        let text = match fault {
            Fault::NoLease => return Self::NoLease,
            Fault::Failed => {
                let action = "change or read calls";
                let source = "no space is left".into();
                return Self::Failed { action, source };
            }
            Fault::Lost => "the connection was lost again and again",
            Fault::Unreachable(text) => text,
        };
        let source = text.into();
        Self::Unreachable { source }
    }
}

/// What becomes of a statement.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Answered,
    /// The connection is lost before the statement arrives.
    LostRequest,
    /// The connection is lost after the statement was made.
    LostAnswer,
    /// The statement is made after the host has given it up.
    Late,
    /// The database answers with an error.
    Failed,
    /// Nothing passes, and the host waits.
    Swallowed,
    /// The database takes no connection.
    Refused,
}

/// A connection, on which one attempt at some work makes its statements.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    link: &'a Link,
    random: Random,
}

impl Link {
    /// Takes a connection for the attempt with this number. What becomes of its statements follows from what they are for.
    pub(crate) fn connection(
        &self,
        what: &'static str,
        key: Option<&Key>,
        attempt: usize,
    ) -> Result<Connection<'_>, Fault> {
        let decision = (what, key, self.number, self.tally.now_ms(), attempt);
        let mut random = Random::of(self.seed, decision);
        if attempt > 0 && random.happens(3_000) {
            return Err(Fault::Unreachable("no connection can be had"));
        }
        Ok(Connection { link: self, random })
    }

    pub(crate) fn is_cut(&self) -> bool {
        let cut = *self.cut_until.lock();
        cut.is_some_and(|until| until > Instant::now())
    }

    fn fate(&self, random: &mut Random) -> Fate {
        if self.is_cut() {
            // A packet may be sent again until it arrives.
            return match random.happens(1_000) {
                true => Fate::Late,
                false => Fate::Swallowed,
            };
        }
        if self.database.lock().is_down() {
            return Fate::Refused;
        }
        if !self.tally.is_stormy() {
            return Fate::Answered;
        }
        match random.below(10_000).checked_div(self.losses) {
            Some(0) => Fate::LostRequest,
            Some(1) => Fate::LostAnswer,
            Some(2) => Fate::Late,
            Some(3) => Fate::Failed,
            _ => Fate::Answered,
        }
    }
}

impl Connection<'_> {
    /// Sends a statement, and returns its answer.
    pub(crate) async fn send<T>(
        &mut self,
        statement: impl FnOnce(&mut Database) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let Self { link, random } = self;
        link.life.goes_on().await;
        sleep(random.millis(0, 3)).await;
        let fate = link.fate(random);
        link.tally.statement();
        let answer = match fate {
            Fate::Refused => Err(Fault::Unreachable("the server is down")),
            Fate::Swallowed => {
                sleep(PATIENCE).await;
                Err(Fault::Unreachable("no answer in time"))
            }
            Fate::LostRequest => {
                link.tally.lost_request();
                Err(Fault::Lost)
            }
            Fate::LostAnswer => {
                link.tally.lost_answer();
                statement(&mut link.database.lock());
                Err(Fault::Lost)
            }
            Fate::Late => {
                link.tally.late();
                let database = Arc::clone(&link.database);
                let after = random.millis(0, UNDER_WAY);
                tokio::spawn(async move {
                    sleep(after).await;
                    statement(&mut database.lock());
                });
                sleep(PATIENCE).await;
                Err(Fault::Unreachable("no answer in time"))
            }
            Fate::Failed => {
                link.tally.failed();
                Err(Fault::Failed)
            }
            Fate::Answered => {
                let answer = statement(&mut link.database.lock());
                sleep(random.millis(0, 3)).await;
                Ok(answer)
            }
        };
        link.life.goes_on().await;
        answer
    }
}

/// Does work on a connection, and once more if the connection is lost, as in `host/postgres`: `run!(link, what, key, connection => work)`.
macro_rules! run {
    ($link:expr, $what:literal, $key:expr, $connection:ident => $work:expr) => {{
        let mut attempt = 0;
        loop {
            let mut $connection = match $link.connection($what, $key, attempt) {
                Ok(connection) => connection,
                Err(fault) => break Err(fault),
            };
            let done = async { $work }.await;
            attempt += 1;
            if !matches!(done, Err($crate::link::Fault::Lost)) || attempt == $crate::link::ATTEMPTS
            {
                break done;
            }
        }
    }};
}
pub(crate) use run;
