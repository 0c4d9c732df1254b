//! `toolhost:plugin/processes`: shell commands in the scope of the calling chat.

mod convert;
mod grant;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, TryStreamExt as _};
use tokio::time::Instant;
use tracing::Instrument as _;
use wasmtime::Result;
use wasmtime::component::Resource;

use super::State;
use super::call::unreachable;
use super::{
    Allowance, Call, CallContext, CallState, Capability, Of, Scope, StartedProcess, View, bindings,
};
use crate::grants::{GrantValue, Grants};
use generated::toolhost::plugin::processes as wit;
use toolhost_call::call::Refused;
use toolhost_call::notice::Asked;
use toolhost_call::trace::{self, TraceContext};
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{self, Command, Error, Input, Mode, Narrower, Network};

bindings::generate!(
    interfaces: "import toolhost:plugin/processes@0.1.0;",
    trappable_error_type: { "toolhost:plugin/processes.error" => wasmtime::Error },
    with: { "toolhost:plugin/processes.process": super::Process },
);

/// The name of the capability.
pub(crate) const NAME: &str = "processes";

/// The capability to run commands.
pub(super) const CAPABILITY: Capability = Capability {
    name: NAME,
    imports: &["toolhost:plugin/processes"],
    world: Some("process-plugin"),
    line: r#"processes = "own""#,
    meaning: "`processes` lets it run any command as the user of the host, and see and signal those of the calling chat",
    options: &["processes=own"],
    read: grant::read,
    least: own,
    link: |linker| wit::add_to_linker::<State, Of<Processes>>(linker, State::view),
};

impl Grants {
    /// Returns these grants with the grant to run commands added.
    #[must_use]
    pub fn with_processes(mut self) -> Self {
        self.granted.insert(NAME, own());
        self
    }

    /// Returns whether the plugin may run commands in the workspace of the calling chat.
    pub fn processes(&self) -> bool {
        self.get(NAME).is_some()
    }
}

/// The grant to run commands for the calling chat.
pub(crate) fn own() -> GrantValue {
    GrantValue::Text("own".into())
}

/// The most bytes of one `read`.
const MAX_READ: u32 = 4 << 20;

/// The most entries of one `list-processes`.
const MAX_LIST: u32 = 1000;

/// The most processes of one `wait-any`.
const MAX_WAITED: usize = 64;

/// The part of the call's time that a wait leaves, so that the guest can still reply.
const TIME_TO_REPLY: Duration = Duration::from_secs(1);

/// What becomes of an input whose call is cancelled.
const CANCELLED: &str =
    "the call was cancelled while it wrote: a part of the input may have been written";

/// The process of a guest's handle: a name, nothing more.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated code re-exports it")]
pub struct Process {
    chat: ChatId,
    id: String,
}

/// The use of processes by one call.
#[derive(Debug)]
pub(crate) struct Processes {
    scope: Scope,
    allowance: Arc<Allowance>,
    /// How the grant narrows what commands may do.
    bounds: Arc<Narrower>,
}

impl CallState for Processes {
    type Grant = Arc<Narrower>;

    fn prepare(value: Option<&GrantValue>) -> Self::Grant {
        Arc::new(grant::narrower(value))
    }

    fn begin(bounds: &Self::Grant, context: &CallContext) -> Self {
        Self {
            bounds: Arc::clone(bounds),
            scope: context.scope(NAME),
            allowance: Arc::clone(&context.allowance),
        }
    }
}

impl Processes {
    fn call(&self) -> Result<&Call, wit::Error> {
        self.scope.call().map_err(wit::Error::Denied)
    }

    fn approved_call(&self) -> Result<&Call, wit::Error> {
        self.scope.approved_call().map_err(wit::Error::Denied)
    }

    /// Returns the call, if it may act on a process, and notes that it does. `acted`: what an interrupted one may have done before.
    fn acting_call(&self, acted: &str) -> Result<&Call, wit::Error> {
        let call = self.approved_call()?;
        if call.is_resumed {
            let text = format!("the call was interrupted: it may have {acted} again");
            return Err(wit::Error::UnknownOutcome(text));
        }
        call.effects.note();
        Ok(call)
    }

