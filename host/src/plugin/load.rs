//! Loading a plugin: from bytes to something that can be called, or to an error that says what to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Semaphore;
use wasmtime::component::{Component, InstancePre, Linker};

use super::engine::Engine;
use super::limits::bytes as in_bytes;
use super::store::State;
use super::{CodeCache, Limits};
use crate::capability::bindings::ProcessPluginPre;
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use crate::capability::{self, GRANTED, Grants, Settings};
use crate::tool::{Definition, Hints};

/// The package of the contract.
const PACKAGE: &str = "toolhost:plugin/";

/// The version of the contract that this host speaks.
const CONTRACT: &str = "0.1";

/// Interfaces of the contract that every plugin may import.
const FREE: [&str; 4] = ["context", "settings", "log", "progress"];

/// Packages of WASI 0.2 that are linked for every plugin, with nothing in them.
const WASI: [&str; 6] = [
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:io/",
    "wasi:random/",
    "wasi:sockets/",
];

/// The longest name of a tool, in bytes.
const MAX_TOOL_NAME: usize = 31;

/// The longest name of a plugin, in bytes: with the name of a tool it stays below the 64 of model providers.
const MAX_PLUGIN_NAME: usize = 31;

/// How a plugin is loaded.
#[derive(Clone, Debug)]
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
    pub(super) pre: ProcessPluginPre<State>,
    pub(super) permits: Arc<Semaphore>,
    tools: Vec<Definition>,
}

/// Why a plugin does not load. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The name cannot be part of a tool's name.
    #[error(
        "{0:?} cannot be the name of a plugin: it must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most {MAX_PLUGIN_NAME} bytes"
    )]
    Name(String),
    /// The component is too large.
    #[error("the component has {size}, the most is {limit}", size = in_bytes(*.size), limit = in_bytes(*.limit))]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It is a core module.
    #[error(
        "this is a core module, not a component: build it for wasm32-wasip2, or turn it into one with `wasm-tools component new`"
    )]
    CoreModule,
    /// It is no WebAssembly.
    #[error("this is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// It imports a capability that it was not granted.
    #[error(
        "the plugin imports {import}, which it was not granted: add `grants = {{ {grant} = … }}` to its configuration"
    )]
    NotGranted {
        /// The full name of the import.
        import: String,
        /// The name of the grant.
        grant: &'static str,
    },
    /// It imports a capability of the contract that this host cannot offer.
    #[error("the plugin imports {0}, which this version of Toolhost does not offer yet")]
    NotOffered(String),
    /// It speaks another version of the contract.
    #[error(
        "the plugin names {0}, but this host speaks version {CONTRACT} of the contract: build it against that"
    )]
    Version(String),
    /// It imports something unknown.
    #[error(
        "the plugin imports {0}, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2, and nothing else"
    )]
    UnknownImport(String),
    /// It does not export the tools.
    #[error("the component does not export {PACKAGE}tools@{CONTRACT}: it is no plugin")]
    NoTools,
    /// Imports or exports have other types than the contract.
    #[error("the plugin does not fit the contract: {0}")]
    Mismatch(String),
    /// It could not say which tools it offers.
    #[error("the plugin did not list its tools: {0}")]
    ListTools(String),
    /// A tool is not sound.
    #[error("the tool {name:?} of the plugin is not sound: {problem}")]
    Tool {
        /// The name that the plugin gave.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
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
            limits,
            settings: Arc::new(settings),
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
    if let Some(cache) = &inner.cache {
        cache.store(&compiled, &name);
    }
    Ok(compiled)
}

fn link(
    engine: &Engine,
    component: &Component,
    grants: &Grants,
) -> Result<ProcessPluginPre<State>, LoadError> {
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
    ProcessPluginPre::new(pre).map_err(mismatch)
}

/// Looks at the name of an import before the linker does, whose error would not say what to do.
fn check_import(import: &str, grants: &Grants) -> Result<(), LoadError> {
    let Some(interface) = import.strip_prefix(PACKAGE) else {
        let version = import.rsplit_once('@').map_or("", |(_, version)| version);
        let known =
            WASI.iter().any(|package| import.starts_with(package)) && version.starts_with("0.2.");
        return if known {
            Ok(())
        } else {
            Err(LoadError::UnknownImport(import.to_owned()))
        };
    };
    if !is_contract(interface) {
        return Err(LoadError::Version(import.to_owned()));
    }
    let name = interface.split('@').next().unwrap_or_default();
    if FREE.contains(&name) || (name == "processes" && grants.processes) {
        return Ok(());
    }
    match GRANTED.iter().find(|(granted, _)| *granted == name) {
        Some(("processes", grant)) => Err(LoadError::NotGranted {
            import: import.to_owned(),
            grant,
        }),
        Some(_) => Err(LoadError::NotOffered(import.to_owned())),
        None => Err(LoadError::UnknownImport(import.to_owned())),
    }
}

