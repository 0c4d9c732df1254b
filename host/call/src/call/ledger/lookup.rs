//! Lookup: pages of calls and chats, from the store and from the calls that it does not have yet.
//!
//! A call that only reads is stored at its end. Until then, its place is before all stored calls. So is the place of a call whose end waits
//! because the store cannot be written.

use std::collections::{BTreeMap, HashMap, HashSet};

use toolhost_store::{
    CallPage, CallQuery, CallState, CallSummary, ChatPage, ChatQuery, StoreError,
};

use super::answer::Key;
use super::keeper::{Change, Keeper, text};
use super::past::state;
use super::running::UNSTORED;
use super::shared::Shared;
use super::{Calls, Ledger, Running};
use crate::call::{Actor, CallStatus};
use toolhost_state::id::{CallId, ChatId};

impl Ledger {
    /// Returns a page of calls, newest first: calls of tools that the actor may use. The actor replaces [`CallQuery::visible`].
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn calls(&self, query: CallQuery, actor: &Actor) -> Result<CallPage, StoreError> {
        if let Err(error) = self.shared.keeper.catch_up().await {
            tracing::debug!(error = text(&error), "calls wait for the store");
        }
        let query = CallQuery {
            visible: actor.tools().as_deref().cloned(),
            ..query
        };
        let limit = query.limit as usize;
        let mut calls = self.shared.unstored(&query);
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
        let waiting = self.shared.keeper.waiting_ends();
        let mut stored = self.shared.keeper.store.calls(stored).await?;
        stored.calls.retain(|call| !waiting.contains(&key(call)));
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
        if let (Some(ended), _) = self.shared.keeper.waiting(&key) {
            return Ok(ended.call.arguments);
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
            Ok(Some(CallStatus::Live { .. })) => CallState::Running,
            Ok(Some(CallStatus::Ended(outcome))) => state(&outcome),
            Ok(Some(CallStatus::Gone | CallStatus::Tombstone { .. }) | None) => CallState::Unknown,
            // As the store said.
            Err(_) => CallState::Running,
        };
    }
}

fn key(call: &CallSummary) -> Key {
    (call.chat.clone(), call.call.clone())
}

/// Returns whether a call matches a query. `texts` are its arguments and its outcome, as far as they are kept.
fn matches(query: &CallQuery, call: &CallSummary, texts: [Option<&str>; 2]) -> bool {
    let contains = |text: &String| texts.iter().flatten().any(|one| one.contains(text));
    query.chat.as_ref().is_none_or(|chat| *chat == call.chat)
        && call.chat.as_str().starts_with(&query.prefix)
        && query.call.as_ref().is_none_or(|id| *id == call.call)
        && query
            .states
            .as_ref()
            .is_none_or(|states| states.contains(&call.state))
        && query.tool.as_ref().is_none_or(|tool| *tool == call.tool)
        && query
            .visible
            .as_ref()
            .is_none_or(|tools| tools.contains(&call.tool))
        && query.since_ms.is_none_or(|since| call.began_ms >= since)
        && query.until_ms.is_none_or(|until| call.began_ms < until)
        && query.text.as_ref().is_none_or(contains)
        && query.before.is_none_or(|before| call.number < before)
}

impl Shared {
    /// Returns the calls that match a query and that the store does not have, newest first.
    fn unstored(&self, query: &CallQuery) -> Vec<CallSummary> {
        // A call that ends is among those that wait before it is no longer among those that run.
        let running = self.calls.lock();
        let mut calls: HashMap<_, _> = self.keeper.unstored(query).collect();
        for (key, one) in &running.running {
            calls.remove(key);
            if one.is_stored {
                continue;
            }
            let arguments = self.limits.kept(&one.request.arguments);
            let call = one.summary(key, arguments.as_deref());
            if matches(query, &call, [arguments.as_deref(), None]) {
                calls.insert(key.clone(), call);
            }
        }
        let mut calls: Vec<_> = calls.into_values().collect();
        calls.sort_unstable_by_key(|call| std::cmp::Reverse(call.number));
        calls
    }
}

impl Keeper {
    /// Returns the calls whose ends wait, and that are listed before all stored ones.
    fn waiting_ends(&self) -> HashSet<Key> {
        self.unwritten.look(|changes| {
            let ends = changes.filter(|change| matches!(change, Change::Ended(_, Some(_))));
            ends.map(Change::key).collect()
        })
    }

    /// Returns the calls that match a query, and whose ends wait.
    fn unstored(&self, query: &CallQuery) -> impl Iterator<Item = (Key, CallSummary)> {
        let ended = |change: &Change| {
            let Change::Ended(ended, Some(number)) = change else {
                return None;
            };
            let arguments = ended.call.arguments.as_deref();
            let call = CallSummary {
                chat: ended.call.chat.clone(),
                call: ended.call.call.clone(),
                number: *number,
                tool: ended.call.tool.clone(),
                principal: ended.call.principal.clone(),
                state: ended.state,
                began_ms: ended.call.began_ms,
                ended_ms: None,
                arguments_bytes: arguments.map(|arguments| arguments.len() as u64),
                outcome_bytes: Some(ended.outcome.len() as u64),
                outcome_end: ended.outcome.clone().into_bytes(),
            };
            let texts = [arguments, Some(&*ended.outcome)];
            matches(query, &call, texts).then(|| (key(&call), call))
        };
        let calls = |changes: &mut dyn Iterator<Item = &Change>| {
            changes.filter_map(ended).collect::<Vec<_>>()
        };
        self.unwritten.look(calls).into_iter()
    }
}

impl Calls {
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
    fn summary(&self, (chat, call): &Key, arguments: Option<&str>) -> CallSummary {
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
            outcome_end: Vec::new(),
        }
    }
}