    /// Returns the call, if it may start a process and hand over so many bytes for it.
    fn starting_call(&self, bytes: usize) -> Result<&Call, wit::Error> {
        let allowance = &self.allowance;
        let allowed = allowance.start().and_then(|()| allowance.hand(bytes));
        allowed.map_err(wit::Error::Limit)?;
        let call = self.approved_call()?;
        if call.end_if_cancelled() {
            return Err(wit::Error::Failed("the call was cancelled".into()));
        }
        Ok(call)
    }
}

/// Returns how many bytes a command hands over to the host.
fn size(options: &wit::StartOptions) -> usize {
    let stdin = match &options.stdin {
        wit::Stdin::Bytes(bytes) => bytes.len(),
        wit::Stdin::None | wit::Stdin::Pipe | wit::Stdin::Terminal(_) => 0,
    };
    let env: usize = options
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    options.command.len() + stdin + env
}

/// Returns the wish of a plugin for one of its commands.
fn narrower(without: wit::Restrictions) -> Narrower {
    let is_set = |part| without.contains(part);
    Narrower {
        mode: is_set(wit::Restrictions::WRITE).then_some(Mode::ReadOnly),
        network: is_set(wit::Restrictions::NETWORK).then_some(Network::None),
    }
}

/// Returns how a call is turned away whose operation failed like this, and did nothing. `None`: its guest is told.
fn turned_away(error: &Error) -> Option<Refused> {
    match error {
        Error::Busy(reason) => Some(Refused::Busy(reason.clone())),
        Error::Unavailable(reason) => Some(unreachable(reason)),
        _ => None,
    }
}

/// Starts a process in a task of its own: if the guest is dropped meanwhile, the call still learns of the process. Returns its
/// id.
async fn start(call: &Call, command: Command) -> Result<String> {
    let (workspace, request) = (call.workspace.clone(), call.request.clone());
    let (started, effects) = (call.started.clone(), call.effects.clone());
    let background = command.background;
    let start = async move {
        let began = workspace.start(Some(&request.chat), command).await;
        if let Err(Error::UnknownOutcome(_) | Error::Interrupted) = began {
            started.note_uncertain();
        }
        if began.as_ref().err().and_then(turned_away).is_none() {
            effects.note();
        }
        let id = began?.id;
        let process = StartedProcess {
            id: id.clone(),
            background,
        };
        if !started.push(process) {
            tracing::warn!(
                process = id,
                "the call ended before the start of its process did: the process is ended"
            );
            if let Err(error) = workspace.end(Some(&request.chat), &id).await {
                tracing::warn!(process = id, %error, "failed to end the process of a call that has ended");
            }
        }
        Ok::<_, Error>(id)
    };
    let starting = call.started.starting();
    Ok(starting.spawn(start.in_current_span()).await??)
}

