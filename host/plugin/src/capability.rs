//! The capabilities: one file per interface, each with its state for one call, and conversions from the contract to the domain.
//!
//! The table at the end of this file names all of them. Loading, the configuration, `plugin inspect` and `plugin check` read it.
//! A plugin cannot name another chat: every state is that of one call ([`CallContext`]). Nothing here can panic, whatever
//! a guest passes; a bad handle is a trap, everything else an error that the guest can read.

mod about;
mod allowance;
pub(crate) mod bindings;
mod call;
pub(crate) mod calls;
mod context;
pub(crate) mod files;
pub(crate) mod http;
mod log;
pub(crate) mod processes;
mod progress;
mod session;
mod settings;
mod sockets;
mod started;
mod state;

use std::fmt;
use std::marker::PhantomData;

use wasmtime::component::{HasData, Linker, ResourceTable};

use crate::grants::{GrantValue, Grants};
use crate::reached::Reached;

pub use about::Capability;
pub(crate) use about::grants_line;
pub(crate) use allowance::Allowance;
pub(crate) use call::{Call, CallContext, Scope};
pub(crate) use session::Session;
pub(crate) use started::{Started, StartedProcess};
pub(crate) use state::State;

/// The state of a capability during one call.
pub(crate) trait CallState: Sized {
    /// The grant, which is prepared once for all calls of a plugin.
    type Grant: fmt::Debug;

    /// Prepares a granted value; `None`: the capability is not granted.
    fn prepare(value: Option<&GrantValue>) -> Self::Grant;

    /// Begins a call.
    fn begin(grant: &Self::Grant, context: &CallContext) -> Self;

    /// Returns the limit of the capability that the call has reached, if it has: a guest mostly traps soon after.
    fn reached(&self) -> Option<Reached> {
        None
    }
}

/// The type for which the generated traits are implemented: the state of a capability, and the handles of the guest.
pub(crate) struct View<'a, S> {
    pub(crate) state: &'a mut S,
    pub(crate) table: &'a mut ResourceTable,
}

/// Marks a capability whose state is `S`, for the linker.
struct Of<S>(PhantomData<S>);

impl<S: 'static> HasData for Of<S> {
    type Data<'a> = View<'a, S>;
}

/// Generates the code for each capability from one line: its module, and the type of its state.
macro_rules! table {
    (free { $($free:ident: $FreeState:ty,)* } granted { $($name:ident: $State:ty,)* }) => {
        /// Every capability that takes a grant, in the order in which they are shown.
        pub static CAPABILITIES: [Capability; [$(stringify!($name)),*].len()] = [$($name::CAPABILITY),*];

        /// The grants of a plugin, prepared for its calls.
        #[derive(Debug)]
        pub(crate) struct Prepared {
            $($name: <$State as CallState>::Grant,)*
        }

        /// The states of all capabilities for one call.
        #[derive(Debug)]
        pub(crate) struct States {
            $($free: $FreeState,)*
            $($name: $State,)*
        }

        impl Prepared {
            /// Prepares the grants of a plugin.
            pub(crate) fn new(grants: &Grants) -> Self {
                Self {
                    $($name: <$State>::prepare(grants.get($name::CAPABILITY.name)),)*
                }
            }
        }

        impl States {
            /// Begins a call.
            pub(crate) fn begin(prepared: &Prepared, context: &CallContext) -> Self {
                Self {
                    $($free: <$FreeState>::begin(context),)*
                    $($name: <$State>::begin(&prepared.$name, context),)*
                }
            }

            /// Returns the limit of a capability that the call has reached, if it has.
            pub(crate) fn reached(&self) -> Option<Reached> {
                None$(.or_else(|| self.$name.reached()))*
            }
        }

        $(impl AsMut<$FreeState> for States {
            fn as_mut(&mut self) -> &mut $FreeState {
                &mut self.$free
            }
        })*

        $(impl AsMut<$State> for States {
            fn as_mut(&mut self) -> &mut $State {
                &mut self.$name
            }
        })*

        /// Links the capabilities that every plugin has, and those that this one was granted. WASI has to be linked before, as
        /// a part of it is replaced.
        pub(crate) fn add_to_linker(linker: &mut Linker<State>, grants: &Grants) -> wasmtime::Result<()> {
            $($free::link(linker)?;)*
            for known in &CAPABILITIES {
                if grants.get(known.name()).is_some() {
                    (known.link)(linker)?;
                }
            }
            Ok(())
        }
    };
}

table! {
    free {
        context: context::Context,
        settings: settings::Given,
        log: crate::line_log::LineLog,
        progress: progress::Progress,
        sockets: sockets::Sockets,
    }
    granted {
        processes: processes::Processes,
        files: files::Files,
        http: http::Http,
        calls: calls::Calls,
    }
}
