//! The interfaces that a plugin may import: one file per WIT interface, each a few lines of conversion from the contract to the
//! domain.
//!
//! Everything is in the scope of one call ([`Scope`]): a plugin cannot name another chat. Nothing here can panic, whatever
//! a guest passes; a bad handle is a trap, everything else an error that the guest can read.

mod allowance;
pub(crate) mod bindings;
mod context;
pub(crate) mod files;
pub(crate) mod http;
mod log;
pub(crate) mod process;
pub(crate) mod processes;
mod progress;
mod settings;
mod sockets;
mod started;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi_http::WasiHttpView;

use crate::grants::{GrantValue, InvalidGrant};
use bindings::toolhost::plugin as wit;
use toolhost_call::audit::{Trail, Use};
use toolhost_call::call::Request;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{CpuAccount, FilesGrant};

pub(crate) use allowance::Allowance;
pub(crate) use http::Http;
pub(crate) use log::LineLog;
pub(crate) use progress::Progress;
pub(crate) use started::{Started, StartedProcess};

/// The description of a capability that takes a grant.
#[derive(Debug)]
pub(crate) struct About {
    /// The name of the capability, which is the key of its grant.
    pub(crate) name: &'static str,
    /// The interfaces that need the capability, without versions.
    pub(crate) imports: &'static [&'static str],
    /// The line of the configuration with the least that lets a plugin load.
    pub(crate) line: &'static str,
    /// The permissions that the capability gives a plugin, in sentences without the last full stop.
    pub(crate) meaning: &'static str,
    /// The values on the command line; the last one grants most.
    pub(crate) options: &'static [&'static str],
    /// Reads a value as an operator wrote it. Returns the granted value, if there is one, and the problems of the value.
    pub(crate) read: fn(GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>),
    /// Returns the least value with which a plugin loads.
    pub(crate) least: fn() -> GrantValue,
}

/// Settings and secrets that the operator gave a plugin.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Values that may be shown.
    pub settings: BTreeMap<String, String>,
    /// Values that may not.
    pub secrets: BTreeMap<String, String>,
}

impl Settings {
    /// Returns a text with the secrets in it replaced by their names. A secret of less than six bytes stays: in a text it is
    /// most likely a word that means something else.
    fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const SHORTEST: usize = 6;
        let mut text = Cow::Borrowed(text);
        for (name, secret) in &self.secrets {
            if secret.len() >= SHORTEST && text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), &format!("[secret {name}]")));
            }
        }
        text
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<_> = self.secrets.keys().collect();
        formatter
            .debug_struct("Settings")
            .field("settings", &self.settings)
            .field("secrets", &secrets)
            .finish()
    }
}

/// The state of one call, or of one request for the tools, that the capabilities use.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The running call; `None` while the host asks for the tools.
    pub(crate) call: Option<Call>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) log: LineLog,
    pub(crate) files: FilesGrant,
    /// Where uses of capabilities are recorded.
    pub(crate) trail: Trail,
    /// How much the call may ask of the host.
    pub(crate) allowance: Allowance,
    /// The CPU time of operations on files, which the guest is charged for.
    pub(crate) work: Arc<CpuAccount>,
}

impl Scope {
    /// Returns the call, or records that a plugin uses a capability while it is asked for its tools, and returns the text
    /// for it.
    fn call_for(&self, capability: &'static str) -> Result<&Call, String> {
        self.call.as_ref().ok_or_else(|| {
            self.denied(capability, "used while no tool was called".into());
            format!("{capability} can be used only while a tool is called")
        })
    }

    /// Refuses and records an operation that only an approved call may do, if the call was not approved.
    fn check_approved(&self, call: &Call, capability: &'static str) -> Result<(), String> {
        if !call.unapproved {
            return Ok(());
        }
        self.denied(capability, "a change by a tool that promises none".into());
        Err(
            "the tool promises to be read-only or non-destructive, so the call was not approved: it may neither start \
             nor signal processes nor write files"
                .into(),
        )
    }

    /// Records a denied use of a capability.
    fn denied(&self, capability: &'static str, what: String) {
        self.trail.record(&Use::Denied { capability, what });
    }
}

/// The call in whose scope a plugin runs.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: Arc<Request>,
    pub(crate) workspace: Arc<dyn Workspace>,
    /// When the host ends the call.
    pub(crate) deadline: Instant,
    /// The longest that one wait may take, if the operator bounds it.
    pub(crate) max_wait: Option<Duration>,
    /// Whether the approval hook was not asked, because the tool promises to destroy nothing.
    pub(crate) unapproved: bool,
    pub(crate) cancelled: CancellationToken,
    pub(crate) started: Started,
    pub(crate) progress: Progress,
}

impl Call {
    /// Returns whether the call is cancelled, for a guest that learns of the cancellation from the answer. If it is, begins to
    /// end the processes of the call.
    fn tell_cancelled(&self) -> bool {
        let cancelled = self.cancelled.is_cancelled();
        if cancelled {
            self.started.tell_cancelled();
        }
        cancelled
    }
}

/// The type for which the generated traits are implemented: the scope, and the handles of the guest.
pub(crate) struct View<'a> {
    pub(crate) scope: &'a mut Scope,
    pub(crate) table: &'a mut ResourceTable,
}

/// A store's data that has a scope.
pub(crate) trait ScopeView: Send {
    fn view(&mut self) -> View<'_>;
}

struct Capabilities;

impl HasData for Capabilities {
    type Data<'a> = View<'a>;
}

/// Links the capabilities that every plugin has.
pub(crate) fn add_free_to_linker<T: ScopeView + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    wit::context::add_to_linker::<T, Capabilities>(linker, T::view)?;
    wit::settings::add_to_linker::<T, Capabilities>(linker, T::view)?;
    wit::log::add_to_linker::<T, Capabilities>(linker, T::view)?;
    wit::progress::add_to_linker::<T, Capabilities>(linker, T::view)
}

/// Links the sockets of WASI, which are denied and recorded.
pub(crate) fn add_sockets_to_linker<T: ScopeView + WasiHttpView + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    sockets::add_to_linker(linker)
}
