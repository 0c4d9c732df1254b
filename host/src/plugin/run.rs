//! One call: a fresh instance, run within its limits, and its outcome.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;

use super::failure::{Failure, Instantiating};
use super::meter::{Meter, Metered};
use super::reply;
use super::store::{self, State};
use super::{Limits, LoadError, Plugin};
use crate::audit::{Audit, Trail};
use crate::call::{Outcome, Request};
use crate::capability::bindings::FullPlugin;
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use crate::capability::{Call, LineLog, Scope, Started};
use crate::files::Work;
use crate::process::Signal;
use crate::tool::ToolError;
use crate::workspace::Workspace;

/// How long a plugin may take to list its tools.
const LIST_TOOLS: Duration = Duration::from_secs(10);

/// A place for one call of a plugin.
#[derive(Debug)]
pub struct Admitted {
    _plugin: OwnedSemaphorePermit,
    _engine: OwnedSemaphorePermit,
    at: Instant,
}

/// There is no place for another call now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} calls run, which is the most; try again later")]
pub struct Busy(usize);

/// What a call runs with, besides its request.
#[derive(Clone, Debug)]
pub struct Context {
    /// Where commands run.
    pub workspace: Arc<dyn Workspace>,
    /// The longest that one wait of the guest may take, if it is bounded.
    pub max_wait: Option<Duration>,
    /// Cancels the call.
    pub cancelled: CancellationToken,
}

impl Plugin {
    /// Takes a place for a call.
    ///
    /// # Errors
    ///
    /// [`Busy`] if the plugin, or all plugins together, run as many calls as they may.
    pub fn admit(&self) -> Result<Admitted, Busy> {
        let plugin = Arc::clone(&self.permits)
            .try_acquire_owned()
            .map_err(|_| Busy(self.limits.concurrent_calls))?;
        let all = &self.engine.inner.calls;
        let engine = Arc::clone(all)
            .try_acquire_owned()
            .map_err(|_| Busy(super::engine::CONCURRENT_CALLS))?;
        Ok(Admitted {
            _plugin: plugin,
            _engine: engine,
            at: Instant::now(),
        })
    }

    /// Runs one call of a tool, by the name that this plugin gave it, and returns its outcome whatever happens.
    pub async fn call(
        &self,
        admitted: Admitted,
        tool: &str,
        request: Arc<Request>,
        context: Context,
    ) -> Outcome {
        let began = Instant::now();
        let started = Started::default();
        let deadline = began + self.time_of(tool);
        let call = Call {
            request: Arc::clone(&request),
            workspace: Arc::clone(&context.workspace),
            deadline,
            max_wait: context.max_wait,
            cancelled: context.cancelled.clone(),
            started: started.clone(),
        };
        let wit_call = wit::Call {
            id: request.id.to_string(),
            tool: tool.to_owned(),
            arguments: request.arguments.as_str().to_owned(),
        };
        let guest = self.spawn(Some(call), move |plugin, store| {
            Box::pin(async move {
                plugin
                    .toolhost_plugin_tools()
                    .call_call_tool(store, &wit_call)
                    .await
            })
        });
        let result = settle(guest, deadline, &context.cancelled, &self.limits).await;
        let result = match result {
            Ok(replied) => replied
                .map_err(ToolError::from)
                .and_then(|reply| reply::check(reply, self.limits.reply)),
            Err(failure) => Err(failure.into()),
        };
        let cancelled = context.cancelled.is_cancelled();
        let replied = result.as_ref().is_ok() && !cancelled;
        let processes = started.all().await;
        for process in processes
            .iter()
            .filter(|process| !process.background && !replied)
        {
            // Nobody was told about it: the call that it served has gone.
            let chat = &request.chat;
            if let Err(error) = context
                .workspace
                .signal(chat, &process.id, Signal::Terminate, None)
                .await
            {
                tracing::debug!(process = process.id, %error, "failed to end the process of a failed call");
            }
        }
        Outcome {
            id: request.id.clone(),
            tool: request.tool.clone(),
            result,
            cancelled,
            processes: processes.into_iter().map(|process| process.id).collect(),
            duration: began.elapsed(),
            queued: began.saturating_duration_since(admitted.at),
        }
    }

