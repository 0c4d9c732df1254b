//! Principals: authenticated clients and their rights.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Scope, Token};
use crate::problem::{Kind, Problem};
use toolhost_call::call::{Actor, Reach};
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspacePattern;

/// An authenticated client and its rights. Every request that passed authentication has one as an extension.
#[derive(Clone, Debug)]
pub struct Principal {
    inner: Arc<Inner>,
    /// The token that authenticated the client; `None` if the socket did.
    token: Option<Token>,
}

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    /// The principal's name, and the tools that it may see and call.
    actor: Actor,
    scopes: BTreeSet<Scope>,
    /// The prefix of the ids of the chats that the principal may name; `None`: all chats.
    chats: Option<String>,
}

impl Principal {
    /// Makes a principal that may do everything.
    pub fn unbounded(name: impl Into<String>) -> Self {
        Self::new(name, Scope::ALL, None, None)
    }

    /// Makes a principal with these scopes. `chats` is the prefix of the chat ids that it may name, and `tools` are the tools
    /// that it may use; `None` means all.
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
        // A token for some chats must not choose among the workspaces of others.
        let actor = match &chats {
            Some(_) => actor.with_workspaces(Reach::OfItsChats),
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

    /// Returns the same principal, bound to these templates of machines.
    #[must_use]
    pub fn with_templates(self, templates: BTreeSet<String>) -> Self {
        let inner = &self.inner;
        Self {
            inner: Arc::new(Inner {
                actor: inner.actor.clone().with_templates(templates),
                scopes: inner.scopes.clone(),
                chats: inner.chats.clone(),
            }),
            token: self.token,
        }
    }

    /// Returns the same principal, bound to the workspaces that one of these patterns matches. A principal that is bound to some chats and
    /// to no workspaces uses the workspaces of its chats, and names none.
    #[must_use]
    pub fn with_workspaces(self, patterns: impl IntoIterator<Item = WorkspacePattern>) -> Self {
        let inner = &self.inner;
        let reach = Reach::Some(patterns.into_iter().collect());
        Self {
            inner: Arc::new(Inner {
                actor: inner.actor.clone().with_workspaces(reach),
                scopes: inner.scopes.clone(),
                chats: inner.chats.clone(),
            }),
            token: self.token,
        }
    }

    /// Returns the same principal, authenticated by this token.
    pub(super) fn by(self, token: Token) -> Self {
        let token = Some(token);
        Self { token, ..self }
    }

    /// Returns the token that authenticated the client, if one did.
    pub(super) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Returns a digest of the token, the name and the rights, by which [`Tokens::recognize`](super::Tokens::recognize) finds the
    /// principal after a restart. Digests with different salts cannot be compared.
    pub fn fingerprint(&self, salt: &str) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for part in [salt.as_bytes(), self.described().to_string().as_bytes()] {
            hasher.update(Sha256::digest(part));
        }
        if let Some(token) = &self.token {
            hasher.update(token.sha256());
        }
        hasher.finalize().into()
    }

    /// Returns the name and the rights, for the log and the audit trail.
    pub(crate) fn described(&self) -> Value {
        let scopes = Scope::ALL.into_iter().filter(|scope| self.is_given(*scope));
        json!({
            "name": self.name(),
            "scopes": scopes.map(Scope::name).collect::<Vec<_>>(),
            "chats": self.chat_prefix(),
            "tools": self.actor().tools().as_deref(),
            "workspaces": self.workspaces(),
        })
    }

    /// Returns the patterns of the workspaces that the principal is bound to, as texts; `None` if it is bound to none.
    fn workspaces(&self) -> Option<Vec<&str>> {
        match self.actor().workspaces() {
            Reach::Some(patterns) => Some(patterns.iter().map(WorkspacePattern::as_str).collect()),
            Reach::All | Reach::OfItsChats => None,
        }
    }

    /// Returns whether both principals have the same name and the same rights.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    /// Returns the name of the token.
    pub fn name(&self) -> &str {
        self.inner.actor.name()
    }

    /// Returns the principal as the host knows it: its name and its tools.
    pub fn actor(&self) -> &Actor {
        &self.inner.actor
    }

