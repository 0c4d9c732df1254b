//! The store of a host on the model of the database: what `host/postgres` does around its statements.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};
use toolhost_store::{
    Begun, Call, CallState, CancelAnswer, Cancellation, EndedCall, Ending, NewCall, News,
};

use crate::database::{Asked, Attempt, HostId, Key, LEASE, Message, Row};
use crate::link::{Connection, Fault, Link, run};

/// How long a beginning without an answer is withdrawn, as in `host/postgres`.
const UNSURE: Duration = Duration::from_secs(120);

/// How long a host waits for the end of a call elsewhere before it asks again, as in `host/postgres`.
const AT_LEAST: Duration = Duration::from_secs(2);

/// The time between two heartbeats, as in `host/postgres`.
const BEAT: Duration = Duration::from_secs(LEASE.as_secs() / 5);

/// The store of a host.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) link: Link,
    host: Mutex<HostId>,
    renewing: tokio::sync::Mutex<()>,
    is_reachable: Mutex<bool>,
    /// The calls that began here and have no end yet.
    running: Mutex<HashSet<Key>>,
    /// The calls of which one task begins or withdraws something.
    under_way: Mutex<HashSet<Key>>,
    turn_over: Notify,
    unsure: Mutex<BTreeMap<Key, (Instant, Vec<Attempt>)>>,
    awaited: Mutex<HashMap<Key, Arc<Notify>>>,
    news: UnboundedSender<News>,
}

/// The right to begin or withdraw a call.
struct Turn<'a>(&'a Shared, Key);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.under_way.lock().remove(&self.1);
        self.0.turn_over.notify_waiters();
    }
}

/// Does work with the lease of a host, and once more with another lease if that one is lost, as in `host/postgres`.
macro_rules! with_lease {
    ($shared:expr, $host:ident => $work:expr) => {{
        let $host = $shared.host();
        match $work {
            Err(Fault::NoLease) => match $shared.renew($host).await {
                Ok(()) => {
                    let $host = $shared.host();
                    $work
                }
                Err(fault) => Err(fault),
            },
            done => done,
        }
    }};
}

impl Shared {
    /// Takes a lease, and begins to prolong it and to listen.
    pub(crate) async fn open(link: Link) -> Result<(Arc<Self>, UnboundedReceiver<News>), Fault> {
        let (host, number) = (link.database.lock().new_id(), link.number);
        let (news, receiver) = unbounded_channel();
        let shared = Arc::new(Self {
            link,
            host: Mutex::new(host),
            renewing: tokio::sync::Mutex::default(),
            is_reachable: Mutex::new(true),
            running: Mutex::default(),
            under_way: Mutex::default(),
            turn_over: Notify::new(),
            unsure: Mutex::default(),
            awaited: Mutex::default(),
            news,
        });
        shared.enter(host).await?;
        let (ear, messages) = unbounded_channel();
        shared.link.database.lock().ears.insert(number, ear);
        tokio::spawn(beat(Arc::clone(&shared)));
        tokio::spawn(withdraw(Arc::clone(&shared)));
        tokio::spawn(hear(Arc::clone(&shared), messages));
        Ok((shared, receiver))
    }

    fn host(&self) -> HostId {
        *self.host.lock()
    }

    fn tell(&self, news: News) {
        _ = self.news.send(news);
    }

    fn found(&self) {
        if !std::mem::replace(&mut *self.is_reachable.lock(), true) {
            self.tell(News::Reachable);
        }
    }

    async fn enter(&self, host: HostId) -> Result<(), Fault> {
        let number = self.link.number;
        run!(self.link, "enter", None, connection => {
            connection.send(move |database| database.enter(host, number)).await
        })
    }

    /// Takes another lease in the place of one that was lost.
    async fn renew(&self, lost: HostId) -> Result<(), Fault> {
        let _alone = self.renewing.lock().await;
        if self.host() != lost {
            return Ok(());
        }
        let next = self.link.database.lock().new_id();
        self.enter(next).await?;
        *self.host.lock() = next;
        self.running.lock().clear();
        self.link.tally.lost_lease();
        self.found();
        self.tell(News::Interrupted);
        self.tell(News::Reachable);
        Ok(())
    }

