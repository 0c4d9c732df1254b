//! Operations over a network that loses requests and answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use parking_lot::Mutex;
use tokio::time::Instant;
use toolhost_state::id::ChatId;
use toolhost_workspace::operation::{
    Answer as Answers, Answered, Asked, Identity, Operation, Repeat, Typed, VERSION,
};
use toolhost_workspace::{Connection, process};
use uuid::Uuid;

use crate::breaker::{Breaker, Check};
use crate::budget::{Budget, Received, TooMuch};
use crate::explain;
use crate::failure::{Failure, refused};
use crate::names::{CALL, CONNECT, EVENTS, INSTANCE, OPERATIONS, PATH, STREAM};
use crate::route::Route;
use crate::stream::{carried, outgoing};
use crate::timing::Timing;
use crate::transport::{Answer, Request, RequestBody, Transport};

/// The pause before the second attempt; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The slowest connection over which an operation is sent in time, in bytes per millisecond.
const SLOWEST: u64 = 64;

/// How long the server behind a port may take to accept a connection, on top of the time for the answer of the agent.
const ACCEPTS_WITHIN: Duration = Duration::from_secs(15);

/// The most bytes of the description of a workspace, and of the text of an error.
const MAX_SHORT: usize = 64 << 10;

/// An operation that was not done, or of which it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// It was not done, and may be later.
    Unavailable(String),
    /// It was not done: the agent refuses it, and does so the next time.
    Refused(String),
    /// It may have been done.
    Unknown(String),
}

/// The result of an operation.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) answered: Answered<Answers>,
    /// How many events the agent had then.
    pub(crate) events: u64,
}

/// An agent, for as long as this host uses it.
#[derive(Debug)]
pub(crate) struct Link {
    route: Box<dyn Route>,
    breaker: Arc<Breaker>,
    pub(crate) budget: Budget,
    pub(crate) timing: Timing,
    /// The run of the agent that answered last, if it is known.
    run: Mutex<Option<Run>>,
}

/// A run of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    instance: HeaderValue,
    /// Whether the keys of starts hold in the next run as well.
    remembers_starts: bool,
}

impl Link {
    pub(crate) fn new(
        route: Box<dyn Route>,
        timing: Timing,
        breaker: Arc<Breaker>,
        budget: Budget,
    ) -> Self {
        Self {
            route,
            breaker,
            budget,
            timing,
            run: Mutex::default(),
        }
    }

    /// Asks the agent who it is.
    pub(crate) async fn identify(&self) -> Result<Identity, CallError> {
        let mut attempts = Attempts::new(Repeat::Harmless, self.timing.patience);
        loop {
            let failure = match self.asked_once(&mut attempts).await {
                Ok((identity, _)) => return Ok(identity),
                Err(failure) => failure,
            };
            self.after(failure, &mut attempts).await?;
        }
    }

    async fn asked_once(&self, attempts: &mut Attempts) -> Result<(Identity, Run), Failure> {
        let request = Request {
            method: Method::GET,
            path: PATH.into(),
            headers: HeaderMap::new(),
            body: RequestBody::empty(),
            within: attempts.within(self.timing.answer),
        };
        let (transport, answer) = self.send(request, attempts).await?;
        let (_, body) = self.read(&*transport, answer, MAX_SHORT).await?;
        let agent = transport.agent();
        let identity = explain::identity(agent, &body.bytes).map_err(Failure::Refused)?;
        let instance = HeaderValue::from_str(&identity.instance);
        let instance = instance.map_err(|_| Failure::Refused(explain::none_of_ours(agent)))?;
        let run = Run {
            instance,
            remembers_starts: identity.remembers_starts,
        };
        *self.run.lock() = Some(run.clone());
        Ok((identity, run))
    }

    /// Does an operation. Repeats it where that is safe, for as long as [`Timing::patience`], and on the same run of the agent only if it
    /// would act twice.
    pub(crate) async fn call(&self, asked: &Asked<Operation>) -> Result<Done, CallError> {
        let body = to_body(asked)?;
        let prepared = || Ok((body.clone(), waits(asked)));
        self.attempt(asked, prepared).await
    }

