//! Toolhost runs the tools of chat servers: their logic in WebAssembly, shell commands as processes of the host's user.
//!
//! A tool's logic is a component behind a WIT contract. Touching the machine is a capability that the component must
//! import, and that the host scopes to one chat and one workspace.
//!
//! A host in a program of one's own:
//!
//! ```
//! use toolhost::{Arguments, CallId, Host, Request};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let workspace = tempfile::tempdir()?;
//! let host = Host::builder(workspace.path()).start().await?;
//! let request = Request::new(
//!     "support-42".parse()?,
//!     "call_7Qx".parse()?,
//!     "execute",
//!     Arguments::parse(r#"{"command": "echo hello"}"#)?,
//! );
//! let outcome = host.call(request).await?;
//! let reply = outcome.result.as_ref().map_err(|error| error.to_string())?;
//! let result: serde_json::Value = serde_json::from_str(reply.structured().expect("execute replies with JSON").get())?;
//! assert_eq!(result["output"], "hello\n");
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! Dependencies point one way: [`server`] and the command line use [`Host`], which puts together [`plugin`], `capability`,
//! [`workspace`], [`files`] and [`process`]. ARCHITECTURE.md has the map.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

pub mod cli;
pub mod config;
mod host;
pub mod server;

pub use toolhost_call::{approval, audit, call, events, metrics, tool, trace};
pub use toolhost_local as local;
pub use toolhost_plugin as plugin;
pub use toolhost_plugin::outgoing;
pub use toolhost_state::{id, state_dir, trusted};
pub use toolhost_workspace as workspace;

pub use call::{Arguments, Outcome, Request};
pub use host::{
    Builder, CallError, Component, Embedded, Host, PluginError, PluginInfo, PluginSet,
    PluginSource, PluginState, StartError,
};
pub use id::{CallId, ChatId};
pub use tool::{Definition, Format, Reply};
pub use toolhost_plugin::Options;
pub use toolhost_plugin::{Grants, Preopen, Settings};
