//! The operations of a [`Workspace`](crate::Workspace) as values.
//!
//! Each operation is a type whose fields are its arguments: see [`Typed`]. [`Operation`] is any of them, and [`Answer`] is what it returns.
//! A host that sends an operation to an agent on another machine shares these types with it, so that neither can know an operation, a field
//! or an error that the other does not.

mod files;
mod identity;
mod notice;
mod ports;
mod processes;
mod sent;

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer, Serialize};

use crate::{Owner, files as of_files, process};

pub use files::{
    AppendUpload, BeginUpload, CommitUpload, DropUpload, FindFiles, MetadataOf, ReadDirectory,
    ReadFile, RemoveFile, Resolve, Restrict, SearchText, SkipLines, WriteFiles,
};
pub use identity::{Identity, VERSION};
pub use notice::{Named, Notice, Numbered};
pub use ports::ListPorts;
pub use processes::{
    Cancel, End, EndChat, Find, GetStatus, InfoOf, List, ListAll, Observe, Open, Read, SendInput,
    SendSignal, Start, TakeSnapshot, Wait,
};
pub use sent::{Answered, Asked, Ended, MAX_ENDED};

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

/// The most bytes of an answer without output, content or lists.
const SHORT_ANSWER: usize = 256 << 10;

/// The most bytes of any answer: that of a list of many processes, whose commands may be long.
const LONGEST_ANSWER: usize = 64 << 20;

/// Returns the most bytes of an answer with so many bytes in base64.
fn with_bytes(bytes: usize) -> usize {
    (bytes.min(LONGEST_ANSWER / 2).div_ceil(3) * 4 + SHORT_ANSWER).min(LONGEST_ANSWER)
}

/// One of the operations.
pub trait Typed:
    Into<Operation> + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// The last part of its path, such as `start`.
    const NAME: &'static str;

    /// The most bytes of it, written as JSON.
    const MAX_BYTES: usize = 64 << 10;

    /// Whether it changes processes, whose events a host waits for.
    const CHANGES: bool = false;

    /// Whether it is about files, and not about processes.
    const OF_FILES: bool = false;

    /// Whether it changes files.
    const WRITES_FILES: bool = false;

    /// The result of the operation, or the reason why it was not done.
    type Answer: Fallible + Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Returns what happens if it is sent twice.
    fn repeat(&self) -> Repeat {
        Repeat::Harmless
    }

    /// Returns the most bytes of its answer, written as JSON. A host reads no more of the answer of an agent.
    fn max_answer(&self) -> usize {
        SHORT_ANSWER
    }

    /// Returns how long the workspace may wait before it does anything; zero but for waits.
    fn waits(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the owner of the processes that it is about.
    fn owner(&self) -> Owner<'_> {
        None
    }

    /// Returns the answer to it.
    ///
    /// # Panics
    ///
    /// If this is the answer to another operation.
    fn answered(answer: Answer) -> Self::Answer;
}

/// An answer that can be an error of any workspace, such as that it cannot be reached.
pub trait Fallible {
    /// Returns the error as an answer.
    fn failed(error: process::Error) -> Self;

    /// Returns the error of files that cannot be reached as an answer.
    fn refused(error: of_files::Error) -> Self
    where
        Self: Sized,
    {
        Self::failed(process::Error::Failed(error.to_string()))
    }

    /// Returns the error of an operation on processes.
    fn error(&mut self) -> Option<&mut process::Error> {
        None
    }
}

impl<T> Fallible for Result<T, process::Error> {
    fn failed(error: process::Error) -> Self {
        Err(error)
    }

    fn error(&mut self) -> Option<&mut process::Error> {
        self.as_mut().err()
    }
}

impl<T> Fallible for Result<T, of_files::Error> {
    fn failed(error: process::Error) -> Self {
        Err(match error {
            process::Error::Unavailable(text) => of_files::Error::Unavailable(text),
            process::Error::UnknownOutcome(text) => of_files::Error::UnknownOutcome(text),
            process::Error::Busy(text) => of_files::Error::Busy(text),
            other => of_files::Error::Failed(other.to_string()),
        })
    }

    fn refused(error: of_files::Error) -> Self {
        Err(error)
    }
}

impl<T> Fallible for Result<T, (usize, of_files::Error)> {
    fn failed(error: process::Error) -> Self {
        Result::<T, of_files::Error>::failed(error).map_err(|error| (0, error))
    }

    fn refused(error: of_files::Error) -> Self {
        Err((0, error))
    }
}

/// Something that takes every operation.
pub trait Each {
    /// Takes one.
    fn take<O: Typed>(&mut self);
}

