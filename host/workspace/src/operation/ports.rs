//! The operation on the ports of a chat.

use std::time::Duration;

use toolhost_state::id::ChatId;

use super::{SHORT_ANSWER, operation};
use crate::Owner;
use crate::process::{Error, Port};

operation! {
    /// Returns the TCP ports on which commands of a chat listen, in ascending order, each once. With `within`, it waits until there is one, the
    /// command has ended (of all commands of the chat: none is left), or the time is over.
    ///
    /// A port is left out if another program would get some of its connections, or if the workspace cannot connect to it.
    ListPorts = "ports", {
        /// The chat.
        chat: ChatId,
        /// The process whose ports are listed; `None`: all processes of the chat.
        process: Option<String>,
        /// How long it waits for a port at most.
        within: Duration,
    } -> Result<Vec<Port>, Error>;

    fn waits(&self) -> Duration {
        self.within
    }

    fn max_answer(&self) -> usize {
        // As many ports as there can be.
        SHORT_ANSWER + usize::from(u16::MAX) * 128
    }

    fn owner(&self) -> Owner<'_> {
        Some(&self.chat)
    }
}
