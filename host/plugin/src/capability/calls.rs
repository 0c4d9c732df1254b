//! `toolhost:plugin/calls`: calls of other tools, in the scope of the running call.

mod convert;
mod grant;
mod search;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::time::Instant;
use wasmtime::Result;
use wasmtime::component::Resource;

use super::State;
use super::session::{Session, StartError};
use super::{Call, CallContext, CallState, Capability, Of, Scope, View, bindings};
use crate::grants::{GrantValue, Grants};
use generated::toolhost::plugin::calls as wit;
use toolhost_call::call::Arguments;
use toolhost_call::tool::Definition;
use toolhost_workspace::files::{CpuAccount, Error};

#[expect(unreachable_pub, reason = "the generated code re-exports it")]
pub use super::session::Handle;

bindings::generate!(
    interfaces: "import toolhost:plugin/calls@0.1.0;",
    trappable_error_type: { "toolhost:plugin/calls.error" => wasmtime::Error },
    with: { "toolhost:plugin/calls.call": super::Handle },
);

/// The name of the capability.
pub(crate) const NAME: &str = "calls";

/// The capability to call other tools.
pub(super) const CAPABILITY: Capability = Capability {
    name: NAME,
    imports: &["toolhost:plugin/calls"],
    world: Some("calling-plugin"),
    line: r#"calls = ["read_file"]"#,
    meaning: "`calls` lets it call the tools that you list, in the chat and with the rights of its caller; `*` at the end of a name stands for any rest",
    options: &["calls=TOOL"],
    read: grant::read,
    // A name that no tool has.
    least: || GrantValue::List(vec!["-".into()]),
    link: |linker| wit::add_to_linker::<State, Of<Calls>>(linker, State::view),
};

impl Grants {
    /// Returns these grants with the grant to call the tools that one of these patterns matches. A pattern is the name of a tool; `*` at
    /// its end stands for any rest of a name.
    #[must_use]
    pub fn with_calls(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let patterns = patterns.into_iter().map(Into::into);
        let value = GrantValue::List(patterns.collect());
        self.granted.insert(NAME, value);
        self
    }

    /// Returns whether the plugin may call other tools.
    pub fn calls(&self) -> bool {
        self.get(NAME).is_some()
    }

    /// Returns whether one of the patterns of the grant matches the name of a tool.
    pub(crate) fn may_call(&self, tool: &str) -> bool {
        grant::includes(self.get(NAME), tool)
    }

    /// Returns whether all effects of the plugin are calls of other tools, which the host records, or starts of processes, if the workspace
    /// records these. A call of it can then run again after a crash.
    pub(crate) fn has_only_recorded_effects(&self, are_starts_recorded: bool) -> bool {
        let is_recorded = |capability: &&str| match *capability {
            NAME => true,
            super::processes::NAME => are_starts_recorded,
            _ => false,
        };
        let is_only = !self.granted.is_empty() && self.granted.keys().all(is_recorded);
        is_only && self.preopens.iter().all(|preopen| !preopen.write)
    }
}

/// The part of the call's time that a wait leaves, so that the guest can still reply.
const TIME_TO_REPLY: Duration = Duration::from_secs(1);

/// The most tools that one search returns.
const MAX_FOUND: usize = 100;

/// The use of other tools by one call.
#[derive(Debug)]
pub(crate) struct Calls {
    scope: Scope,
    granted: Option<Arc<GrantValue>>,
    work: Arc<CpuAccount>,
}

impl CallState for Calls {
    type Grant = Option<Arc<GrantValue>>;

    fn prepare(value: Option<&GrantValue>) -> Self::Grant {
        value.cloned().map(Arc::new)
    }

    fn begin(granted: &Self::Grant, context: &CallContext) -> Self {
        Self {
            scope: context.scope(NAME),
            granted: granted.clone(),
            work: Arc::clone(&context.work),
        }
    }
}

impl Calls {
    /// Returns the running call, and the calls that it makes.
    fn session(&self) -> Result<(&Call, &Session), wit::Error> {
        let call = self.scope.call().map_err(wit::Error::Denied)?;
        match &call.session {
            Some(session) => Ok((call, session)),
            None => {
                self.scope
                    .denied("used where no other tool can be called".into());
                let text =
                    "this call was made by another one, or outside of a host: it can make no calls";
                Err(wit::Error::Denied(text.into()))
            }
        }
    }

    fn may_call(&self, tool: &str) -> bool {
        grant::includes(self.granted.as_deref(), tool)
    }

    /// Returns the tools that can be called, sorted by name.
    fn tools(&self) -> Result<Vec<Definition>, wit::Error> {
        let (_, session) = self.session()?;
        let mut tools = session.tools();
        tools.retain(|tool| self.may_call(&tool.name));
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(tools)
    }

