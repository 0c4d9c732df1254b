//! The events of the processes of an agent: one subscription for all of this host.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;
use toolhost_workspace::Owner;
use toolhost_workspace::operation::{InfoOf, ListAll, Named, Notice, Numbered};
use toolhost_workspace::process::{AllQuery, Error, Info, Listed, Owned, State, Subscriber};

use crate::link::Link;
use crate::transport::Body;

/// The pauses before a stream is opened again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The longest wait for the events that an operation caused.
const CAUGHT_UP: Duration = Duration::from_secs(2);

/// The longest line.
const MAX_LINE: usize = 1 << 20;

/// The most processes that are looked for after a stream broke.
const MOST: usize = 10_000;

/// The subscription of one agent.
#[derive(Debug)]
pub(crate) struct Events {
    subscribers: Mutex<Vec<Weak<dyn Subscriber>>>,
    told: Mutex<Told>,
    /// The events from this time on are told, by the clock of the agent.
    since: Mutex<SystemTime>,
    /// The number of the last event that was passed on; `None` while there is no stream.
    passed: watch::Sender<Option<u64>>,
}

/// The processes as far as events told of them.
#[derive(Debug, Default)]
struct Told {
    live: HashMap<String, Live>,
    /// Those that ended, for as long as the agent lists them.
    ended: HashSet<String>,
}

/// A process as the last event left it.
#[derive(Clone, Debug)]
struct Live {
    named: Named,
    state: State,
    total: u64,
}

impl Events {
    /// Makes a subscription of all events from this time on, by the clock of the agent.
    pub(crate) fn since(since: SystemTime) -> Self {
        Self {
            subscribers: Mutex::default(),
            told: Mutex::default(),
            since: Mutex::new(since),
            passed: watch::Sender::new(None),
        }
    }

    /// Tells also of processes that ended up to this long before.
    pub(crate) fn go_back(&self, ago: Duration) {
        let mut since = self.since.lock();
        *since = since.checked_sub(ago).unwrap_or(*since);
    }

    /// Passes all events from now on to this subscriber, until it is dropped.
    pub(crate) fn add(&self, subscriber: Weak<dyn Subscriber>) {
        self.subscribers.lock().push(subscriber);
    }

    /// Waits until the events up to this number were passed on. Gives up if there is no stream, or after two seconds.
    pub(crate) async fn caught_up(&self, number: u64) {
        let mut passed = self.passed.subscribe();
        let there = |passed: &Option<u64>| passed.is_none_or(|passed| passed >= number);
        // The sender lives as long as `self`.
        _ = timeout(CAUGHT_UP, passed.wait_for(there)).await;
    }