    /// Does an operation that needs nothing from its caller.
    pub(crate) async fn ask<O: Typed>(&self, operation: O) -> Result<O::Answer, CallError> {
        let done = self.call(&Asked::from(operation.into())).await?;
        Ok(O::answered(done.answered.answer))
    }

    /// Does an operation that waits. `asked` returns it with the rest of its time, once for each attempt.
    pub(crate) async fn wait(
        &self,
        asked: impl Fn() -> Asked<Operation>,
    ) -> Result<Done, CallError> {
        let prepared = || {
            let asked = asked();
            Ok((to_body(&asked)?, waits(&asked)))
        };
        self.attempt(&asked(), prepared).await
    }

    async fn attempt(
        &self,
        asked: &Asked<Operation>,
        prepared: impl Fn() -> Result<(Bytes, Duration), CallError>,
    ) -> Result<Done, CallError> {
        let (operation, waits) = (&asked.operation, waits(asked));
        let repeat = operation.repeat();
        let mut attempts = Attempts::new(repeat, self.timing.patience + waits);
        let mut headers = HeaderMap::new();
        headers.insert(OPERATIONS, VERSION.into());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if repeat == Repeat::Acts {
            let id = Uuid::now_v7().to_string();
            if let Ok(id) = HeaderValue::from_str(&id) {
                headers.insert(CALL, id);
            }
        }
        loop {
            let (body, waits) = prepared()?;
            let uploading = Duration::from_millis(body.len() as u64 / SLOWEST);
            let request = Request {
                method: Method::POST,
                path: format!("{PATH}/{}", operation.name()),
                headers: headers.clone(),
                within: attempts.within(self.timing.answer) + waits + uploading,
                body: RequestBody::Bytes(body),
            };
            let failure = match self.called_once(operation, request, &mut attempts).await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            self.after(failure, &mut attempts).await?;
        }
    }

    async fn called_once(
        &self,
        operation: &Operation,
        mut request: Request,
        attempts: &mut Attempts,
    ) -> Result<Done, Failure> {
        if attempts.repeat != Repeat::Harmless {
            let run = self.run_for(attempts).await?;
            request.headers.insert(INSTANCE, run.instance);
        }
        let (transport, answer) = self.send(request, attempts).await?;
        let most = operation.max_answer();
        let (headers, body) = self.read(&*transport, answer, most).await?;
        let events = headers.get(EVENTS);
        let events = events.and_then(|events| events.to_str().ok()?.parse().ok());
        let mut json = serde_json::Deserializer::from_slice(&body.bytes);
        let answered = operation.read_answer(&mut json);
        let answered = answered.and_then(|answered| json.end().map(|()| answered));
        let answered = answered.map_err(|error| {
            Failure::Broken(format!("the answer of the agent cannot be read: {error}"))
        })?;
        let mut known = self.run.lock();
        let is_other = |run: &Run| headers.get(INSTANCE) != Some(&run.instance);
        if known.as_ref().is_some_and(is_other) {
            // The next operation that needs it asks.
            *known = None;
        }
        Ok(Done {
            answered,
            events: events.unwrap_or_default(),
        })
    }

    /// Returns the run of the agent that an attempt is for.
    async fn run_for(&self, attempts: &mut Attempts) -> Result<Run, Failure> {
        let known = self.run.lock().clone();
        let run = match known {
            Some(run) => run,
            None => match self.asked_once(attempts).await {
                Ok((_, run)) => run,
                // The operation itself was not sent.
                Err(Failure::Broken(text)) => return Err(Failure::NotSent(text)),
                Err(failure) => return Err(failure),
            },
        };
        if let Some(earlier) = attempts.run.replace(run.clone())
            && earlier != run
            && attempts.may_be_done
        {
            let is_remembered = attempts.repeat == Repeat::Keyed
                && earlier.remembers_starts
                && run.remembers_starts;
            if !is_remembered {
                return Err(Failure::Forgotten);
            }
        }
        Ok(run)
    }