impl wit::Host for View<'_, Processes> {
    fn convert_error(&mut self, error: wasmtime::Error) -> Result<wit::Error> {
        let error = match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => return error.downcast(),
        };
        if let Some(refused) = turned_away(&error) {
            self.state.scope.turn_away(refused)?;
        }
        Ok(error.into())
    }

    async fn current_shell(&mut self) -> Result<wit::Shell> {
        Ok(self.state.call()?.workspace.shell().into())
    }

    async fn start(&mut self, options: wit::StartOptions) -> Result<Resource<Process>> {
        let call = self.state.starting_call(size(&options))?;
        let command = Command {
            command: options.command,
            workdir: options.workdir.map(Into::into),
            env: options.env,
            trace: trace::onward(TraceContext::of(&call.request.attributes))
                .map(|context| context.variables())
                .unwrap_or_default(),
            background: options.background,
            stdin: options.stdin.into(),
            // The same call starts its processes in the same order, however often it is tried.
            key: Some(call.request.id.start_key(call.started.next())),
            timeout: None,
            sandbox: self.state.bounds.and(&narrower(options.without)),
        };
        let id = start(call, command).await?;
        let chat = call.request.chat.clone();
        Ok(self.table.push(Process { chat, id })?)
    }

    async fn open(&mut self, id: String) -> Result<Resource<Process>> {
        let call = self.state.call()?;
        let reach = call.request.reach.as_deref();
        let chat = call.workspace.open(&call.request.chat, reach, &id).await?;
        Ok(self.table.push(Process { chat, id })?)
    }

    async fn list_processes(
        &mut self,
        running_only: bool,
        max: u32,
    ) -> Result<(Vec<wit::Info>, u32)> {
        let call = self.state.call()?;
        let (chat, max) = (&call.request.chat, max.min(MAX_LIST) as usize);
        let listed = call.workspace.list(Some(chat), running_only, max);
        let (infos, total) = listed.await?;
        Ok((
            infos.into_iter().map(Into::into).collect(),
            u32::try_from(total).unwrap_or(u32::MAX),
        ))
    }

    async fn wait_any(
        &mut self,
        processes: Vec<Resource<Process>>,
        timeout_ms: u64,
    ) -> Result<wit::WaitedAny> {
        if processes.len() > MAX_WAITED {
            let text = format!("a wait is for at most {MAX_WAITED} processes");
            return Err(wit::Error::Invalid(text).into());
        }
        let call = self.state.call()?;
        let asked = Duration::from_millis(timeout_ms);
        let timeout = longest_wait(call, asked);
        let ends = FuturesUnordered::new();
        for (place, process) in (0..).zip(&processes) {
            let Process { chat, id } = self.table.get(process)?;
            let options = process::WaitOptions {
                timeout,
                ..process::WaitOptions::default()
            };
            ends.push(async move {
                let waited = call.workspace.wait(Some(chat), id, options).await?;
                let has_ended = waited.wake == process::Wake::Ended;
                Ok::<_, Error>(has_ended.then_some(place))
            });
        }
        let mut ends = pin!(ends.try_filter_map(async |ended| Ok(ended)));
        let (wake, ended) = tokio::select! {
            biased;
            ended = ends.try_next() => match ended? {
                Some(place) => (wit::Wake::Ended, Some(place)),
                None => (timed_out(timeout, asked), None),
            },
            () = call.cancelled.cancelled() => {
                call.end_if_cancelled();
                (wit::Wake::Cancelled, None)
            }
        };
        Ok(wit::WaitedAny { wake, ended })
    }
}

impl View<'_, Processes> {
    /// Writes to the standard input of a process, ends it, or changes the size of its terminal.
    async fn input(&mut self, process: &Resource<Process>, input: Input) -> Result<wit::State> {
        let Process { chat, id } = self.table.get(process)?;
        let call = self
            .state
            .acting_call("written this input before, and does not write it")?;
        let workspace = &call.workspace;
        let state = tokio::select! {
            biased;
            state = workspace.input(Some(chat), id, input, None) => state?,
            () = call.cancelled.cancelled() => {
                call.end_if_cancelled();
                return Err(wit::Error::UnknownOutcome(CANCELLED.into()).into());
            }
        };
        Ok(state.into())
    }
}

/// Returns how long a wait may take at most that a guest wants to take this long.
fn longest_wait(call: &Call, asked: Duration) -> Duration {
    let left = call.deadline.saturating_duration_since(Instant::now());
    let left = left.saturating_sub(TIME_TO_REPLY);
    asked.min(left).min(call.max_wait.unwrap_or(Duration::MAX))
}

/// Returns how a wait ends, of which nothing came within its time.
fn timed_out(timeout: Duration, asked: Duration) -> wit::Wake {
    match timeout < asked {
        true => wit::Wake::Clamped,
        false => wit::Wake::TimedOut,
    }
}