    /// Reads the events of an agent, for as long as somebody holds the subscription.
    pub(crate) async fn follow(this: Weak<Self>, link: Arc<Link>) {
        let mut pause = FIRST_PAUSE;
        loop {
            match link.events().await {
                Ok(answer) => {
                    pause = FIRST_PAUSE;
                    let Err(reason) = Self::read(&this, &link, answer.body).await else {
                        return;
                    };
                    tracing::debug!(reason, "the events of an agent broke off");
                }
                Err(reason) => tracing::debug!(reason, "the events of an agent cannot be read"),
            }
            let Some(events) = this.upgrade() else {
                return;
            };
            events.passed.send_replace(None);
            drop(events);
            // An agent that connects is not kept waiting.
            _ = timeout(pause, link.arrives()).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reads one stream until it breaks. Returns `Ok` if nobody needs the events any more.
    async fn read(this: &Weak<Self>, link: &Link, mut body: Body) -> Result<(), String> {
        let mut buffer = link.budget.begin(MAX_LINE);
        let mut is_first = true;
        loop {
            let frame = timeout(link.timing.silence, body.frame()).await;
            let frame = frame.map_err(|_| "it was silent for too long")?;
            let frame = frame.ok_or("the agent ended it")??;
            let Some(events) = this.upgrade() else {
                return Ok(());
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            for piece in data.split_inclusive(|byte| *byte == b'\n') {
                buffer
                    .add(piece)
                    .map_err(|error| format!("a line of it {error}"))?;
                if !piece.ends_with(b"\n") {
                    continue;
                }
                let line = std::mem::replace(&mut buffer, link.budget.begin(MAX_LINE)).bytes;
                let Ok(Numbered { number, notice }) = serde_json::from_slice(&line) else {
                    return Err("a line of it cannot be read".into());
                };
                // What happened before this line is found by asking, and what comes behind it is told by lines.
                if std::mem::take(&mut is_first) || notice == Notice::Missed {
                    events.ask(link).await?;
                }
                events.pass(&notice);
                events
                    .passed
                    .send_modify(|passed| *passed = Some(number.max(passed.unwrap_or_default())));
            }
        }
    }

    /// Passes on the part of an event that is not known yet.
    fn pass(&self, notice: &Notice) {
        let news = self.told.lock().news(notice);
        news.iter().for_each(|notice| self.tell(notice));
    }

    fn tell(&self, notice: &Notice) {
        let subscribers = {
            let mut subscribers = self.subscribers.lock();
            subscribers.retain(|subscriber| subscriber.strong_count() > 0);
            subscribers.clone()
        };
        for subscriber in subscribers.iter().filter_map(Weak::upgrade) {
            notice.tell(&*subscriber);
        }
    }

    /// Asks the agent what happened while no stream told of it, and passes that on.
    async fn ask(&self, link: &Link) -> Result<(), String> {
        let unasked = |_| "the agent cannot be asked for its processes";
        let query = AllQuery {
            max: MOST,
            ..AllQuery::default()
        };
        let listed = link.ask(ListAll { query }).await.map_err(unasked)?;
        let Listed {
            processes: listed,
            total,
            ..
        } = listed.map_err(|error| error.to_string())?;
        let is_whole = listed.len() >= total;
        let ids: HashSet<_> = listed.iter().map(|one| one.info.id.clone()).collect();
        for Owned { owner, info } in listed {
            self.learn(owner, &info);
        }
        let unlisted: Vec<Live> = {
            let mut told = self.told.lock();
            if is_whole {
                told.ended.retain(|id| ids.contains(id));
            }
            let live = told.live.iter();
            live.filter(|(id, _)| !ids.contains(*id))
                .map(|(_, live)| live.clone())
                .collect()
        };
        for live in unlisted {
            let asked = InfoOf {
                owner: live.named.chat.clone(),
                id: live.named.id.clone(),
            };
            match link.ask(asked).await.map_err(unasked)? {
                Ok(info) => self.learn(live.named.chat, &info),
                Err(Error::NotFound(_)) => self.pass(&Notice::Changed {
                    process: live.named,
                    state: State::Lost(GONE.into()),
                    total: live.total,
                }),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// Passes on how a process is now.
    fn learn(&self, owner: Option<toolhost_state::id::ChatId>, info: &Info) {
        let process = Named {
            id: info.id.clone(),
            chat: owner,
            key: info.key.clone(),
        };
        let known = {
            let mut told = self.told.lock();
            let known = told.live.get(&info.id).map(|known| known.total);
            let ended = info.exited.unwrap_or(info.started);
            if known.is_none() && !info.state.is_live() && ended < *self.since.lock() {
                told.ended.insert(info.id.clone());
                return;
            }
            known
        };
        if known.is_none() {
            self.pass(&Notice::Started {
                process: process.clone(),
                command: info.command.clone(),
                workdir: info.workdir.clone(),
                background: info.background,
            });
        }
        let offset = known.unwrap_or_default();
        if info.total > offset {
            self.pass(&Notice::Output {
                process: process.clone(),
                offset,
                length: info.total - offset,
            });
        }
        if info.state != State::Running {
            self.pass(&Notice::Changed {
                process,
                state: info.state.clone(),
                total: info.total,
            });
        }
    }

    /// Returns whether this process was live when the last event told of it.
    pub(crate) fn is_live(&self, owner: Owner<'_>, id: &str) -> bool {
        let told = self.told.lock();
        let live = told.live.get(id);
        live.is_some_and(|live| live.named.chat.as_ref() == owner)
    }
}

impl Told {
    /// Notes an event, and returns the parts of it that were not told yet. A stream tells some events again that a list has told before.
    fn news(&mut self, notice: &Notice) -> Vec<Notice> {
        match notice {
            Notice::Alive | Notice::Missed => Vec::new(),
            Notice::Denied { .. } => vec![notice.clone()],
            Notice::Started { process, .. } => {
                if self.live.contains_key(&process.id) || self.ended.contains(&process.id) {
                    return Vec::new();
                }
                let started = Live {
                    named: process.clone(),
                    state: State::Running,
                    total: 0,
                };
                self.live.insert(process.id.clone(), started);
                vec![notice.clone()]
            }
            Notice::Output {
                process,
                offset,
                length,
            } => self.output(process, offset + length).into_iter().collect(),
            Notice::Changed {
                process,
                state,
                total,
            } => {
                let mut news: Vec<_> = self.output(process, *total).into_iter().collect();
                let Some(known) = self.live.get_mut(&process.id) else {
                    return Vec::new();
                };
                if known.state != *state {
                    known.state = state.clone();
                    news.push(notice.clone());
                }
                if !state.is_live() {
                    self.live.remove(&process.id);
                    self.ended.insert(process.id.clone());
                }
                news
            }
        }
    }

    /// Returns the event of the output up to this cursor that was not told yet, if there is some.
    fn output(&mut self, process: &Named, total: u64) -> Option<Notice> {
        let known = self.live.get_mut(&process.id)?;
        let offset = known.total;
        let length = total.checked_sub(offset).filter(|&length| length > 0)?;
        known.total = total;
        Some(Notice::Output {
            process: process.clone(),
            offset,
            length,
        })
    }
}

/// The reason of the loss of a process that the agent does not know any more.
pub(crate) const GONE: &str =
    "the agent was started anew without its state, and its commands ended with it";
