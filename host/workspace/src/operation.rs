//! The operations of a [`Workspace`] as values, so that a host can send them to an agent on another machine.
//!
//! Each operation is a type: its fields are the arguments, and [`Operation::perform`] does it on a workspace. Client and server share
//! these types, so that neither can know an operation, a field or an error that the other does not.

mod files;
mod identity;
mod notice;
mod processes;

use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Workspace;

pub use files::{
    Charged, MetadataOf, ReadDirectory, ReadFile, Resolve, Restrict, SkipLines, Within, WriteFiles,
};
pub use identity::{Identity, VERSION};
pub use notice::{Named, Notice, Numbered};
pub use processes::{
    Cancel, End, EndChat, Ended, Find, GetStatus, InfoOf, List, ListAll, Observe, Open, Read,
    SendSignal, Start, StartedAnd, TakeSnapshot, Wait, WaitedAnd,
};

/// What happens if an operation is sent twice, because the answer to the first request was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It changes nothing, or nothing more: it can be sent again at any time.
    Harmless,
    /// Its key tells a repeat from another operation, also after a restart of the agent.
    Keyed,
    /// It would act twice. An agent does it once for each id of a request, for as long as the agent runs.
    Acts,
}

/// The most bytes of a reply without output, content or lists.
const SHORT_REPLY: usize = 256 << 10;

/// The most bytes of any reply: that of a list of many processes, whose commands may be long.
const LONGEST_REPLY: usize = 64 << 20;

/// Returns the most bytes of a reply with so many bytes in base64.
fn with_bytes(bytes: usize) -> usize {
    (bytes.min(LONGEST_REPLY / 2).div_ceil(3) * 4 + SHORT_REPLY).min(LONGEST_REPLY)
}

/// An operation on a workspace.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The last part of its path, such as `start`.
    const NAME: &'static str;

    /// The most bytes of it, written as JSON.
    const MAX_BYTES: usize = 64 << 10;

    /// Returns the most bytes of its reply, written as JSON. A host reads no more of the answer of an agent.
    fn max_reply(&self) -> usize {
        SHORT_REPLY
    }

    /// What the operation returns, or why it could not be done.
    type Reply: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Returns what happens if it is sent twice.
    fn repeat(&self) -> Repeat;

    /// Returns how long the workspace may wait before it does anything; zero but for waits.
    fn waits(&self) -> Duration {
        Duration::ZERO
    }

    /// Does it on a workspace.
    fn perform(self, workspace: &dyn Workspace) -> BoxFuture<'_, Self::Reply>;
}

/// Declares an operation: its documentation and type, its name, whether it may be repeated, its arguments and its reply, and how it is
/// done.
macro_rules! operation {
    (
        $(#[$doc:meta])*
        $type:ident = $name:literal, $repeat:expr, {
            $( $(#[$field_doc:meta])* $field:ident : $field_type:ty, )*
        } -> $reply:ty,
        $(max_bytes = $max_bytes:expr,)?
        $(max_reply = |$sized:ident| $max_reply:expr,)?
        $(waits = |$waiting:ident| $waits:expr,)?
        |$this:ident, $workspace:ident| $perform:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            $( $(#[$field_doc])* pub $field: $field_type, )*
        }

        impl super::Operation for $type {
            const NAME: &'static str = $name;
            $(const MAX_BYTES: usize = $max_bytes;)?
            type Reply = $reply;

            $(fn max_reply(&self) -> usize {
                let $sized = self;
                $max_reply
            })?

            fn repeat(&self) -> super::Repeat {
                let repeat: fn(&Self) -> super::Repeat = $repeat;
                repeat(self)
            }

            $(fn waits(&self) -> std::time::Duration {
                let $waiting = self;
                $waits
            })?

            fn perform(
                self,
                $workspace: &dyn crate::Workspace,
            ) -> futures_util::future::BoxFuture<'_, $reply> {
                let $this = self;
                Box::pin(async move { $perform })
            }
        }
    };
}

use operation;