    /// Opens the stream of events. Returns the answer when its head is there.
    pub(crate) async fn events(&self) -> Result<Answer, String> {
        let mut attempts = Attempts::new(Repeat::Harmless, Duration::ZERO);
        // It has pauses of its own, and finds out that the agent is back.
        attempts.asks_breaker = false;
        let mut headers = HeaderMap::new();
        headers.insert(OPERATIONS, VERSION.into());
        let request = Request {
            method: Method::GET,
            path: format!("{PATH}/events"),
            headers,
            body: RequestBody::empty(),
            within: self.timing.answer,
        };
        let sent = self.send(request, &mut attempts).await;
        let (transport, answer) = sent.map_err(Failure::into_text)?;
        match answer.status {
            StatusCode::OK => Ok(answer),
            status => Err(explain::refused(transport.agent(), status, b"")),
        }
    }

    /// Connects to a port of a chat. The inner error is that of the workspace of the agent.
    ///
    /// An attempt whose answer is lost is repeated: nothing was sent through its connection, which the agent then closes.
    pub(crate) async fn connect(
        &self,
        chat: &ChatId,
        port: u16,
    ) -> Result<Result<Box<dyn Connection>, process::Error>, CallError> {
        let mut attempts = Attempts::new(Repeat::Harmless, self.timing.patience);
        loop {
            let failure = match self.connected_once(chat, port, &mut attempts).await {
                Ok(connected) => return Ok(connected),
                Err(failure) => failure,
            };
            self.after(failure, &mut attempts).await?;
        }
    }

    async fn connected_once(
        &self,
        chat: &ChatId,
        port: u16,
        attempts: &mut Attempts,
    ) -> Result<Result<Box<dyn Connection>, process::Error>, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(OPERATIONS, VERSION.into());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(STREAM));
        let (writer, body) = outgoing();
        let request = Request {
            method: Method::POST,
            path: format!("{CONNECT}/{chat}/{port}", chat = chat.as_str()),
            headers,
            body: RequestBody::Stream(body),
            // A server may take long to accept.
            within: attempts.within(self.timing.answer) + ACCEPTS_WITHIN,
        };
        let (transport, answer) = self.send(request, attempts).await?;
        let is_stream = answer.headers.get(CONTENT_TYPE) == Some(&HeaderValue::from_static(STREAM));
        if answer.status == StatusCode::OK && is_stream {
            return Ok(Ok(Box::new(carried(writer, answer.body))));
        }
        let (_, body) = self.read(&*transport, answer, MAX_SHORT).await?;
        match serde_json::from_slice::<Result<(), process::Error>>(&body.bytes) {
            Ok(Err(error)) => Ok(Err(error)),
            _ => {
                let text = "the answer of the agent to a connection cannot be read";
                Err(Failure::Broken(text.into()))
            }
        }
    }

    /// Returns when the agent has connected anew, if that is ever known.
    pub(crate) async fn arrives(&self) {
        self.route.arrives().await;
    }

    /// Sends a request once.
    async fn send(
        &self,
        request: Request,
        attempts: &mut Attempts,
    ) -> Result<(Arc<dyn Transport>, Answer), Failure> {
        if std::mem::take(&mut attempts.asks_breaker) && !self.route.is_there() {
            match self.breaker.check() {
                Check::Pass => {}
                // One attempt is enough to see whether the agent is back.
                Check::Probe => attempts.probes(),
                Check::Refuse(reason) => return Err(Failure::Away(reason)),
            }
        }
        attempts.count += 1;
        let transport = self.route.find(attempts.failed.as_ref()).await;
        let transport = transport.map_err(Failure::from)?;
        match transport.send(request).await {
            Ok(answer) => {
                self.breaker.succeeded();
                attempts.is_answered();
                Ok((transport, answer))
            }
            Err(error) => {
                attempts.failed = Some(transport);
                Err(error.into())
            }
        }
    }

    /// Reads the body of a good answer, which has at most so many bytes.
    async fn read(
        &self,
        transport: &dyn Transport,
        mut answer: Answer,
        most: usize,
    ) -> Result<(HeaderMap, Received), Failure> {
        let agent = transport.agent();
        let most = match answer.status {
            StatusCode::OK => most,
            _ => MAX_SHORT,
        };
        let mut body = self.budget.begin(most);
        loop {
            let frame = tokio::time::timeout(self.timing.answer, answer.body.frame()).await;
            let frame = frame.map_err(|_| {
                Failure::Broken(format!("the answer of {agent} did not go on in time"))
            })?;
            let Some(frame) = frame else {
                break;
            };
            let frame = frame.map_err(|error| {
                Failure::Broken(format!("the answer of {agent} broke off: {error}"))
            })?;
            if let Ok(data) = frame.into_data() {
                let full = |error| format!("the answer of {agent} {error}");
                body.add(&data).map_err(|error| match error {
                    TooMuch::Long(_) => Failure::Unclear(full(error)),
                    TooMuch::Full => Failure::NoRoom(full(error)),
                })?;
            }
        }
        match answer.status {
            StatusCode::OK => Ok((answer.headers, body)),
            status => Err(refused(agent, status, &body.bytes)),
        }
    }

    /// Waits for the next attempt.
    ///
    /// # Errors
    ///
    /// If there is none.
    async fn after(&self, failure: Failure, attempts: &mut Attempts) -> Result<(), CallError> {
        attempts.may_be_done |= matches!(
            failure,
            Failure::Broken(_) | Failure::Unclear(_) | Failure::NoRoom(_)
        );
        if let Failure::OtherRun = failure {
            *self.run.lock() = None;
        }
        let is_final = matches!(
            failure,
            Failure::Away(_) | Failure::Refused(_) | Failure::Unclear(_) | Failure::Forgotten
        );
        let is_unreachable = matches!(failure, Failure::NotSent(_) | Failure::Broken(_));
        let is_refused = matches!(failure, Failure::Refused(_));
        let pause = attempts.pause();
        if !is_final && Instant::now() + pause < attempts.until {
            tokio::time::sleep(pause).await;
            return Ok(());
        }
        let text = failure.into_text();
        if is_unreachable {
            self.breaker.failed(&text);
        }
        let is_unknown = attempts.may_be_done && attempts.repeat != Repeat::Harmless;
        Err(match (is_unknown, is_refused) {
            (true, _) => CallError::Unknown(text),
            (false, true) => CallError::Refused(text),
            (false, false) => CallError::Unavailable(text),
        })
    }
}

