//! Lookup: pages of calls and chats, from the store and from the calls that it does not have yet.
//!
//! A call that only reads is stored at its end. Until then, and until the store can be written again, its place is before all stored
//! calls.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use toolhost_store::{
    CallPage, CallQuery, CallState, CallSummary, ChatPage, ChatQuery, StoreError,
};

use super::answer::Key;
use super::keeper::text;
use super::past::state;
use super::running::UNSTORED;
use super::{Calls, Ledger, Running};
use crate::call::{Actor, CallStatus, Limits};
use toolhost_state::id::{CallId, ChatId};

impl Ledger {
    /// Returns a page of calls, newest first: calls of tools that the actor may use. The actor replaces [`CallQuery::visible`].
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn calls(&self, query: CallQuery, actor: &Actor) -> Result<CallPage, StoreError> {
        if let Err(error) = self.shared.keeper.catch_up().await {
            tracing::debug!(
                error = text(&error),
                "a list of calls lacks those that wait for the store"
            );
        }
        let query = CallQuery {
            visible: actor.tools().as_deref().cloned(),
            ..query
        };
        let limit = query.limit as usize;
        let mut calls = self
            .shared
            .calls
            .lock()
            .unstored(&query, &self.shared.limits);
        if calls.len() > limit {
            calls.truncate(limit);
            let next = calls.last().map(|call| call.number);
            return Ok(CallPage { calls, next });
        }
        let room = limit - calls.len();
        if room == 0 && !calls.is_empty() {
            let next = Some(UNSTORED);
            return Ok(CallPage { calls, next });
        }
        let stored = CallQuery {
            before: query.before.filter(|before| *before < UNSTORED),
            limit: u32::try_from(room).unwrap_or(u32::MAX),
            ..query
        };
        let mut stored = self.shared.keeper.store.calls(stored).await?;
        for call in &mut stored.calls {
            self.correct(call).await;
        }
        // A call of the first part may have been stored meanwhile.
        let known: HashSet<_> = stored.calls.iter().map(key).collect();
        calls.retain(|call| !known.contains(&key(call)));
        calls.extend(stored.calls);
        Ok(CallPage { calls, ..stored })
    }

    /// Returns a page of chats, those with running calls first.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn chats(&self, query: ChatQuery) -> Result<ChatPage, StoreError> {
        let (busy, newest) = self.shared.calls.lock().busy();
        let mut page = self
            .shared
            .keeper
            .store
            .chats(ChatQuery { busy, ..query })
            .await?;
        for chat in &mut page.chats {
            let Some((principal, began)) = newest.get(&chat.chat) else {
                continue;
            };
            chat.used_ms = chat.used_ms.max(Some(*began));
            if chat.principal.is_empty() {
                chat.principal.clone_from(principal);
            }
        }
        Ok(page)
    }

    /// Returns the arguments of a call as JSON, if they are kept; `None` also if there is no such call.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn arguments(
        &self,
        chat: &ChatId,
        id: &CallId,
    ) -> Result<Option<String>, StoreError> {
        let key = (chat.clone(), id.clone());
        if let Some(running) = self.shared.calls.lock().running.get(&key) {
            return Ok(self.shared.limits.kept(&running.request.arguments));
        }
        let known = self.shared.keeper.store.call(key.0, key.1).await?;
        Ok(known.and_then(|call| call.arguments))
    }

    /// Stores that a chat was ended, for lists of chats.
    pub async fn end_chat(&self, chat: &ChatId) {
        if let Err(error) = self.shared.keeper.store.end_chat(chat.clone()).await {
            tracing::debug!(%chat, error = text(&error), "the end of a chat cannot be stored");
        }
    }

    /// Corrects a call that the store says runs: it may have ended, and the store did not take its end.
    async fn correct(&self, call: &mut CallSummary) {
        if call.state != CallState::Running {
            return;
        }
        call.state = match self.status(&call.chat, &call.call).await {
            Some(CallStatus::Live { .. }) => CallState::Running,
            Some(CallStatus::Ended(outcome)) => state(&outcome),
            Some(CallStatus::Gone | CallStatus::Tombstone { .. }) | None => CallState::Unknown,
        };
    }
}

fn key(call: &CallSummary) -> Key {
    (call.chat.clone(), call.call.clone())
}

impl Calls {
    /// Returns the calls that match a query and are not stored, newest first.
    fn unstored(&self, query: &CallQuery, limits: &Limits) -> Vec<CallSummary> {
        let all = self
            .running
            .iter()
            .filter(|(_, running)| !running.is_stored);
        let matching = all.filter(|(key, running)| {
            let request = &running.request;
            let may_use = |tools: &BTreeSet<String>| tools.contains(&request.tool);
            let is_running = |states: &BTreeSet<_>| states.contains(&CallState::Running);
            let contains = |text: &String| {
                let kept = limits.kept(&request.arguments);
                kept.is_some_and(|arguments| arguments.contains(text))
            };
            query.chat.as_ref().is_none_or(|chat| *chat == key.0)
                && key.0.as_str().starts_with(&query.prefix)
                && query.call.as_ref().is_none_or(|call| *call == key.1)
                && query.states.as_ref().is_none_or(is_running)
                && query.tool.as_ref().is_none_or(|tool| *tool == request.tool)
                && query.visible.as_ref().is_none_or(may_use)
                && query.since_ms.is_none_or(|since| running.began_ms >= since)
                && query.until_ms.is_none_or(|until| running.began_ms < until)
                && query.text.as_ref().is_none_or(contains)
                && query.before.is_none_or(|before| running.number < before)
        });
        let calls = matching.map(|(key, running)| running.summary(key, limits));
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable_by_key(|call| std::cmp::Reverse(call.number));
        calls
    }

    /// Returns how many calls of each chat run, and the token and the beginning of the newest of them.
    fn busy(&self) -> (BTreeMap<ChatId, u64>, BTreeMap<ChatId, (String, u64)>) {
        let (mut counts, mut newest) = (BTreeMap::new(), BTreeMap::new());
        for ((chat, _), running) in &self.running {
            *counts.entry(chat.clone()).or_default() += 1;
            let principal = running.request.actor.name();
            let one = newest
                .entry(chat.clone())
                .or_insert((principal.to_owned(), 0));
            one.1 = running.began_ms.max(one.1);
        }
        (counts, newest)
    }
}

impl Running {
    fn summary(&self, (chat, call): &Key, limits: &Limits) -> CallSummary {
        let arguments = limits.kept(&self.request.arguments);
        CallSummary {
            chat: chat.clone(),
            call: call.clone(),
            number: self.number,
            tool: self.request.tool.clone(),
            principal: self.request.actor.name().to_owned(),
            state: CallState::Running,
            began_ms: self.began_ms,
            ended_ms: None,
            arguments_bytes: arguments.map(|arguments| arguments.len() as u64),
            outcome_bytes: None,
        }
    }
}
