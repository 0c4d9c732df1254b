//! Retention: how much saved output is kept, and for how long.

use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use toolhost_local::process::{Limits, SaveLimits};

/// How much saved output is kept, and for how long.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(crate) struct Options {
    /// How long the output of an ended process is kept; its exit status is kept twice as long
    #[arg(long, value_name = "TIME", env = "TOOLHOST_OUTPUT_RETENTION", default_value = "24h", value_parser = super::time::time)]
    output_retention: Duration,
    /// The most saved output of one process; later bytes are not saved
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_OUTPUT_PER_PROCESS",
        default_value = "64MiB"
    )]
    output_per_process: ByteSize,
    /// The most saved output of one chat, beyond which its oldest outputs are removed
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_OUTPUT_PER_CHAT",
        default_value = "1GiB"
    )]
    output_per_chat: ByteSize,
    /// The most saved output of all chats, beyond which the oldest outputs are removed
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_OUTPUT_TOTAL",
        default_value = "10GiB"
    )]
    output_total: ByteSize,
    /// How long a chat may go without a request before its processes are ended
    #[arg(long, value_name = "TIME", env = "TOOLHOST_IDLE_CHAT", default_value = "24h", value_parser = super::time::time)]
    idle_chat: Duration,
}

impl Options {
    /// Sets the retention of processes.
    pub(crate) fn limit(&self, limits: &mut Limits) {
        limits.retention = self.output_retention;
        limits.known = self.output_retention.saturating_mul(2);
        limits.idle_chat = self.idle_chat;
    }

    /// Returns the limits of saved output.
    pub(crate) fn saved(&self) -> SaveLimits {
        SaveLimits {
            per_process: self.output_per_process.as_u64(),
            per_chat: self.output_per_chat.as_u64(),
            total: self.output_total.as_u64(),
        }
    }
}
