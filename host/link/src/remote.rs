//! A workspace that an agent offers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use toolhost_state::id::ChatId;
use toolhost_workspace::files;
use toolhost_workspace::operation::{
    Answer, Asked, Identity, ListPorts, Operation, Restrict, Start, TakeSnapshot, Typed, Wait,
};
use toolhost_workspace::process::{
    Connecting, Error, Info, Port, Shell, Subscriber, WaitOptions, Waited, Wake,
};
use toolhost_workspace::{Context, Owner, Workspace};

use crate::ends::Ends;
use crate::events::{Events, GONE};
use crate::link::{CallError, Done, Link};
use toolhost_state::unix_time;

/// How long the answer to the start of a foreground command waits for the end of the command.
const FOR_END: Duration = Duration::from_millis(5);

/// A workspace on another machine.
#[derive(Debug)]
pub struct Remote {
    shared: Arc<Shared>,
    /// The directories whose files may be reached; `None`: all.
    roots: Option<Vec<PathBuf>>,
}

#[derive(Debug)]
struct Shared {
    link: Arc<Link>,
    root: PathBuf,
    shell: Shell,
    events: Arc<Events>,
    /// The ends of processes that came with other answers.
    ends: Ends,
    /// The task that reads the events, once there is a subscriber.
    following: OnceLock<AbortOnDropHandle<()>>,
}

impl Remote {
    /// Opens the workspace of an agent. Its subscribers must be added within a tokio runtime.
    pub(crate) async fn open(link: Link) -> Result<(Self, Identity), CallError> {
        let link = Arc::new(link);
        let identity = link.identify().await?;
        let opened = unix_time::from_ms(identity.time_unix_ms);
        let shared = Shared {
            link,
            root: identity.root.clone(),
            shell: identity.shell,
            events: Arc::new(Events::since(opened)),
            ends: Ends::default(),
            following: OnceLock::new(),
        };
        let remote = Self {
            shared: Arc::new(shared),
            roots: None,
        };
        Ok((remote, identity))
    }

    /// Sends an operation, unless its answer has come before.
    async fn send(&self, context: &Context, operation: Operation) -> Answer {
        let for_end = match &operation {
            Operation::Start(Start { command, .. }) => match command.check() {
                // The caller goes on with something else.
                Ok(()) => (!command.background).then_some(FOR_END),
                Err(error) => return operation.failed(error),
            },
            Operation::TakeSnapshot(TakeSnapshot { owner, id }) => {
                match self.shared.ends.take(owner.as_ref(), id) {
                    Some(ended) => return Answer::TakeSnapshot(Ok(ended.snapshot)),
                    None => None,
                }
            }
            _ => None,
        };
        let asked = Asked {
            roots: self.roots.clone().filter(|_| operation.is_of_files()),
            cpu: context.account.left(),
            for_end,
            operation,
        };
        let Done { answered, events } = match self.shared.link.call(&asked).await {
            Ok(done) => done,
            Err(error) => return asked.operation.failed(error.into()),
        };
        let operation = asked.operation;
        context.account.add(answered.cpu);
        let mut answer = answered.answer;
        let ended = match (&answer, answered.ended) {
            (Answer::Start(Ok(started)), Some(ended)) => {
                let owner = operation.owner();
                self.shared.ends.add(owner, &started.id, ended);
                true
            }
            _ => false,
        };
        if let Some(error) = answer.error() {
            self.better(operation.owner(), error);
        } else if operation.changes() || ended {
            self.shared.events.caught_up(events).await;
        }
        answer
    }

    /// Says of a process that was live that it is gone, instead of that it never was.
    fn better(&self, owner: Owner<'_>, error: &mut Error) {
        if let Error::NotFound(id) = error
            && self.shared.events.is_live(owner, id)
        {
            *error = Error::Failed(format!("process {id:?} is lost: {GONE}"));
        }
    }