    /// Returns whether the principal has this scope, itself or through another scope: [`Scope::Call`] includes [`Scope::Read`].
    pub fn has(&self, scope: Scope) -> bool {
        let scopes = &self.inner.scopes;
        scopes.contains(&scope) || scope == Scope::Read && scopes.contains(&Scope::Call)
    }

    /// Returns whether the principal was given this scope itself.
    pub(super) fn is_given(&self, scope: Scope) -> bool {
        self.inner.scopes.contains(&scope)
    }

    /// Returns whether the principal may name this chat.
    pub fn may_name(&self, chat: &ChatId) -> bool {
        let chats = self.inner.chats.as_ref();
        chats.is_none_or(|prefix| chat.as_str().starts_with(prefix))
    }

    /// Returns the prefix of the chat ids that the principal may name, or `None` if it may name all chats.
    pub fn chat_prefix(&self) -> Option<&str> {
        self.inner.chats.as_deref()
    }

    /// Returns whether the principal may see and call this tool.
    pub fn may_use(&self, tool: &str) -> bool {
        self.inner.actor.may_use(tool)
    }

    /// Returns whether the principal may see and call all tools.
    pub fn may_use_all(&self) -> bool {
        self.inner.actor.may_use_all()
    }

    /// Refuses the request if the principal lacks the scope.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.has(scope) {
            return Ok(());
        }
        let detail = format!("this token lacks the scope {:?}", scope.name());
        Err(Problem::new(Kind::MISSING_SCOPE, detail))
    }

    /// Refuses the request if the principal lacks the scope or may not name the chat.
    pub fn require_chat(&self, scope: Scope, chat: &ChatId) -> Result<(), Problem> {
        self.require(scope)?;
        if self.may_name(chat) {
            return Ok(());
        }
        Err(foreign_chat())
    }

    /// Refuses the request if the principal lacks the scope, or is bounded to some chats, tools or workspaces.
    pub fn require_everything(&self, scope: Scope) -> Result<(), Problem> {
        self.require(scope)?;
        if self.is_unbounded() {
            return Ok(());
        }
        let detail =
            "this token is for some chats, tools or workspaces only, and this is about all of them";
        Err(Problem::new(Kind::BOUNDED_TOKEN, detail))
    }

    /// Returns whether the principal may name all chats and workspaces and use all tools.
    pub fn is_unbounded(&self) -> bool {
        self.inner.chats.is_none() && self.may_use_all() && *self.actor().workspaces() == Reach::All
    }

    /// Returns the bounds of the principal as a text: principals with the same bounds may see the same.
    pub fn bounds(&self) -> String {
        json!([
            self.chat_prefix(),
            self.actor().tools().as_deref(),
            self.workspaces()
        ])
        .to_string()
    }

    /// Returns whether the principal sees all that the console shows, and may do what it offers.
    pub(super) fn is_of_an_operator(&self) -> bool {
        self.is_unbounded() && self.has(Scope::Call) && self.has(Scope::Admin)
    }

    /// Refuses the request if the principal lacks the scope, or is bounded to some tools.
    pub fn require_all_tools(&self, scope: Scope) -> Result<(), Problem> {
        self.require(scope)?;
        if self.may_use_all() {
            return Ok(());
        }
        let detail = "this token is for some tools only, and this is about all of them";
        Err(Problem::new(Kind::BOUNDED_TOKEN, detail))
    }

    /// Returns the prefix of the chats that a list is about: this one, or the principal's own if that is longer.
    ///
    /// # Errors
    ///
    /// [`Kind::FOREIGN_CHAT`] if the principal may name no chat that begins so.
    pub fn chats_of(&self, prefix: &str) -> Result<String, Problem> {
        let own = self.chat_prefix().unwrap_or_default();
        if prefix.starts_with(own) {
            return Ok(prefix.to_owned());
        }
        if own.starts_with(prefix) {
            return Ok(own.to_owned());
        }
        Err(foreign_chat())
    }
}

fn foreign_chat() -> Problem {
    let detail = "this token is for chats with another prefix";
    Problem::new(Kind::FOREIGN_CHAT, detail)
}
