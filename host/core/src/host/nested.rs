//! The calls that a running call makes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use toolhost_call::call::{
    Arguments, CallError, NestedCall, NestedCalls, Outcome, Refused, Request, StoreError,
};
use toolhost_call::tool::Definition;

use super::Host;
use super::plugins::Table;

/// The attribute of a nested call that names the call which made it.
const PARENT: &str = "parent";

/// How long a nested call waits for a place among the calls of a plugin.
const PATIENCE: Duration = Duration::from_secs(10);

/// The calls that one running call may make.
pub(super) struct OfCall {
    host: Host,
    outer: Arc<Request>,
}

impl OfCall {
    /// Returns the calls that a call may make; `None` for a call that was made by another one.
    pub(super) fn of(host: &Host, outer: &Arc<Request>) -> Option<Arc<dyn NestedCalls>> {
        let (host, outer) = (host.clone(), Arc::clone(outer));
        let is_nested = outer.id.outer().is_some();
        (!is_nested).then(|| Arc::new(Self { host, outer }) as Arc<dyn NestedCalls>)
    }

    /// Returns whether a call may call the tool of this name: its caller may, and the plugin of the tool makes no calls itself.
    fn may_use(&self, table: &Table, name: &str) -> bool {
        let route = table.route(name);
        let is_of_other = route.is_some_and(|route| !route.plugin.makes_calls());
        is_of_other && self.outer.actor.may_use(name)
    }

    /// Returns the request of a nested call; `None` if the number is not valid.
    fn request(&self, number: u32, tool: String, arguments: Arguments) -> Option<Request> {
        let outer = &self.outer;
        let mut attributes: BTreeMap<_, _> = outer.attributes.clone();
        attributes.insert(PARENT.to_owned(), outer.id.to_string());
        Some(Request {
            attributes,
            actor: outer.actor.clone(),
            max_wait: outer.max_wait,
            reach: outer.reach.clone(),
            workspace: outer.workspace.clone(),
            ..Request::new(
                outer.chat.clone(),
                outer.id.nested(number)?,
                tool,
                arguments,
            )
        })
    }
}

impl NestedCalls for OfCall {
    fn tools(&self) -> Vec<Definition> {
        let table = self.host.inner.plugins.table();
        let may_use = |tool: &&Definition| self.may_use(&table, &tool.name);
        table.tools.iter().filter(may_use).cloned().collect()
    }

    fn tool(&self, name: &str) -> Option<Definition> {
        let table = self.host.inner.plugins.table();
        let mut tools = table.tools.iter();
        let found = tools.find(|tool| tool.name == name);
        found.filter(|_| self.may_use(&table, name)).cloned()
    }

    fn made(&self) -> BoxFuture<'_, Result<Vec<NestedCall>, StoreError>> {
        let ledger = &self.host.inner.ledger;
        Box::pin(ledger.nested(&self.outer.chat, &self.outer.id))
    }

    fn run(
        &self,
        number: u32,
        tool: String,
        arguments: Arguments,
    ) -> BoxFuture<'static, Result<Arc<Outcome>, CallError>> {
        let table = self.host.inner.plugins.table();
        let request = match self.may_use(&table, &tool) {
            true => self.request(number, tool.clone(), arguments),
            false => None,
        };
        let Some(request) = request else {
            let known = self.tools().into_iter().map(|tool| tool.name);
            let unknown = CallError::UnknownTool {
                known: known.collect(),
                name: tool,
            };
            return Box::pin(std::future::ready(Err(unknown)));
        };
        let host = self.host.clone();
        Box::pin(async move {
            const FIRST_PAUSE: Duration = Duration::from_millis(2);
            const LAST_PAUSE: Duration = Duration::from_millis(100);
            let (until, mut pause) = (Instant::now() + PATIENCE, FIRST_PAUSE);
            loop {
                let called = host.call(request.clone()).await;
                let is_busy = matches!(called, Err(CallError::Refused(Refused::Busy(_))));
                if !is_busy || Instant::now() + pause >= until {
                    return called;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
        })
    }

    fn offer(&self, mut tools: Vec<String>) -> BoxFuture<'_, ()> {
        let table = self.host.inner.plugins.table();
        tools.retain(|tool| self.may_use(&table, tool));
        Box::pin(self.host.add_found(&self.outer, tools))
    }

    fn cancel(&self, number: u32) -> BoxFuture<'static, ()> {
        let host = self.host.clone();
        let (chat, actor) = (self.outer.chat.clone(), self.outer.actor.clone());
        let nested = self.outer.id.nested(number);
        Box::pin(async move {
            let Some(nested) = nested else { return };
            if let Err(error) = host.cancel(&chat, &nested, &actor).await {
                tracing::warn!(%chat, call = %nested, %error, "a nested call was not cancelled");
            }
        })
    }
}

impl fmt::Debug for OfCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("OfCall");
        shown.field("outer", &self.outer.id).finish_non_exhaustive()
    }
}