/// Returns whether an interface name with a version, such as `tools@0.1.3`, is of the contract that this host speaks.
fn is_contract(interface: &str) -> bool {
    let version = interface.split_once('@').map_or("", |(_, version)| version);
    version
        .strip_prefix(CONTRACT)
        .is_some_and(|patch| patch.starts_with('.'))
}

fn definition(tool: wit::Tool, plugin: &str) -> Result<Definition, LoadError> {
    let unsound = |problem: String| LoadError::Tool {
        name: tool.name.clone(),
        problem,
    };
    if !is_name(&tool.name, MAX_TOOL_NAME) {
        let problem = format!(
            "its name must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most {MAX_TOOL_NAME} bytes"
        );
        return Err(unsound(problem));
    }
    let schema = |what: &str, text: &str| match serde_json::from_str::<Value>(text) {
        Ok(schema) if schema.is_object() => Ok(schema),
        Ok(_) => Err(unsound(format!("its {what} schema is no JSON object"))),
        Err(error) => Err(unsound(format!(
            "its {what} schema is not valid JSON: {error}"
        ))),
    };
    let input_schema = schema("input", &tool.input_schema)?;
    if input_schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(unsound(
            "its input schema does not describe an object".into(),
        ));
    }
    let output_schema = tool
        .output_schema
        .as_deref()
        .map(|text| schema("output", text))
        .transpose()?;
    let hints = Hints {
        read_only: tool.hints.contains(wit::Hints::READ_ONLY),
        non_destructive: tool.hints.contains(wit::Hints::NON_DESTRUCTIVE),
        idempotent: tool.hints.contains(wit::Hints::IDEMPOTENT),
        closed_world: tool.hints.contains(wit::Hints::CLOSED_WORLD),
    };
    Ok(Definition {
        input_schema,
        output_schema,
        hints,
        name: tool.name,
        title: tool.title,
        description: tool.description,
        max_duration_ms: tool.max_duration_ms,
        plugin: plugin.to_owned(),
    })
}

/// `[a-z][a-z0-9]*(_[a-z0-9]+)*`. Two underscores together are kept for `plugin__tool`, so that no name can pose as one.
fn is_name(text: &str, max: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let separated = !text.contains("__") && !text.ends_with('_');
    text.len() <= max
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(allowed)
        && separated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_judged_by_name_and_version() {
        let judge = |import: &str, processes: bool| {
            check_import(import, &Grants { processes })
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert_eq!(judge("toolhost:plugin/log@0.1.0", false), "");
        assert_eq!(judge("toolhost:plugin/context@0.1.7", false), "");
        assert_eq!(judge("toolhost:plugin/processes@0.1.0", true), "");
        assert_eq!(judge("wasi:sockets/tcp@0.2.12", false), "");
        insta::assert_snapshot!(judge("toolhost:plugin/processes@0.1.0", false), @"the plugin imports toolhost:plugin/processes@0.1.0, which it was not granted: add `grants = { processes = … }` to its configuration");
        insta::assert_snapshot!(judge("toolhost:plugin/files@0.1.0", true), @"the plugin imports toolhost:plugin/files@0.1.0, which this version of Toolhost does not offer yet");
        insta::assert_snapshot!(judge("toolhost:plugin/log@0.2.0", false), @"the plugin names toolhost:plugin/log@0.2.0, but this host speaks version 0.1 of the contract: build it against that");
        for unknown in [
            "toolhost:plugin/magic@0.1.0",
            "wasi:http/types@0.2.0",
            "wasi:cli/environment@0.3.0",
            "env",
            "",
        ] {
            assert!(
                judge(unknown, true).contains("which no Toolhost offers"),
                "{unknown}"
            );
        }
    }

    #[test]
    fn names_are_those_that_every_provider_takes() {
        for good in ["execute", "a", "read_file2", &"x".repeat(31)] {
            assert!(is_name(good, 31), "{good}");
        }
        for bad in [
            "",
            "Execute",
            "1a",
            "_a",
            "a-b",
            "a.b",
            "ä",
            "a b",
            "a__b",
            "a_",
            &"x".repeat(32),
        ] {
            assert!(!is_name(bad, 31), "{bad}");
        }
    }
}
