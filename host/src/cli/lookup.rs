//! Where calls are looked up: at the server that was named or that uses the state directory, or in that directory if no host does.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::value::RawValue;

use super::Common;
use super::remote::{self, Content, Filter, Page};
use toolhost_call::call::{AtRest, CallQuery, CallState};
use toolhost_server::ListedCall;
use toolhost_state::state_dir::{Lock, StateDir, StateDirError, holder};

/// The most calls of a page.
const PAGE: usize = 500;

/// The place where calls are looked up.
pub(super) enum Source {
    Server(remote::Server),
    AtRest {
        store: AtRest,
        /// Keeps a host from starting meanwhile.
        _lock: Option<Lock>,
    },
}

impl Source {
    pub(super) fn new(common: &Common, remote: &remote::Remote) -> anyhow::Result<Self> {
        if let Some(server) = remote.found(common)? {
            return Ok(Self::Server(server));
        }
        let path = common.state_dir();
        let path = path.context(
            "there is no state directory, as neither XDG_STATE_HOME nor HOME is set: name one with --state-dir, or a server with \
             --server",
        )?;
        Self::at_rest(&path)
    }

    fn at_rest(path: &Path) -> anyhow::Result<Self> {
        let nothing = || {
            format!(
                "no host has kept calls in the state directory {}: name another with --state-dir, or a server with --server",
                path.display()
            )
        };
        let directory = StateDir::existing(path)?.with_context(nothing)?;
        let lock = match directory.lock_to_read() {
            Err(StateDirError::Locked { path, pid }) => bail!(
                "a toolhost{} uses the state directory {} and does not listen there: ask it with --server, or end it",
                holder(pid),
                path.display()
            ),
            lock => lock?,
        };
        let store = AtRest::open(&directory)?.with_context(nothing)?;
        Ok(Self::AtRest { store, _lock: lock })
    }

    /// Returns a page of at most this many calls, newest first.
    pub(super) async fn page(
        &self,
        filter: &Filter,
        limit: usize,
        after: Option<String>,
    ) -> anyhow::Result<Page> {
        let limit = limit.min(PAGE);
        match self {
            Self::Server(server) => server.calls(filter, limit, after).await,
            Self::AtRest { store, .. } => at_rest(store, filter, limit, after),
        }
    }

    /// Returns the arguments and the reply of a call.
    pub(super) async fn content(&self, call: &ListedCall) -> anyhow::Result<Content> {
        let (chat, id) = (call.chat.parse()?, call.id.parse()?);
        let (arguments, reply) = match self {
            Self::Server(server) => return server.content(call).await,
            Self::AtRest { store, .. } => {
                let found = store.call(&chat, &id)?;
                found.map_or((None, None), |found| (found.arguments, found.outcome))
            }
        };
        let json = |text: Option<String>| text.map(RawValue::from_string).transpose();
        Ok(Content {
            arguments: json(arguments)?,
            reply: json(reply)?,
        })
    }
}

fn at_rest(
    store: &AtRest,
    filter: &Filter,
    limit: usize,
    after: Option<String>,
) -> anyhow::Result<Page> {
    let failed = [
        CallState::Unsuccessful,
        CallState::Failed,
        CallState::Cancelled,
        CallState::Unknown,
    ];
    let page = store.calls(CallQuery {
        chat: filter.chat.clone(),
        call: filter.call.clone(),
        states: filter.failed.then(|| failed.into()),
        tool: filter.tool.clone(),
        since_ms: filter.since_ms,
        text: filter.text.clone(),
        before: after.map(|after| after.parse()).transpose()?,
        limit: u32::try_from(limit)?,
        ..CallQuery::default()
    })?;
    Ok(Page {
        calls: page.calls.into_iter().map(ListedCall::from).collect(),
        next: page.next.map(|next| next.to_string()),
    })
}