    async fn start(&self, name: String, arguments: &str) -> Result<Handle, wit::Error> {
        let (call, session) = self.session()?;
        if call.end_if_cancelled() {
            return Err(wit::Error::Cancelled("the call was cancelled".into()));
        }
        let tool = session.tool(&name);
        let Some(tool) = tool.filter(|_| self.may_call(&name)) else {
            self.scope
                .denied("a call of a tool that is not there for it".into());
            return Err(wit::Error::UnknownTool(unknown(&name, &self.tools()?)));
        };
        if call.read_only && !tool.hints.read_only {
            let text = format!("a change by {name}, in a call that promises none");
            self.scope.denied(text);
            let text = "the tool promises to be read-only, so it may call only tools that promise the same";
            return Err(wit::Error::Denied(text.into()));
        }
        let arguments = Arguments::parse(arguments)
            .map_err(|error| wit::Error::InvalidArguments(error.to_string()))?;
        call.effects.note();
        let started = session.start(name, arguments).await;
        started.map_err(|error| {
            if let StartError::Limit(kind, _) = &error {
                self.scope.trail.limit(*kind);
            }
            error.into()
        })
    }

    /// Returns the path of the scratch directory of the running call.
    async fn scratch(&self) -> Result<String, wit::Error> {
        let (call, session) = self.session()?;
        self.scope.approved_call().map_err(wit::Error::Denied)?;
        let changes = |tool: &Definition| !tool.hints.read_only;
        if call.read_only || !self.tools()?.iter().any(changes) {
            self.scope
                .denied("a scratch directory without a tool that could use it".into());
            let text =
                "no tool that can be called here makes changes, so there is no scratch directory";
            return Err(wit::Error::Denied(text.into()));
        }
        let (workspace, chat) = (&call.workspace, &call.request.chat);
        let scratch = session.scratch(workspace, chat, &self.work).await;
        let scratch = scratch.map_err(|error| match error {
            Error::Unavailable(_) => wit::Error::Unavailable(error.to_string()),
            Error::Busy(_) => wit::Error::Busy(error.to_string()),
            error => wit::Error::Failed(format!("the scratch directory was not made: {error}")),
        })?;
        Ok(scratch.path().to_string_lossy().into_owned())
    }
}

/// Returns the text for a model that named a tool which is not there.
fn unknown(name: &str, tools: &[Definition]) -> String {
    let name = crate::text::shown_up_to(name, 64);
    match tools {
        [] => format!("there is no tool {name}; no tool can be called here"),
        tools => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!(
                "there is no tool {name}; the tools are {}",
                names.join(", ")
            )
        }
    }
}

impl wit::Host for View<'_, Calls> {
    fn convert_error(&mut self, error: wasmtime::Error) -> Result<wit::Error> {
        error.downcast()
    }

    async fn list_tools(&mut self) -> Result<Vec<wit::Tool>> {
        let tools = self.state.tools()?;
        Ok(tools.into_iter().map(Into::into).collect())
    }

    async fn search(&mut self, query: String, max: u32) -> Result<Vec<wit::Tool>> {
        let tools = self.state.tools()?;
        let max = usize::try_from(max).unwrap_or(MAX_FOUND).min(MAX_FOUND);
        let found = search::best(tools, &query, max);
        Ok(found.into_iter().map(Into::into).collect())
    }

    async fn start(&mut self, tool: String, arguments: String) -> Result<Resource<Handle>> {
        let started = self.state.start(tool, &arguments).await?;
        Ok(self.table.push(started)?)
    }

    async fn scratch(&mut self) -> Result<String> {
        Ok(self.state.scratch().await?)
    }

    async fn wait_any(
        &mut self,
        calls: Vec<Resource<Handle>>,
        timeout_ms: u64,
    ) -> Result<wit::Waited> {
        let handles: Vec<_> = calls
            .iter()
            .map(|call| self.table.get(call).cloned())
            .collect::<Result<_, _>>()?;
        let (call, _) = self.state.session()?;
        if let Some(at) = handles.iter().position(Handle::has_ended) {
            return Ok(wit::Waited::Ended(u32::try_from(at)?));
        }
        let left = call
            .deadline
            .saturating_duration_since(Instant::now())
            .saturating_sub(TIME_TO_REPLY);
        let timeout = tokio::time::sleep(Duration::from_millis(timeout_ms).min(left));
        let ends = handles.into_iter().map(|handle| Box::pin(handle.ended()));
        let ends: Vec<_> = ends.collect();
        let first = async move {
            match ends.is_empty() {
                true => std::future::pending().await,
                false => select_all(ends).await.1,
            }
        };
        tokio::select! {
            biased;
            () = call.cancelled.cancelled() => {
                call.end_if_cancelled();
                Ok(wit::Waited::Cancelled)
            }
            at = first => Ok(wit::Waited::Ended(u32::try_from(at)?)),
            () = timeout => Ok(wit::Waited::TimedOut),
        }
    }
}

impl wit::HostCall for View<'_, Calls> {
    async fn id(&mut self, call: Resource<Handle>) -> Result<String> {
        Ok(self.table.get(&call)?.id().to_string())
    }

    async fn reply(
        &mut self,
        call: Resource<Handle>,
    ) -> Result<Option<Result<wit::Reply, wit::Error>>> {
        Ok(self.table.get(&call)?.end().map(convert::reply))
    }

    async fn cancel(&mut self, call: Resource<Handle>) -> Result<()> {
        self.table.get(&call)?.cancel();
        Ok(())
    }

    async fn drop(&mut self, call: Resource<Handle>) -> Result<()> {
        self.table.delete(call)?;
        Ok(())
    }
}