    async fn wait_in_rounds(&self, wait: Wait) -> Result<Waited, Error> {
        let Wait { owner, id, options } = wait;
        let owner = owner.as_ref();
        if options.until.is_none()
            && !options.output
            && let Some(ended) = self.shared.ends.get(owner, &id)
        {
            return Ok(ended.waited);
        }
        let until = Instant::now().checked_add(options.timeout);
        let round = self.shared.link.timing.round;
        loop {
            let ends = until.map_or(round, |until| {
                until.saturating_duration_since(Instant::now()).min(round)
            });
            let ends = Instant::now() + ends;
            // An attempt after a failure has the rest of the time, so that failures do not make the wait longer.
            let wait = || {
                let wait = Wait {
                    owner: owner.cloned(),
                    id: id.clone(),
                    options: WaitOptions {
                        timeout: ends.saturating_duration_since(Instant::now()),
                        ..options.clone()
                    },
                };
                Asked::from(Operation::from(wait))
            };
            let Done { answered, events } = self.shared.link.wait(wait).await?;
            let mut waited = Wait::answered(answered.answer);
            if let Err(error) = &mut waited {
                self.better(owner, error);
            }
            let waited = waited?;
            if let Some(ended) = answered.ended {
                self.shared.ends.add(owner, &id, ended);
            }
            if waited.wake == Wake::Ended {
                self.shared.events.caught_up(events).await;
            }
            let is_over = until.is_some_and(|until| ends >= until);
            if waited.wake != Wake::TimedOut || is_over {
                return Ok(waited);
            }
        }
    }

    /// Asks again until there is a port, or the time is over, so that no request waits for long. A process that has ended is asked for once
    /// more: it has no ports.
    async fn list_ports_in_rounds(&self, list: ListPorts) -> Result<Vec<Port>, Error> {
        let until = Instant::now().checked_add(list.within);
        let round = self.shared.link.timing.round;
        loop {
            let left = until.map_or(round, |until| {
                until.saturating_duration_since(Instant::now())
            });
            let begun = Instant::now();
            let within = left.min(round);
            let asked = || {
                let list = ListPorts {
                    within: within.saturating_sub(begun.elapsed()),
                    ..list.clone()
                };
                Asked::from(Operation::from(list))
            };
            let done = self.shared.link.wait(asked).await?;
            let mut ports = ListPorts::answered(done.answered.answer);
            if let Err(error) = &mut ports {
                self.better(Some(&list.chat), error);
            }
            let ports = ports?;
            // An answer before its time says that nothing is left to wait for.
            let is_early = begun.elapsed() < within;
            if !ports.is_empty() || left <= round || is_early {
                return Ok(ports);
            }
        }
    }
}

impl Workspace for Remote {
    fn root(&self) -> &Path {
        &self.shared.root
    }

    fn shell(&self) -> Shell {
        self.shared.shell
    }

    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            match operation {
                Operation::Wait(wait) => Answer::Wait(self.wait_in_rounds(wait).await),
                Operation::ListPorts(list) => {
                    Answer::ListPorts(self.list_ports_in_rounds(list).await)
                }
                other => self.send(context, other).await,
            }
        })
    }

    fn connect<'a>(&'a self, chat: &'a ChatId, port: u16) -> Connecting<'a> {
        Box::pin(async move { self.shared.link.connect(chat, port).await? })
    }

    fn hear_since(&self, ago: Duration) {
        self.shared.events.go_back(ago);
    }

    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        let Shared {
            link,
            events,
            following,
            ..
        } = &*self.shared;
        events.add(subscriber);
        // Not before: the first events would reach nobody.
        following.get_or_init(|| {
            let following = Events::follow(Arc::downgrade(events), Arc::clone(link));
            AbortOnDropHandle::new(tokio::spawn(following))
        });
    }

    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, files::Error>> {
        Box::pin(async move {
            if self.roots.is_some() {
                let text = "a part of the workspace of an agent has no parts";
                return Err(files::Error::Invalid(text.into()));
            }
            let roots = roots.to_vec();
            let whole: &dyn Workspace = self;
            let restrict = Restrict {
                roots: roots.clone(),
            };
            whole.run(&Context::default(), restrict).await?;
            let restricted = Self {
                shared: Arc::clone(&self.shared),
                roots: Some(roots),
            };
            Ok(Arc::new(restricted) as Arc<dyn Workspace>)
        })
    }

    /// Ends nothing: the processes are the agent's, and live on.
    fn end_all(&self) -> BoxFuture<'_, Vec<Info>> {
        Box::pin(async { Vec::new() })
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unavailable(text) => Self::Unavailable(text),
            CallError::Refused(text) => Self::Failed(text),
            CallError::Unknown(text) => Self::UnknownOutcome(text),
        }
    }
}
