//! Admission of calls: how many of a chat, of a plugin and of all plugins may run at once, and with how much memory.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use toolhost_call::metrics::LimitKind;
use toolhost_state::id::ChatId;
use tracing::Span;

use crate::Plugin;
use crate::chats::ChatPermit;
use crate::guest_memory::Share;

/// The permits and the memory of one admitted call. Dropping this releases them.
#[derive(Debug)]
pub struct Admitted {
    pub(super) _chat: ChatPermit,
    pub(super) _plugin: OwnedSemaphorePermit,
    pub(super) _engine: OwnedSemaphorePermit,
    /// The memory that the guest begins with.
    pub(super) memory: Share,
    /// When the call was admitted.
    pub(super) at: Instant,
    /// The span of the request that asked for the call.
    pub(super) span: Span,
}

/// A limit on concurrent calls, or on the memory of all guests, that was reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; try again later", .limit.reached(*.most as u64))]
pub struct Busy {
    /// The limit.
    pub limit: LimitKind,
    /// The value of the limit.
    pub most: usize,
}

impl Plugin {
    /// Reserves room for a call of a chat.
    ///
    /// # Errors
    ///
    /// [`Busy`] if the chat in this plugin, the plugin, or all plugins together, run as many calls as they may, or if all guests
    /// together have no room for the memory with which another one begins.
    pub fn admit(&self, chat: &ChatId) -> Result<Admitted, Busy> {
        let busy = |limit, most| {
            self.engine.metrics.limit(&self.name, limit);
            Busy { limit, most }
        };
        let limits = &self.limits;
        let per_chat = limits.calls_per_chat;
        let chat = self.chats.take(chat, per_chat);
        let chat = chat.ok_or_else(|| busy(LimitKind::CallsPerChat, per_chat))?;
        let plugin = Arc::clone(&self.permits)
            .try_acquire_owned()
            .map_err(|_| busy(LimitKind::ConcurrentCalls, limits.concurrent_calls))?;
        let all = &self.engine.inner.calls;
        let engine = Arc::clone(all)
            .try_acquire_owned()
            .map_err(|_| busy(LimitKind::CallsInAll, self.engine.inner.most_calls))?;
        let account = &self.engine.inner.memory;
        let memory = account
            .reserve(self.first_memory)
            .ok_or_else(|| busy(LimitKind::MemoryInAll, account.limit()))?;
        Ok(Admitted {
            _chat: chat,
            _plugin: plugin,
            _engine: engine,
            memory,
            at: Instant::now(),
            span: Span::current(),
        })
    }
}
