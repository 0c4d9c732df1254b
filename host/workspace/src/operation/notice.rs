//! Events of processes as values.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolhost_state::id::ChatId;

use crate::process::{Denials, ProcessEvent, State, Subject, Subscriber};

/// The process of a notice: see [`Subject`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Named {
    /// Its id.
    pub id: String,
    /// The chat that it belongs to.
    pub chat: Option<ChatId>,
    /// The key of its start.
    pub key: Option<String>,
}

/// An event of a workspace on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Notice {
    /// The agent is there, and nothing happened. This is also the first notice.
    Alive,
    /// Notices were dropped, because the reader was too slow.
    Missed,
    /// [`ProcessEvent::Started`].
    Started {
        /// The process.
        process: Named,
        /// Its command, cut at 2 KiB.
        command: String,
        /// The directory in which it was started.
        workdir: PathBuf,
        /// Whether it was started as a background process.
        background: bool,
    },
    /// [`ProcessEvent::Output`].
    Output {
        /// The process.
        process: Named,
        /// The cursor of the first byte.
        offset: u64,
        /// How many bytes it wrote.
        length: u64,
    },
    /// [`ProcessEvent::Changed`].
    Changed {
        /// The process.
        process: Named,
        /// Its state from now on.
        state: State,
        /// How many bytes it has written so far.
        total: u64,
    },
    /// [`Denials`].
    Denied {
        /// The chat of the command.
        chat: Option<ChatId>,
        /// The process.
        process: Option<String>,
        /// A sentence for each denial.
        texts: Vec<String>,
        /// Whether the sandbox reported the denials.
        certain: bool,
    },
}

/// A notice with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Numbered {
    /// How many events the agent had by then.
    pub number: u64,
    /// The event.
    #[serde(flatten)]
    pub notice: Notice,
}

impl Named {
    fn subject(&self) -> Subject<'_> {
        Subject {
            id: &self.id,
            chat: self.chat.as_ref(),
            key: self.key.as_deref(),
        }
    }
}

impl From<Subject<'_>> for Named {
    fn from(subject: Subject<'_>) -> Self {
        Self {
            id: subject.id.to_owned(),
            chat: subject.chat.cloned(),
            key: subject.key.map(str::to_owned),
        }
    }
}

impl Notice {
    /// Makes the notice of an event.
    pub fn new(process: Subject<'_>, event: ProcessEvent<'_>) -> Self {
        let process = process.into();
        match event {
            ProcessEvent::Started {
                command,
                workdir,
                background,
            } => Self::Started {
                process,
                command: command.to_owned(),
                workdir: text(workdir),
                background,
            },
            ProcessEvent::Output { offset, length } => Self::Output {
                process,
                offset,
                length,
            },
            ProcessEvent::Changed { state, total } => Self::Changed {
                process,
                state: state.clone(),
                total,
            },
        }
    }

    /// Tells a subscriber of the event, unless it is none of a process.
    pub fn tell(&self, subscriber: &dyn Subscriber) {
        match self {
            Self::Alive | Self::Missed => {}
            Self::Started {
                process,
                command,
                workdir,
                background,
            } => subscriber.event(
                process.subject(),
                ProcessEvent::Started {
                    command,
                    workdir,
                    background: *background,
                },
            ),
            Self::Output {
                process,
                offset,
                length,
            } => subscriber.event(
                process.subject(),
                ProcessEvent::Output {
                    offset: *offset,
                    length: *length,
                },
            ),
            Self::Changed {
                process,
                state,
                total,
            } => subscriber.event(
                process.subject(),
                ProcessEvent::Changed {
                    state,
                    total: *total,
                },
            ),
            Self::Denied {
                chat,
                process,
                texts,
                certain,
            } => subscriber.denied(Denials {
                chat: chat.as_ref(),
                process: process.as_deref(),
                texts,
                certain: *certain,
            }),
        }
    }
}

impl From<Denials<'_>> for Notice {
    fn from(denials: Denials<'_>) -> Self {
        Self::Denied {
            chat: denials.chat.cloned(),
            process: denials.process.map(str::to_owned),
            texts: denials.texts.to_vec(),
            certain: denials.certain,
        }
    }
}

/// Returns a path that can be written as text.
fn text(path: &Path) -> PathBuf {
    path.to_string_lossy().into_owned().into()
}