    async fn turn(&self, key: Key) -> Turn<'_> {
        loop {
            let mut over = std::pin::pin!(self.turn_over.notified());
            over.as_mut().enable();
            if self.under_way.lock().insert(key.clone()) {
                return Turn(self, key);
            }
            over.await;
        }
    }

    pub(crate) async fn begin(&self, call: NewCall, is_resumed: bool) -> Result<Begun, Fault> {
        let turn = self.turn((call.chat.clone(), call.call.clone())).await;
        let key = &turn.1;
        let attempt = self.link.database.lock().new_id();
        let asked = Asked {
            call,
            attempt,
            is_resumed,
        };
        let begun = with_lease!(self, host => run!(self.link, "begin", Some(key), connection => {
            self.begin_once(&mut connection, host, key, &asked).await
        }));
        if matches!(begun, Ok(Begun::New)) {
            self.running.lock().insert(key.clone());
        }
        let mut unsure = self.unsure.lock();
        match &begun {
            Err(_) => {
                let now = Instant::now();
                let known = unsure.entry(key.clone());
                let (since, attempts) = known.or_insert_with(|| (now, Vec::new()));
                *since = now;
                attempts.push(attempt);
            }
            _ => _ = unsure.remove(key),
        }
        begun
    }

    async fn begin_once(
        &self,
        connection: &mut Connection<'_>,
        host: HostId,
        key: &Key,
        asked: &Asked,
    ) -> Result<Begun, Fault> {
        loop {
            let begin = asked.clone();
            let begin = connection.send(move |database| database.begin(host, &begin));
            match begin.await? {
                (false, _) => return Err(Fault::NoLease),
                (true, true) => return Ok(Begun::New),
                (true, false) => {}
            }
            let Some(row) = find(connection, host, key).await? else {
                continue;
            };
            return Ok(match row.call.state {
                CallState::Tombstone => Begun::Cancelled,
                CallState::Running
                    if self.is_unheard(key, &row) && row.call.digest == asked.call.digest =>
                {
                    let (key, attempt) = (key.clone(), asked.attempt);
                    if row.call.cancelled {
                        let stop =
                            connection.send(move |database| database.withdraw(host, &key, None));
                        stop.await?;
                        return Ok(Begun::Cancelled);
                    }
                    let adopt =
                        connection.send(move |database| database.adopt(host, &key, attempt));
                    match adopt.await? {
                        false => continue,
                        true => Begun::New,
                    }
                }
                _ => row.call.answer(&asked.call.digest),
            });
        }
    }

    /// Returns whether a call has begun here, as far as the database knows, but not as far as this host knows.
    fn is_unheard(&self, key: &Key, row: &Row) -> bool {
        row.is_begun_here() && !self.running.lock().contains(key)
    }

    pub(crate) async fn end(&self, ended: EndedCall) -> Result<Ending, Fault> {
        let key = &(ended.call.chat.clone(), ended.call.call.clone());
        let ended = Arc::new(ended);
        let ending = with_lease!(self, host => run!(self.link, "end", Some(key), connection => {
            let end = Arc::clone(&ended);
            let end = connection.send(move |database| database.end(host, &end));
            match end.await? {
                (_, true) => return Ok(Ending::Stored),
                (false, false) => return Err(Fault::NoLease),
                (true, false) => {}
            }
            Ok(match find(&mut connection, host, key).await? {
                // The attempt before was made, and its answer was lost.
                Some(row) if row.call.outcome.as_ref() == Some(&ended.outcome) => Ending::Stored,
                Some(row) => Ending::TakenOver(Box::new(row.call)),
                None => Ending::Stored,
            })
        }))?;
        self.running.lock().remove(key);
        Ok(ending)
    }

    /// Withdraws the beginnings of which the database gave no answer.
    async fn withdraw_unsure(&self) {
        let unsure = {
            let mut unsure = self.unsure.lock();
            unsure.retain(|_, (since, _)| since.elapsed() < UNSURE);
            unsure.clone()
        };
        for (key, (_, attempts)) in unsure {
            let turn = self.turn(key).await;
            let key = &turn.1;
            if self.running.lock().contains(key) {
                continue;
            }
            let host = self.host();
            let withdrawn = run!(self.link, "withdraw", Some(key), connection => {
                let (key, attempts) = (key.clone(), attempts.clone());
                connection.send(move |database| database.withdraw(host, &key, Some(&attempts))).await
            });
            if withdrawn.is_err() {
                return;
            }
        }
    }

    pub(crate) async fn cancel(&self, cancellation: Cancellation) -> Result<CancelAnswer, Fault> {
        let turn = self
            .turn((cancellation.chat.clone(), cancellation.call.clone()))
            .await;
        let key = &turn.1;
        let host = self.host();
        let answer = run!(self.link, "cancel", Some(key), connection => {
            // In `host/postgres`, the row is locked in between.
            let known = find(&mut connection, host, key).await?;
            let unheard = known.filter(|row| self.is_unheard(key, row));
            let unheard = unheard.map(|row| row.attempt);
            let cancellation = cancellation.clone();
            connection.send(move |database| database.cancel(host, &cancellation, unheard)).await
        });
        answer?.ok_or(Fault::NoLease)
    }

    pub(crate) async fn interrupt(&self) -> Result<Vec<Call>, Fault> {
        let host = self.host();
        let taken = run!(self.link, "interrupt", None, connection => {
            connection.send(move |database| database.interrupt(host)).await?;
            connection.send(move |database| database.taken(host)).await
        })?;
        let mut running = self.running.lock();
        let calls = taken.into_iter().filter(|call| {
            let key = call.chat.clone().zip(call.call.clone());
            key.is_none_or(|key| running.insert(key))
        });
        Ok(calls.collect())
    }

    pub(crate) async fn call(&self, key: &Key) -> Result<Option<Call>, Fault> {
        let known = self.look_up(key).await?;
        if known.as_ref().is_none_or(|row| !self.is_unheard(key, row)) {
            return Ok(known.map(|row| row.call));
        }
        // It is about to begin or to be withdrawn, or was left behind.
        let _turn = self.turn(key.clone()).await;
        let known = self.look_up(key).await?;
        let known = known.filter(|row| !self.is_unheard(key, row));
        Ok(known.map(|row| row.call))
    }

    async fn look_up(&self, key: &Key) -> Result<Option<Row>, Fault> {
        let host = self.host();
        run!(self.link, "find", Some(key), connection => {
            find(&mut connection, host, key).await
        })
    }

    pub(crate) async fn settled(&self, key: &Key) -> Result<Option<Call>, Fault> {
        let ended = Arc::clone(self.awaited.lock().entry(key.clone()).or_default());
        loop {
            let mut waiting = std::pin::pin!(ended.notified());
            waiting.as_mut().enable();
            run!(self.link, "wait", Some(key), connection => {
                let key = key.clone();
                connection.send(move |database| database.wait_for(&key)).await
            })?;
            match self.call(key).await? {
                Some(known) if known.is_elsewhere => {}
                known => return Ok(known),
            }
            _ = timeout(AT_LEAST, waiting).await;
        }
    }

    /// Begins to listen again after the connection was lost.
    pub(crate) async fn listen_again(&self) {
        self.tell(News::Reachable);
        let awaited: Vec<_> = self.awaited.lock().values().cloned().collect();
        for waiter in awaited {
            waiter.notify_waiters();
        }
        let host = self.host();
        let cancelled = run!(self.link, "cancelled", None, connection => {
            connection.send(move |database| database.cancelled(host)).await
        });
        for (chat, call) in cancelled.into_iter().flatten() {
            self.tell(News::Cancelled { chat, call });
        }
    }
}

