//! Toolhost in a program of one's own: a host runs the tools of chat servers, their logic in WebAssembly, shell commands as
//! processes of the host's user.
//!
//! A tool's logic is a component behind a WIT contract. Touching the machine is a capability that the component must
//! import, and that the host scopes to one chat and one workspace.
//!
//! ```
//! use toolhost_core::{Arguments, CallId, Host, Request};
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
//! The crates below are re-exported and explain the names: calls and their outcomes in [`call`], the limits of plugins in
//! [`plugin`], processes and files of this machine in [`local`], those of agents in
//! [`remote`], and the trait of a workspace in [`workspace`].

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod host;

pub use host::{
    Builder, CallNow, ChatFiles, Component, EMBEDDED, Embedded, FILES, FIND_TOOLS, Host,
    INPUT_TOOL, InputError, LINK, Latency, Link, LinkError, Located, OUTPUT_TOOL, Offer,
    PluginChange, PluginError, PluginInfo, PluginSet, PluginSource, PluginState, PortError,
    ProcessNow, PublicAddress, READ_TOOL, RUN_SCRIPT, Removal, RemovedWorkspace, SCRIPT,
    SHARE_TOOL, StartError, Target, TemplateUse, ToolMode, USUAL_COMPONENTS, WRITE_TOOL,
    WorkspaceInfo, WorkspaceState, embedded_limits, find_tools, library, name_of, named_files,
    script,
};
pub use toolhost_call as call;
pub use toolhost_call::call::{Arguments, CallError, Outcome, Request};
pub use toolhost_call::tool::{Definition, Format, Reply};
pub use toolhost_link as remote;
pub use toolhost_local as local;
pub use toolhost_plugin as plugin;
pub use toolhost_plugin::{Grants, Options, Preopen, Settings};
pub use toolhost_state::id::{CallId, ChatId};
pub use toolhost_state::workspace_name::WorkspaceName;
pub use toolhost_store::Session;
pub use toolhost_workspace as workspace;
pub use toolhost_workspace::files::FilesGrant;
