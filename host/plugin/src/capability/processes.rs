//! `toolhost:plugin/processes`: shell commands in the scope of the calling chat.

mod convert;

use std::time::Duration;

use tokio::time::Instant;
use tracing::Instrument as _;
use wasmtime::Result;
use wasmtime::component::{Linker, Resource};

use super::process::Process;
use super::wit::processes as wit;
use super::{About, Call, Capabilities, Scope, ScopeView, StartedProcess, View};
use crate::grants::{GrantValue, InvalidGrant};
use toolhost_call::trace::{self, TraceContext};
use toolhost_workspace::process::{self, Command};

/// The name of the capability.
pub(crate) const NAME: &str = "processes";

/// The capability to run commands.
pub(crate) static ABOUT: About = About {
    name: NAME,
    imports: &["toolhost:plugin/processes"],
    line: r#"processes = "own""#,
    meaning: "`processes` lets it run any command as the user of the host, and see and signal those of the calling chat",
    options: &["processes=own"],
    read: |value| match value {
        GrantValue::Text(text) if text == "own" => (Some(own()), Vec::new()),
        GrantValue::Text(text) if text == "none" => (None, Vec::new()),
        _ => (None, vec![InvalidGrant::must_be(r#""none" or "own""#)]),
    },
    least: own,
};

/// The grant to run commands for the calling chat.
pub(crate) fn own() -> GrantValue {
    GrantValue::Text("own".into())
}

/// Links the interface.
pub(crate) fn add_to_linker<T: ScopeView + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    wit::add_to_linker::<T, Capabilities>(linker, T::view)
}

/// The most bytes of one `read`.
const MAX_READ: u32 = 4 << 20;

/// The most entries of one `list-processes`.
const MAX_LIST: u32 = 1000;

/// The part of the call's time that a wait leaves, so that the guest can still reply.
const TIME_TO_REPLY: Duration = Duration::from_secs(1);

/// Returns the call, or the answer to a plugin that uses a capability while it is asked for its tools.
fn call(scope: &Scope) -> std::result::Result<&Call, wit::Error> {
    scope.call_for("processes").map_err(wit::Error::Denied)
}

/// Returns how many bytes a command hands over to the host.
fn size(options: &wit::StartOptions) -> usize {
    let stdin = options.stdin.as_ref().map_or(0, Vec::len);
    let env: usize = options
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    options.command.len() + stdin + env
}

impl wit::Host for View<'_> {
    async fn start(
        &mut self,
        options: wit::StartOptions,
    ) -> Result<std::result::Result<Resource<Process>, wit::Error>> {
        let size = size(&options);
        let Scope {
            allowance, trail, ..
        } = &mut *self.scope;
        let allowed = allowance.start(trail);
        if let Err(text) = allowed.and_then(|()| allowance.hand(size, trail)) {
            return Ok(Err(wit::Error::Limit(text)));
        }
        let call = match call(self.scope) {
            Ok(call) => call,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(text) = self.scope.check_approved(call, "processes") {
            return Ok(Err(wit::Error::Denied(text)));
        }
        if call.tell_cancelled() {
            return Ok(Err(wit::Error::Failed("the call was cancelled".into())));
        }
        let background = options.background;
        let command = Command {
            command: options.command,
            workdir: options.workdir.map(Into::into),
            env: options.env,
            trace: trace::onward(TraceContext::of(&call.request.attributes))
                .map(|context| context.variables())
                .unwrap_or_default(),
            background,
            stdin: options.stdin,
            // The same call starts its processes in the same order, however often it is tried.
            key: Some(call.request.id.start_key(call.started.next())),
            timeout: None,
        };
        let (workspace, request, started) = (
            call.workspace.clone(),
            call.request.clone(),
            call.started.clone(),
        );
        // The start is a task of its own: if the guest is dropped meanwhile, the call still learns of the process.
        let started_by = started.starting().clone();
        let chat = request.chat.clone();
        let start = async move {
            let began = workspace.start(Some(&request.chat), command).await;
            if let Err(process::Error::UnknownOutcome(_) | process::Error::Interrupted) = began {
                started.note_uncertain();
            }
            let id = began?.id;
            let process = StartedProcess {
                id: id.clone(),
                background,
            };
            if !started.push(process) {
                tracing::warn!(
                    process = id,
                    "the call of a process ended before its start did: it is ended"
                );
                if let Err(error) = workspace.end(Some(&request.chat), &id).await {
                    tracing::warn!(process = id, %error, "failed to end the process of a call that has ended");
                }
            }
            Ok::<_, process::Error>(id)
        };
        let start = started_by.spawn(start.in_current_span());
        match start.await? {
            Ok(id) => Ok(Ok(self.table.push(Process { chat, id })?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn open(
        &mut self,
        id: String,
    ) -> Result<std::result::Result<Resource<Process>, wit::Error>> {
        let call = match call(self.scope) {
            Ok(call) => call,
            Err(error) => return Ok(Err(error)),
        };
        let reach = call.request.reach.as_deref();
        match call.workspace.open(&call.request.chat, reach, &id).await {
            Ok(chat) => Ok(Ok(self.table.push(Process { chat, id })?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn list_processes(
        &mut self,
        running_only: bool,
        max: u32,
    ) -> Result<std::result::Result<(Vec<wit::Info>, u32), wit::Error>> {
        let call = call(self.scope);
        let listed = async {
            let call = call?;
            let max = max.min(MAX_LIST) as usize;
            let (infos, total) = call
                .workspace
                .list(Some(&call.request.chat), running_only, max)
                .await?;
            Ok((
                infos.into_iter().map(Into::into).collect(),
                u32::try_from(total).unwrap_or(u32::MAX),
            ))
        };
        Ok(listed.await)
    }
}

impl wit::HostProcess for View<'_> {
    async fn id(&mut self, process: Resource<Process>) -> Result<String> {
        Ok(self.table.get(&process)?.id.clone())
    }

    async fn wait(
        &mut self,
        process: Resource<Process>,
        options: wit::WaitOptions,
    ) -> Result<std::result::Result<wit::Waited, wit::Error>> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = call(self.scope);
        let waited = async {
            let call = call?;
            let asked = Duration::from_millis(options.timeout_ms);
            let left = call
                .deadline
                .saturating_duration_since(Instant::now())
                .saturating_sub(TIME_TO_REPLY);
            let timeout = asked.min(left).min(call.max_wait.unwrap_or(Duration::MAX));
            let since = options.since;
            let wait = process::WaitOptions {
                timeout,
                since,
                until: options.until,
                output: options.output,
            };
            let waited = tokio::select! {
                biased;
                waited = call.workspace.wait(Some(chat), id, wait) => waited?,
                () = call.cancelled.cancelled() => {
                    call.tell_cancelled();
                    call.started.ended(id).await;
                    let look = process::WaitOptions::default();
                    let now = call.workspace.wait(Some(chat), id, look).await?;
                    return Ok(wit::Waited { wake: wit::Wake::Cancelled, ..now.into() });
                }
            };
            let clamped = waited.wake == process::Wake::TimedOut && timeout < asked;
            let waited = wit::Waited::from(waited);
            Ok(if clamped {
                wit::Waited {
                    wake: wit::Wake::Clamped,
                    ..waited
                }
            } else {
                waited
            })
        };
        Ok(waited.await)
    }

    async fn info(
        &mut self,
        process: Resource<Process>,
    ) -> Result<std::result::Result<wit::Info, wit::Error>> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = call(self.scope);
        let info = async {
            let call = call?;
            Ok(call.workspace.info(Some(chat), id).await?.into())
        };
        Ok(info.await)
    }

    async fn snapshot(
        &mut self,
        process: Resource<Process>,
    ) -> Result<std::result::Result<wit::Snapshot, wit::Error>> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = call(self.scope);
        let snapshot = async {
            let call = call?;
            Ok(call.workspace.snapshot(Some(chat), id).await?.into())
        };
        Ok(snapshot.await)
    }

    async fn read(
        &mut self,
        process: Resource<Process>,
        since: u64,
        max: u32,
    ) -> Result<std::result::Result<wit::Chunk, wit::Error>> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = call(self.scope);
        let max = max.min(MAX_READ) as usize;
        let chunk = async {
            let call = call?;
            Ok(call
                .workspace
                .read(Some(chat), id, since, max)
                .await?
                .into())
        };
        Ok(chunk.await)
    }

    async fn signal(
        &mut self,
        process: Resource<Process>,
        signal: wit::Signal,
        grace_ms: Option<u64>,
    ) -> Result<std::result::Result<wit::State, wit::Error>> {
        let Process { chat, id } = self.table.get(&process)?;
        let call = call(self.scope);
        let grace = grace_ms.map(Duration::from_millis);
        let state = async {
            let call = call?;
            let approved = self.scope.check_approved(call, "processes");
            approved.map_err(wit::Error::Denied)?;
            let signal = process::Signal::from(signal);
            let workspace = &call.workspace;
            let state = workspace.signal(Some(chat), id, signal, grace).await?;
            Ok(state.into())
        };
        Ok(state.await)
    }

    async fn drop(&mut self, process: Resource<Process>) -> Result<()> {
        self.table.delete(process)?;
        Ok(())
    }
}