    /// Asks the plugin for its tools, outside any call.
    pub(super) async fn list_tools(&self) -> Result<Vec<wit::Tool>, LoadError> {
        let guest = self.spawn(None, |plugin, store| {
            Box::pin(async move { plugin.toolhost_plugin_tools().call_list_tools(store).await })
        });
        let never = CancellationToken::new();
        match settle(guest, Instant::now() + LIST_TOOLS, &never, &self.limits).await {
            Ok(listed) => listed.map_err(LoadError::ListTools),
            Err(Failure::Unfit(text)) => Err(LoadError::Mismatch(text)),
            Err(failure) => Err(LoadError::ListTools(failure.to_string())),
        }
    }

    fn time_of(&self, tool: &str) -> Duration {
        let definition = self
            .tools()
            .iter()
            .find(|definition| definition.name == tool);
        let asked = definition
            .and_then(|definition| definition.max_duration_ms)
            .map(Duration::from_millis);
        asked
            .unwrap_or(self.limits.deadline)
            .min(self.limits.max_deadline)
    }

    /// Starts a guest on the threads for guests: a fresh store and instance, and one use of it.
    fn spawn<T, U>(&self, call: Option<Call>, use_it: U) -> Guest<T>
    where
        T: Send + 'static,
        U: for<'a> FnOnce(
                &'a FullPlugin,
                &'a mut Store<State>,
            ) -> BoxFuture<'a, wasmtime::Result<T>>
            + Send
            + 'static,
    {
        let inner = &self.engine.inner;
        let name: Arc<str> = call
            .as_ref()
            .map_or("", |call| call.request.id.as_str())
            .into();
        let trail = Trail {
            audit: Audit::default(),
            plugin: Arc::clone(&self.name),
            call: call
                .as_ref()
                .map(|call| (call.request.chat.clone(), call.request.id.clone())),
        };
        let log = LineLog::new(Arc::clone(&self.name), name, self.limits.log);
        let work = Arc::new(Work::limited(self.limits.guest_time));
        let scope = Scope {
            call,
            settings: Arc::clone(&self.settings),
            log,
            files: self.files,
            trail,
            work: Arc::clone(&work),
        };
        let meter = Meter::new(self.limits.guest_time, work);
        let mut store = store::make(&self.engine, &self.limits, scope, Arc::clone(&meter));
        let (pre, limits, plugin) = (
            self.pre.clone(),
            self.limits.clone(),
            Arc::clone(&self.name),
        );
        let time = Arc::clone(&meter);
        let guest = async move {
            let result = async {
                let instance = pre.instantiate_async(&mut store).await;
                let instance = instance.map_err(|error| error.context(Instantiating))?;
                use_it(&instance, &mut store).await
            };
            let result = result.await;
            let limiter = &store.data().limiter;
            tracing::debug!(
                plugin = &*plugin,
                guest_time_us = time.used().as_micros(),
                memory = limiter.memory(),
                ok = result.is_ok(),
                "a guest ended"
            );
            result.map_err(|error| Failure::classify(&error, limiter, &limits))
        };
        let metered = Metered::new(
            guest,
            meter,
            Arc::clone(&inner.ticker),
            Arc::clone(&inner.heavy),
        );
        Guest(self.engine.guests().spawn(metered))
    }
}

/// A guest that runs. Dropping it ends it.
struct Guest<T>(JoinHandle<Result<T, Failure>>);

impl<T> Drop for Guest<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for a guest until its deadline, and not much longer than somebody cancels its call.
async fn settle<T>(
    mut guest: Guest<T>,
    deadline: Instant,
    cancelled: &CancellationToken,
    limits: &Limits,
) -> Result<T, Failure> {
    let ended = tokio::select! {
        biased;
        ended = &mut guest.0 => Some(ended),
        () = tokio::time::sleep_until(deadline) => None,
        () = cancelled.cancelled() => {
            let grace = (Instant::now() + limits.cancel_grace).min(deadline);
            tokio::time::timeout_at(grace, &mut guest.0).await.ok()
        }
    };
    match ended {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(Failure::Broken(format!("the host failed: {error}"))),
        None => {
            guest.0.abort();
            // Until its store is gone, the guest still holds a place in the pool.
            _ = (&mut guest.0).await;
            Err(if cancelled.is_cancelled() {
                Failure::Cancelled
            } else {
                Failure::Deadline
            })
        }
    }
}