impl wit::HostProcess for View<'_, Processes> {
    async fn id(&mut self, process: Resource<Process>) -> Result<String> {
        Ok(self.table.get(&process)?.id.clone())
    }

    async fn wait(
        &mut self,
        process: Resource<Process>,
        options: wit::WaitOptions,
    ) -> Result<wit::Waited> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = self.state.call()?;
        let asked = Duration::from_millis(options.timeout_ms);
        let timeout = longest_wait(call, asked);
        let wait = process::WaitOptions {
            timeout,
            since: options.since,
            until: options.until,
            output: options.output,
        };
        let waited = tokio::select! {
            biased;
            waited = call.workspace.wait(Some(chat), id, wait) => waited?,
            () = call.cancelled.cancelled() => {
                call.end_if_cancelled();
                call.started.ended(id).await;
                let look = process::WaitOptions::default();
                let now = call.workspace.wait(Some(chat), id, look).await?;
                return Ok(wit::Waited { wake: wit::Wake::Cancelled, ..now.into() });
            }
        };
        let mut waited = wit::Waited::from(waited);
        if waited.wake == wit::Wake::TimedOut {
            waited.wake = timed_out(timeout, asked);
        }
        Ok(waited)
    }

    async fn info(&mut self, process: Resource<Process>) -> Result<wit::Info> {
        let Process { chat, id } = self.table.get(&process)?;
        let workspace = &self.state.call()?.workspace;
        Ok(workspace.info(Some(chat), id).await?.into())
    }

    async fn snapshot(&mut self, process: Resource<Process>) -> Result<wit::Snapshot> {
        let Process { chat, id } = self.table.get(&process)?;
        let workspace = &self.state.call()?.workspace;
        Ok(workspace.snapshot(Some(chat), id).await?.into())
    }

    async fn read(
        &mut self,
        process: Resource<Process>,
        since: u64,
        max: u32,
    ) -> Result<wit::Chunk> {
        let Process { chat, id } = self.table.get(&process)?;
        let workspace = &self.state.call()?.workspace;
        let max = max.min(MAX_READ) as usize;
        Ok(workspace.read(Some(chat), id, since, max).await?.into())
    }

    async fn signal(
        &mut self,
        process: Resource<Process>,
        signal: wit::Signal,
        grace_ms: Option<u64>,
    ) -> Result<wit::State> {
        let Process { chat, id } = self.table.get(&process)?;
        let workspace = &self
            .state
            .acting_call("sent this signal before, and does not send it")?
            .workspace;
        let grace = grace_ms.map(Duration::from_millis);
        let state = workspace.signal(Some(chat), id, signal.into(), grace);
        Ok(state.await?.into())
    }

    async fn write(&mut self, process: Resource<Process>, data: Vec<u8>) -> Result<wit::State> {
        let handed = self.state.allowance.hand(data.len());
        handed.map_err(wit::Error::Limit)?;
        self.input(&process, Input::Bytes(data)).await
    }

    async fn close_input(&mut self, process: Resource<Process>) -> Result<wit::State> {
        self.input(&process, Input::Close).await
    }

    async fn resize(
        &mut self,
        process: Resource<Process>,
        size: wit::TerminalSize,
    ) -> Result<wit::State> {
        self.input(&process, Input::Resize(size.into())).await
    }

    async fn notify(&mut self, process: Resource<Process>, on: wit::Trigger) -> Result<String> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = self.state.call()?;
        let Some(notices) = &call.notices else {
            let text = "the host ends with this call, and tells nothing after it";
            return Err(wit::Error::Unavailable(text.into()).into());
        };
        let asked = Asked {
            chat: chat.clone(),
            process: id.clone(),
            trigger: on.into(),
            principal: call.request.actor.name().to_owned(),
            by: Some(call.request.id.clone()),
        };
        Ok(notices.ask(asked).await?)
    }

    async fn listening(
        &mut self,
        process: Resource<Process>,
        timeout_ms: u64,
    ) -> Result<Vec<wit::ListeningPort>> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = self.state.call()?;
        let within = longest_wait(call, Duration::from_millis(timeout_ms));
        let found = tokio::select! {
            biased;
            found = call.workspace.list_ports(chat, Some(id), within) => found?,
            () = call.cancelled.cancelled() => {
                call.end_if_cancelled();
                Vec::new()
            }
        };
        let ports = found.into_iter().map(|port| {
            let principal = call.request.actor.name();
            let sharing = call.sharing.as_ref();
            let link = sharing.and_then(|sharing| sharing.port(chat, port.number, principal));
            let (url, expires_at) = link.map(|link| (link.url, link.expires_at_unix)).unzip();
            wit::ListeningPort {
                number: port.number,
                url,
                expires_at,
            }
        });
        Ok(ports.collect())
    }

    async fn drop(&mut self, process: Resource<Process>) -> Result<()> {
        self.table.delete(process)?;
        Ok(())
    }
}
