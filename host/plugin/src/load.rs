//! Loading a plugin: from the bytes of a component to a [`Plugin`] that can be called, or to an error that says what to do.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use wasmtime::component::{Component, InstancePre, Linker};

use super::chats::Chats;
use super::compile::compile;
use super::cpu_limit::{Unfinished, limited};
use super::definition::{Listed, MAX_TIME, check, is_plugin_name};
use super::engine::Engine;
use super::settings::Settings;
use super::text::shown;
use super::wasi::Granted;
use super::{Cause, Digest, Example, Limits, LoadError, Shape};
use crate::capability::bindings::PluginPre;
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use crate::capability::{self, State};
use crate::grants::Grants;
use toolhost_call::tool::Definition;

/// The most CPU time for checking the tools that a plugin listed. [`check`] looks at its own CPU time between schemas; this
/// limit is for a single schema that takes longer than was foreseen.
const CHECKING: Duration = Duration::from_secs(10);

/// The options with which a plugin is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The name of the plugin: `[a-z][a-z0-9]*(_[a-z0-9]+)*`, at most 31 bytes.
    pub name: String,
    /// The SHA-256 that the component must have; `None`: any.
    pub sha256: Option<Digest>,
    /// The imports that the plugin is granted.
    pub grants: Grants,
    /// Settings and secrets for the plugin.
    pub settings: Settings,
    /// The limits of the plugin.
    pub limits: Limits,
}

impl Options {
    /// Makes options with nothing granted and the default limits.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// A component that is ready to be called.
pub struct Plugin {
    pub(super) name: Arc<str>,
    pub(super) engine: Engine,
    pub(super) limits: Limits,
    pub(super) settings: Arc<Settings>,
    pub(super) granted: Arc<Granted>,
    pub(super) pre: PluginPre<State>,
    pub(super) permits: Arc<Semaphore>,
    pub(super) chats: Arc<Chats>,
    /// The bytes of memory with which a call begins: as many as listing the tools took.
    pub(super) first_memory: usize,
    pub(super) grants: Grants,
    component: Facts,
    tools: Vec<Definition>,
    examples: Vec<Example>,
}

/// Properties of a component that the host reads from its bytes.
#[derive(Debug)]
struct Facts {
    size: usize,
    digest: Digest,
    shape: Shape,
}

impl Plugin {
    /// Compiles a component, or takes its code from the cache. Then links the granted imports and asks the plugin for its
    /// tools.
    ///
    /// # Errors
    ///
    /// See [`LoadError`].
    pub async fn load(
        engine: &Engine,
        component: &[u8],
        options: Options,
    ) -> Result<Arc<Self>, LoadError> {
        Self::load_shared(engine, Bytes::copy_from_slice(component), options).await
    }

    /// As [`Plugin::load`], without a copy of the component.
    ///
    /// # Errors
    ///
    /// See [`LoadError`].
    pub async fn load_shared(
        engine: &Engine,
        component: Bytes,
        options: Options,
    ) -> Result<Arc<Self>, LoadError> {
        let Options {
            name,
            sha256,
            grants,
            settings,
            limits,
        } = options;
        if !is_plugin_name(&name) {
            return Err(LoadError::Name(name));
        }
        if component.len() > limits.component {
            return Err(LoadError::TooLarge {
                size: component.len(),
                limit: limits.component,
            });
        }
        let (digest, shape) = read(component.clone()).await?;
        if let Some(pinned) = sha256.filter(|pinned| *pinned != digest) {
            return Err(LoadError::Digest {
                plugin: name,
                pinned,
                found: digest,
            });
        }
        let facts = Facts {
            shape: shape?,
            size: component.len(),
            digest,
        };
        facts.shape.judge(&name, &grants)?;
        let granted = Granted::look_up(&name, &grants, engine.closed())?;
        let compiled = compile(engine, &name, &component, limits.compile_time).await?;
        let pre = link(engine, &compiled, &grants)?;
        let mut plugin = Self {
            name: name.into(),
            engine: engine.clone(),
            permits: Arc::new(Semaphore::new(limits.concurrent_calls)),
            chats: Arc::default(),
            first_memory: 0,
            limits,
            settings: Arc::new(settings),
            granted: Arc::new(granted),
            pre,
            grants,
            component: facts,
            tools: Vec::new(),
            examples: Vec::new(),
        };
        let (tools, first_memory) = plugin.list_tools().await?;
        let Listed {
            tools,
            examples,
            warnings,
        } = checked(tools, plugin.name.to_string(), plugin.limits.reply).await?;
        for problem in warnings {
            tracing::warn!(plugin = &*plugin.name, problem, "an example is not valid");
        }
        plugin.first_memory = first_memory;
        (plugin.tools, plugin.examples) = (tools, examples);
        Ok(Arc::new(plugin))
    }

