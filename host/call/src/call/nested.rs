//! Nested calls: the calls that a running call makes.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Arguments, CallError, NestedCall, Outcome, StoreError};
use crate::tool::Definition;

/// The calls that one running call may make: in its chat and its workspace, and with the rights of its actor.
pub trait NestedCalls: Debug + Send + Sync {
    /// Returns the tools that the running call may use now, apart from the limits of its plugin's grant.
    fn tools(&self) -> Vec<Definition>;

    /// Returns the one of these with this name.
    fn tool(&self, name: &str) -> Option<Definition>;

    /// Returns the calls that the running call has made, also in earlier hosts, in the order of their numbers.
    fn made(&self) -> BoxFuture<'_, Result<Vec<NestedCall>, StoreError>>;

    /// Returns the one outcome of a nested call, like [`Permit::run`](super::Permit::run). If there is no place for it, it waits for one, up to
    /// 10 s.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. A tool that the running call may not use is unknown to it.
    fn run(
        &self,
        number: u32,
        tool: String,
        arguments: Arguments,
    ) -> BoxFuture<'static, Result<Arc<Outcome>, CallError>>;

    /// Offers tools of these names to the clients of the running call's chat from now on, as far as the running call may use them. How clients
    /// are offered tools is the host's to decide: it may offer them anyway, or not at all.
    fn offer(&self, tools: Vec<String>) -> BoxFuture<'_, ()>;

    /// Cancels a nested call, and waits until it has ended.
    fn cancel(&self, number: u32) -> BoxFuture<'static, ()>;
}
