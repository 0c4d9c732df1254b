//! Who asks, and what they may.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use axum::http::StatusCode;

use super::Token;
use crate::id::ChatId;
use crate::server::problem::Problem;

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Calling tools, cancelling calls and ending chats. Reading as well.
    Call,
    /// Reading tools, calls, events, processes, and metrics.
    Read,
    /// The agent API: the processes of all chats, and the files of the workspace.
    Agent,
    /// Plugins.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Call, Self::Read, Self::Agent, Self::Admin];

    /// Returns the name, as it is in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Read => "read",
            Self::Agent => "agent",
            Self::Admin => "admin",
        }
    }
}

/// There is no scope of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scope is one of call, read, agent and admin")]
pub struct UnknownScope;

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let mut all = Self::ALL.into_iter();
        all.find(|scope| scope.name() == name).ok_or(UnknownScope)
    }
}

/// Who asks, and what they may. Every request that was let in has one as an extension.
#[derive(Clone, Debug)]
pub struct Principal {
    inner: Arc<Inner>,
    /// The token by which it was found, if it was.
    token: Option<Token>,
}

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    name: String,
    scopes: BTreeSet<Scope>,
    /// What the ids of the chats begin with that it may name; `None`: all.
    chats: Option<String>,
    /// The tools that it may see and call; `None`: all.
    tools: Option<BTreeSet<String>>,
}

impl Principal {
    /// Makes one that may do everything.
    pub fn unbounded(name: impl Into<String>) -> Self {
        Self::new(name, Scope::ALL, None, None)
    }

    /// Makes one with these scopes, for chats whose id begins like this, and for these tools; `None`: for all.
    pub fn new(
        name: impl Into<String>,
        scopes: impl IntoIterator<Item = Scope>,
        chats: Option<String>,
        tools: Option<BTreeSet<String>>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                name: name.into(),
                scopes: scopes.into_iter().collect(),
                chats,
                tools,
            }),
            token: None,
        }
    }

    /// Returns the same, found by this token.
    pub(super) fn by(self, token: Token) -> Self {
        let token = Some(token);
        Self { token, ..self }
    }

    /// Returns the token by which it was found, if it was.
    pub(super) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Returns whether both have the same name and may do the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    /// Returns the name of the token.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns whether it may do what this scope is for.
    pub fn has(&self, scope: Scope) -> bool {
        let scopes = &self.inner.scopes;
        scopes.contains(&scope) || scope == Scope::Read && scopes.contains(&Scope::Call)
    }

    /// Returns whether it may name this chat.
    pub fn may_name(&self, chat: &ChatId) -> bool {
        let chats = self.inner.chats.as_ref();
        chats.is_none_or(|prefix| chat.as_str().starts_with(prefix))
    }

    /// Returns what the ids of its chats begin with, if that is bounded.
    pub fn chat_prefix(&self) -> Option<&str> {
        self.inner.chats.as_deref()
    }

    /// Returns whether it may see and call this tool.
    pub fn may_use(&self, tool: &str) -> bool {
        let tools = self.inner.tools.as_ref();
        tools.is_none_or(|tools| tools.contains(tool))
    }

    /// Returns whether it may see and call all tools.
    pub(in crate::server) fn may_use_all(&self) -> bool {
        self.inner.tools.is_none()
    }

    /// Refuses what it has no scope for.
    pub(in crate::server) fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.has(scope) {
            return Ok(());
        }
        let detail = format!("this token lacks the scope {:?}", scope.name());
        Err(Problem::new(StatusCode::FORBIDDEN, "missing_scope", detail))
    }

    /// Refuses what it has no scope for, and chats that it may not name.
    pub(in crate::server) fn require_chat(
        &self,
        scope: Scope,
        chat: &ChatId,
    ) -> Result<(), Problem> {
        self.require(scope)?;
        if self.may_name(chat) {
            return Ok(());
        }
        let detail = "this token is for chats with another prefix";
        Err(Problem::new(StatusCode::FORBIDDEN, "foreign_chat", detail))
    }

    /// Refuses who may not reach the processes of all chats, and all that tools can do.
    pub(in crate::server) fn require_everything(&self, scope: Scope) -> Result<(), Problem> {
        self.require(scope)?;
        if self.inner.chats.is_none() && self.inner.tools.is_none() {
            return Ok(());
        }
        let detail = "this token is for some chats or tools only, and this is about all of them";
        Err(Problem::new(StatusCode::FORBIDDEN, "bounded_token", detail))
    }
}