    /// Returns the name of the plugin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tools of the plugin, in the order in which the plugin lists them.
    pub fn tools(&self) -> &[Definition] {
        &self.tools
    }

    /// Returns the examples of all tools, in the plugin's order.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// Returns the SHA-256 of the component.
    pub fn digest(&self) -> Digest {
        self.component.digest
    }

    /// Returns the size of the component in bytes.
    pub fn size(&self) -> usize {
        self.component.size
    }

    /// Returns the version that the component says it has, in at most 64 harmless bytes.
    pub fn version(&self) -> Option<&str> {
        self.component.shape.version.as_deref()
    }

    /// Returns the names of the component's imports, in its order.
    pub fn imports(&self) -> &[String] {
        &self.component.shape.imports
    }

    /// Returns the names of the component's exports, in its order.
    pub fn exports(&self) -> &[String] {
        &self.component.shape.exports
    }

    /// Returns the grants of the plugin.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns whether the plugin may call the tools of other plugins. Its own tools can then not be called by others.
    pub fn makes_calls(&self) -> bool {
        self.grants.calls()
    }

    /// Returns whether the plugin may call a tool of this name, if its caller may.
    pub fn may_call(&self, tool: &str) -> bool {
        self.grants.may_call(tool)
    }

    /// Returns whether a call of the plugin may run again after a crash: all its effects are calls of other tools, which the host records,
    /// or starts of processes, if the workspace records these. A signal has no effect in a call that runs again.
    pub fn is_resumable(&self, are_starts_recorded: bool) -> bool {
        self.grants.has_only_recorded_effects(are_starts_recorded)
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.name).collect();
        formatter
            .debug_struct("Plugin")
            .field("name", &self.name)
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

/// Reads the digest and the shape of a component on a thread that may block: a large component takes a while. A wrong digest is
/// reported before any other problem with the component.
async fn read(component: Bytes) -> Result<(Digest, Result<Shape, LoadError>), LoadError> {
    let read = move || (Digest::of(&component), Shape::read(&component));
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|error| LoadError::NotAComponent(error.to_string()))
}

/// Checks the tools that a plugin listed, on a thread with the stack that deep schemas need.
async fn checked(tools: Vec<wit::Tool>, plugin: String, limit: usize) -> Result<Listed, LoadError> {
    let checked = limited(CHECKING, move || check(tools, &plugin, limit, MAX_TIME)).await;
    checked.unwrap_or_else(|unfinished| {
        Err(match unfinished {
            Unfinished::Limit(limit) => LoadError::CheckTime(limit),
            other => {
                let text = format!("the host failed to check them: {other}");
                LoadError::ListTools(Box::new(Cause {
                    text,
                    ..Cause::default()
                }))
            }
        })
    })
}

fn link(
    engine: &Engine,
    component: &Component,
    grants: &Grants,
) -> Result<PluginPre<State>, LoadError> {
    let wasm = &engine.inner.wasm;
    let mismatch = |error: wasmtime::Error| LoadError::Mismatch(shown(&format!("{error:#}")));
    let mut linker = Linker::new(wasm);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(mismatch)?;
    capability::add_to_linker(&mut linker, grants).map_err(mismatch)?;
    let pre: InstancePre<State> = linker.instantiate_pre(component).map_err(mismatch)?;
    PluginPre::new(pre).map_err(mismatch)
}
