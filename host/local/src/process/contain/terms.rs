//! The terms on which a command is kept when its host is gone.

use std::time::Duration;

/// The size of the secret, in bytes.
pub(super) const KEY: usize = 32;

/// The secret that a host must know to get a command. It is in a file that no command in a sandbox can read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Key(pub(super) [u8; KEY]);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

/// How a command is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    /// How long the supervisor waits for a host before it ends the command, in seconds.
    pub(super) seconds: u32,
    /// The number of bytes from the start of the output that stay in the spool until a host saves them.
    pub(super) saved: u64,
    pub(super) key: Key,
}

impl Terms {
    /// Makes the terms of a command, which is kept for at least a second and at most 136 years.
    pub(super) fn new(time: Duration, saved: u64, key: Key) -> Self {
        Self {
            seconds: u32::try_from(time.as_secs()).unwrap_or(u32::MAX).max(1),
            saved,
            key,
        }
    }

    pub(super) fn time(self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}