/// The attempts of one operation.
struct Attempts {
    repeat: Repeat,
    until: Instant,
    /// The end of the patience, while one attempt sees whether the agent is back.
    patient_until: Option<Instant>,
    count: u32,
    /// Whether the breaker is still to be asked.
    asks_breaker: bool,
    /// Whether one of them may have reached the agent.
    may_be_done: bool,
    /// The run of the agent that got the last one.
    run: Option<Run>,
    /// The way that failed last.
    failed: Option<Arc<dyn Transport>>,
}

impl Attempts {
    fn new(repeat: Repeat, patience: Duration) -> Self {
        Self {
            repeat,
            until: Instant::now() + patience,
            patient_until: None,
            count: 0,
            asks_breaker: true,
            may_be_done: false,
            run: None,
            failed: None,
        }
    }

    /// Has one attempt see whether the agent is back.
    fn probes(&mut self) {
        self.patient_until = Some(self.until);
        self.until = Instant::now();
    }

    /// Notes that the agent is back: what it refuses may be tried again.
    fn is_answered(&mut self) {
        self.until = self.patient_until.take().unwrap_or(self.until);
    }

    /// Returns how long the next one waits for an answer: longer each time, and hardly longer than the patience lasts.
    fn within(&self, answer: Duration) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        let longer = answer.saturating_mul(1 << self.count.min(10));
        longer.min(left).max(answer)
    }

    fn pause(&self) -> Duration {
        let doublings = self.count.saturating_sub(1).min(10);
        FIRST_PAUSE
            .saturating_mul(1 << doublings)
            .min(LONGEST_PAUSE)
    }
}

/// Returns how long an agent may wait before it answers.
fn waits(asked: &Asked<Operation>) -> Duration {
    asked.operation.waits() + asked.for_end.unwrap_or_default()
}

fn to_body(asked: &Asked<Operation>) -> Result<Bytes, CallError> {
    let body = serde_json::to_vec(asked);
    body.map(Bytes::from)
        .map_err(|error| CallError::Refused(error.to_string()))
}