/// Declares an operation: its documentation and type, its name, its arguments and its answer, and what differs from the defaults of
/// [`Typed`].
macro_rules! operation {
    (
        $(#[$doc:meta])*
        $type:ident = $name:literal, {
            $( $(#[$field_doc:meta])* $field:ident : $field_type:ty, )*
        } -> $answer:ty;
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            $( $(#[$field_doc])* pub $field: $field_type, )*
        }

        impl super::Typed for $type {
            const NAME: &'static str = $name;
            type Answer = $answer;
            $($rest)*

            fn answered(answer: super::Answer) -> $answer {
                match answer {
                    super::Answer::$type(answer) => answer,
                    other => unreachable!("{other:?} answers another operation"),
                }
            }
        }
    };
}

use operation;

/// Makes [`Operation`] and [`Answer`] of all types of operations.
macro_rules! all {
    ($($type:ident,)*) => {
        /// An operation.
        #[derive(Debug, Serialize)]
        #[serde(untagged)]
        #[expect(missing_docs, reason = "each names the type that says what it is")]
        pub enum Operation {
            $( $type($type), )*
        }

        /// The answer to the operation of the same name.
        #[derive(Debug, Serialize)]
        #[serde(untagged)]
        #[expect(missing_docs, reason = "each names the operation that it answers")]
        pub enum Answer {
            $( $type(<$type as Typed>::Answer), )*
        }

        $(
            impl From<$type> for Operation {
                fn from(operation: $type) -> Self {
                    Self::$type(operation)
                }
            }
        )*

        impl Operation {
            /// See [`Typed::NAME`].
            pub fn name(&self) -> &'static str {
                match self { $( Self::$type(_) => $type::NAME, )* }
            }

            /// See [`Typed::CHANGES`].
            pub fn changes(&self) -> bool {
                match self { $( Self::$type(_) => $type::CHANGES, )* }
            }

            /// See [`Typed::OF_FILES`].
            pub fn is_of_files(&self) -> bool {
                match self { $( Self::$type(_) => $type::OF_FILES, )* }
            }

            /// See [`Typed::repeat`].
            pub fn repeat(&self) -> Repeat {
                match self { $( Self::$type(operation) => operation.repeat(), )* }
            }

            /// See [`Typed::max_answer`].
            pub fn max_answer(&self) -> usize {
                match self { $( Self::$type(operation) => operation.max_answer(), )* }
            }

            /// See [`Typed::waits`].
            pub fn waits(&self) -> Duration {
                match self { $( Self::$type(operation) => operation.waits(), )* }
            }

            /// See [`Typed::owner`].
            pub fn owner(&self) -> Owner<'_> {
                match self { $( Self::$type(operation) => operation.owner(), )* }
            }

            /// Returns the answer that it failed with this error.
            pub fn failed(&self, error: process::Error) -> Answer {
                match self {
                    $( Self::$type(_) => Answer::$type(Fallible::failed(error)), )*
                }
            }

            /// Returns the answer that the directories which it may reach cannot be opened.
            pub fn refused(&self, error: of_files::Error) -> Answer {
                match self {
                    $( Self::$type(_) => Answer::$type(Fallible::refused(error)), )*
                }
            }

            /// Reads what an agent answered to it.
            ///
            /// # Errors
            ///
            /// If this is no answer to it.
            pub fn read_answer<'de, D: Deserializer<'de>>(
                &self,
                answer: D,
            ) -> Result<Answered<Answer>, D::Error> {
                match self {
                    $( Self::$type(_) => {
                        let answered = Answered::<<$type as Typed>::Answer>::deserialize(answer)?;
                        Ok(answered.map(Answer::$type))
                    } )*
                }
            }
        }

        impl Answer {
            /// Returns the error, if this is one of an operation on processes.
            pub fn error(&mut self) -> Option<&mut process::Error> {
                match self { $( Self::$type(answer) => answer.error(), )* }
            }
        }

        /// Gives every operation to something.
        pub fn each(to: &mut impl Each) {
            $( to.take::<$type>(); )*
        }
    };
}

all! {
    GetStatus,
    Start,
    Open,
    Find,
    InfoOf,
    Wait,
    TakeSnapshot,
    Read,
    SendSignal,
    SendInput,
    End,
    Cancel,
    EndChat,
    List,
    ListAll,
    Observe,
    ListPorts,
    Restrict,
    MetadataOf,
    ReadFile,
    SkipLines,
    ReadDirectory,
    SearchText,
    FindFiles,
    Resolve,
    WriteFiles,
    BeginUpload,
    AppendUpload,
    CommitUpload,
    DropUpload,
    RemoveFile,
}
