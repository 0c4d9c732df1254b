//! Who asks, and what they may.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::StatusCode;

use super::Scope;
use super::Token;
use crate::problem::Problem;
use toolhost_call::call::Actor;
use toolhost_state::id::ChatId;

/// Who asks, and what they may. Every request that was let in has one as an extension.
#[derive(Clone, Debug)]
pub struct Principal {
    inner: Arc<Inner>,
    /// The token by which it was found, if it was.
    token: Option<Token>,
}

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    /// Its name, and the tools that it may see and call.
    actor: Actor,
    scopes: BTreeSet<Scope>,
    /// What the ids of the chats begin with that it may name; `None`: all.
    chats: Option<String>,
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
        let actor = Actor::new(name.into());
        let actor = match tools {
            Some(tools) => actor.with_tools(tools),
            None => actor,
        };
        Self {
            inner: Arc::new(Inner {
                actor,
                scopes: scopes.into_iter().collect(),
                chats,
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
        self.inner.actor.name()
    }

    /// Returns what the host knows of it: its name, and its tools.
    pub fn actor(&self) -> &Actor {
        &self.inner.actor
    }

    /// Returns whether it may do what this scope is for.
    pub fn has(&self, scope: Scope) -> bool {
        let scopes = &self.inner.scopes;
        scopes.contains(&scope) || scope == Scope::Read && scopes.contains(&Scope::Call)
    }

    /// Returns whether it was given this scope itself.
    pub(super) fn is_given(&self, scope: Scope) -> bool {
        self.inner.scopes.contains(&scope)
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
        self.inner.actor.may_use(tool)
    }

    /// Returns whether it may see and call all tools.
    pub fn may_use_all(&self) -> bool {
        self.inner.actor.may_use_all()
    }

    /// Refuses what it has no scope for.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.has(scope) {
            return Ok(());
        }
        let detail = format!("this token lacks the scope {:?}", scope.name());
        Err(Problem::new(StatusCode::FORBIDDEN, "missing_scope", detail))
    }

    /// Refuses what it has no scope for, and chats that it may not name.
    pub fn require_chat(&self, scope: Scope, chat: &ChatId) -> Result<(), Problem> {
        self.require(scope)?;
        if self.may_name(chat) {
            return Ok(());
        }
        let detail = "this token is for chats with another prefix";
        Err(Problem::new(StatusCode::FORBIDDEN, "foreign_chat", detail))
    }

    /// Refuses who may not reach the processes of all chats, and all that tools can do.
    pub fn require_everything(&self, scope: Scope) -> Result<(), Problem> {
        self.require(scope)?;
        if self.inner.chats.is_none() && self.may_use_all() {
            return Ok(());
        }
        let detail = "this token is for some chats or tools only, and this is about all of them";
        Err(Problem::new(StatusCode::FORBIDDEN, "bounded_token", detail))
    }
}