async fn find(
    connection: &mut Connection<'_>,
    host: HostId,
    key: &Key,
) -> Result<Option<Row>, Fault> {
    let key = key.clone();
    let find = connection.send(move |database| database.find(host, &key));
    find.await
}

/// Prolongs the lease of a host.
async fn beat(shared: Arc<Shared>) {
    loop {
        sleep(BEAT).await;
        let host = shared.host();
        let prolonged = run!(shared.link, "prolong", None, connection => {
            connection.send(move |database| database.prolong(host)).await
        });
        match prolonged {
            Ok((true, is_interrupted)) => {
                shared.found();
                if is_interrupted {
                    shared.tell(News::Interrupted);
                }
            }
            Ok((false, _)) => {
                if shared.renew(host).await.is_err() {
                    *shared.is_reachable.lock() = false;
                }
            }
            Err(_) => *shared.is_reachable.lock() = false,
        }
    }
}

/// Withdraws beginnings.
async fn withdraw(shared: Arc<Shared>) {
    loop {
        sleep(BEAT).await;
        shared.withdraw_unsure().await;
    }
}

/// Does what notifications are for. They are lost while the link is cut.
async fn hear(shared: Arc<Shared>, mut messages: UnboundedReceiver<Message>) {
    while let Some(message) = messages.recv().await {
        if shared.link.is_cut() {
            continue;
        }
        shared.link.life.goes_on().await;
        match message {
            Message::Ended(key) => {
                let waiter = shared.awaited.lock().get(&key).cloned();
                if let Some(waiter) = waiter {
                    waiter.notify_waiters();
                }
            }
            Message::Cancelled(host, (chat, call)) if host == shared.host() => {
                shared.tell(News::Cancelled { chat, call });
            }
            Message::Cancelled(..) => {}
        }
    }
}
