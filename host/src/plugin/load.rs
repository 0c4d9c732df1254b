//! Loading a plugin: from bytes to something that can be called, or to an error that says what to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use wasmtime::component::{Component, InstancePre, Linker};

use super::chats::Chats;
use super::definition::{MAX_PLUGIN_NAME, definition, is_name};
use super::engine::Engine;
use super::imports::{PACKAGE, check_import, is_contract};
use super::store::State;
use super::{CodeCache, Limits, LoadError};
use crate::capability::bindings::FullPluginPre;
use crate::capability::{self, FilesGrant, Grants, Settings};
use crate::tool::Definition;

/// How a plugin is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The name of the plugin: `[a-z][a-z0-9]*(_[a-z0-9]+)*`, at most 31 bytes.
    pub name: String,
    /// What it may import.
    pub grants: Grants,
    /// Settings and secrets for it.
    pub settings: Settings,
    /// What it may use.
    pub limits: Limits,
}

impl Options {
    /// Makes options with nothing granted and the default limits.
    pub fn new(name: impl Into<String>) -> Self {
        let (grants, settings, limits) =
            (Grants::default(), Settings::default(), Limits::default());
        Self {
            name: name.into(),
            grants,
            settings,
            limits,
        }
    }
}

/// A component that is ready to be called.
pub struct Plugin {
    pub(super) name: Arc<str>,
    pub(super) engine: Engine,
    pub(super) limits: Limits,
    pub(super) settings: Arc<Settings>,
    pub(super) files: FilesGrant,
    pub(super) pre: FullPluginPre<State>,
    pub(super) permits: Arc<Semaphore>,
    pub(super) chats: Arc<Chats>,
    tools: Vec<Definition>,
}

impl Plugin {
    /// Compiles a component, or takes its code from the cache, links what it was granted, and asks for its tools.
    ///
    /// # Errors
    ///
    /// See [`LoadError`].
    pub async fn load(
        engine: &Engine,
        component: &[u8],
        options: Options,
    ) -> Result<Arc<Self>, LoadError> {
        let Options {
            name,
            grants,
            settings,
            limits,
        } = options;
        if !is_name(&name, MAX_PLUGIN_NAME) {
            return Err(LoadError::Name(name));
        }
        if component.len() > limits.component {
            return Err(LoadError::TooLarge {
                size: component.len(),
                limit: limits.component,
            });
        }
        if component.get(..8) == Some(b"\0asm\x01\0\0\0".as_slice()) {
            return Err(LoadError::CoreModule);
        }
        let compiled = compile(engine, &name, component).await?;
        let pre = link(engine, &compiled, &grants)?;
        let mut plugin = Self {
            name: name.into(),
            engine: engine.clone(),
            permits: Arc::new(Semaphore::new(limits.concurrent_calls)),
            chats: Arc::default(),
            limits,
            settings: Arc::new(settings),
            files: grants.files,
            pre,
            tools: Vec::new(),
        };
        for tool in plugin.list_tools().await? {
            let definition = definition(tool, &plugin.name)?;
            if plugin
                .tools
                .iter()
                .any(|other| other.name == definition.name)
            {
                return Err(LoadError::Tool {
                    name: definition.name,
                    problem: "the name occurs twice".into(),
                });
            }
            plugin.tools.push(definition);
        }
        Ok(Arc::new(plugin))
    }

    /// Returns the name of the plugin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tools that it offers, in its order.
    pub fn tools(&self) -> &[Definition] {
        &self.tools
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

async fn compile(engine: &Engine, plugin: &str, component: &[u8]) -> Result<Component, LoadError> {
    /// After this long somebody is told what takes so long.
    const NOTICE: Duration = Duration::from_secs(1);
    let inner = &engine.inner;
    let name = CodeCache::name(&inner.wasm, component);
    if let Some(cached) = inner
        .cache
        .as_ref()
        .and_then(|cache| cache.load(&inner.wasm, &name))
    {
        tracing::debug!(plugin, "code cache hit");
        return Ok(cached);
    }
    tracing::debug!(
        plugin,
        cache = inner.cache.is_some(),
        "code cache miss, compiling"
    );
    let _one_at_a_time = inner.compiling.acquire().await;
    let began = Instant::now();
    let (wasm, component) = (inner.wasm.clone(), component.to_vec());
    let mut compiling = tokio::task::spawn_blocking(move || Component::new(&wasm, component));
    let compiled = match tokio::time::timeout(NOTICE, &mut compiling).await {
        Ok(compiled) => compiled,
        Err(_) => {
            tracing::info!(
                plugin,
                "compiling; this happens once for each version of a plugin"
            );
            compiling.await
        }
    };
    let compiled = compiled.map_err(|error| LoadError::NotAComponent(error.to_string()))?;
    let compiled = compiled.map_err(|error| LoadError::NotAComponent(format!("{error:#}")))?;
    tracing::debug!(plugin, elapsed_ms = began.elapsed().as_millis(), "compiled");
    engine.metrics.compiled(plugin, began.elapsed());
    if let Some(cache) = &inner.cache {
        cache.store(&compiled, &name);
    }
    Ok(compiled)
}

fn link(
    engine: &Engine,
    component: &Component,
    grants: &Grants,
) -> Result<FullPluginPre<State>, LoadError> {
    let wasm = &engine.inner.wasm;
    let types = component.component_type();
    for (import, _) in types.imports(wasm) {
        check_import(import, grants)?;
    }
    let tools = types
        .exports(wasm)
        .map(|(name, _)| name)
        .filter_map(|name| Some((name, name.strip_prefix(PACKAGE)?)));
    let tools: Vec<_> = tools
        .filter(|(_, interface)| interface.starts_with("tools@"))
        .collect();
    match tools.as_slice() {
        [] => return Err(LoadError::NoTools),
        all if all.iter().any(|(_, interface)| is_contract(interface)) => {}
        [(name, _), ..] => return Err(LoadError::Version((*name).to_owned())),
    }
    let mismatch = |error: wasmtime::Error| LoadError::Mismatch(format!("{error:#}"));
    let mut linker = Linker::new(wasm);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(mismatch)?;
    capability::add_to_linker(&mut linker, grants).map_err(mismatch)?;
    let pre: InstancePre<State> = linker.instantiate_pre(component).map_err(mismatch)?;
    FullPluginPre::new(pre).map_err(mismatch)
}
