//! A command to start, which is checked before any process is spawned.

use std::path::PathBuf;
use std::time::Duration;

use uuid::Uuid;

use super::{Error, Size, Stdin};
use toolhost_sandbox::Narrower;

/// The longest command, in bytes. One of 131,072 bytes or more does not fit an argument; its shell reads it from a file in
/// memory, which takes a supervisor.
pub const MAX_COMMAND: usize = 1 << 20;

/// The longest key of a start, in bytes.
pub const MAX_KEY: usize = 1024;

/// The longest variable with its name, in bytes. Linux takes 131,072 bytes in one string, with its final NUL.
const MAX_VARIABLE: usize = 131_071;

/// A command to start.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct Command {
    /// The text for `-c` of the shell.
    pub command: String,
    /// The directory to run in, absolute or relative to the workspace directory; `None`: the workspace directory.
    pub workdir: Option<PathBuf>,
    /// Variables that are set over those that the host builds.
    pub env: Vec<(String, String)>,
    /// Variables that name the trace of the command. Those of `env` take precedence. A repeat with another trace is the same
    /// command.
    pub trace: Vec<(String, String)>,
    /// Whether the caller means to leave it running.
    pub background: bool,
    /// What it reads.
    pub stdin: Stdin,
    /// Names this start among all of its chat: a repeat with the same key starts nothing, and returns the process of the
    /// first. At most [`MAX_KEY`] bytes. It holds for as long as that process is known, also to a later host.
    ///
    /// A key that is a UUID, in lower case with hyphens, is the id of the process as well. No two chats can use the same one at the
    /// same time.
    pub key: Option<String>,
    /// How long the caller means to wait for the end. It ends nothing: see [`Info::time_left`](super::Info::time_left).
    /// A repeat with another time is the same command, and the first time holds.
    pub timeout: Option<Duration>,
    /// What the command is to do without, of all that the policy of the workspace allows.
    #[schemars(with = "Narrowed")]
    pub sandbox: Narrower,
}

/// A [`Narrower`] as it is written.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Narrowed {
    /// `workspace`, `read-only` or `off`.
    mode: Option<String>,
    /// `all`, `none`, or a list of hosts.
    network: Option<NarrowedNetwork>,
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(untagged)]
enum NarrowedNetwork {
    Whole(String),
    Hosts(Vec<String>),
}

impl Command {
    /// Checks the command, as far as possible without touching the machine.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the command is empty, too long or contains NUL, or if a variable cannot be set.
    pub fn check(&self) -> Result<(), Error> {
        if self.command.is_empty() {
            return Err(Error::Invalid("command is required".into()));
        }
        if self.command.len() > MAX_COMMAND {
            let text = format!(
                "the command has {} bytes, the most is {MAX_COMMAND}: put it into a file and run that",
                self.command.len()
            );
            return Err(Error::Invalid(text));
        }
        if let Some(offset) = self.command.find('\0') {
            return Err(Error::Invalid(format!(
                "the command contains a NUL byte at offset {offset}"
            )));
        }
        if self.key.as_ref().is_some_and(|key| key.len() > MAX_KEY) {
            return Err(Error::Invalid(format!(
                "the key of a start has at most {MAX_KEY} bytes"
            )));
        }
        if let Stdin::Terminal(size) = self.stdin {
            size.check()?;
        }
        for (name, value) in self.env.iter().chain(&self.trace) {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(Error::Invalid(format!(
                    "the environment variable {name:?} cannot be set"
                )));
            }
            if name.len() + "=".len() + value.len() > MAX_VARIABLE {
                return Err(Error::Invalid(format!(
                    "the environment variable {name:?} has {} bytes, the most is {}",
                    value.len(),
                    MAX_VARIABLE - name.len() - 1
                )));
            }
        }
        Ok(())
    }

    /// Returns the id that the process is to have, if the key names one.
    pub fn id(&self) -> Option<&str> {
        let key = self.key.as_deref()?;
        let uuid = Uuid::parse_str(key).ok()?;
        (uuid.to_string() == key).then_some(key)
    }

    /// Returns a digest of everything but the key, the trace and the timeout, by which a repeat is told from another command.
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(self.command.as_bytes());
        let workdir = self.workdir.as_ref().map(|path| path.as_os_str());
        add(&[u8::from(workdir.is_some()), u8::from(self.background)]);
        add(workdir.unwrap_or_default().as_encoded_bytes());
        add(&match &self.stdin {
            Stdin::None => [0; 5],
            Stdin::Bytes(_) => [1, 0, 0, 0, 0],
            Stdin::Pipe => [2, 0, 0, 0, 0],
            Stdin::Terminal(Size { rows, columns }) => {
                let ([a, b], [c, d]) = (rows.to_le_bytes(), columns.to_le_bytes());
                [3, a, b, c, d]
            }
        });
        add(self.stdin.bytes());
        let Narrower { mode, network } = &self.sandbox;
        add(&[u8::from(mode.is_some()), u8::from(network.is_some())]);
        let mode = mode.map(|mode| mode.to_string());
        add(mode.unwrap_or_default().as_bytes());
        let network = network.as_ref().map(ToString::to_string);
        add(network.unwrap_or_default().as_bytes());
        for (name, value) in &self.env {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Command {
        Command {
            command: text.into(),
            ..Command::default()
        }
    }

    #[test]
    fn commands_that_cannot_run_are_refused() {
        assert_eq!(
            command("").check().unwrap_err().to_string(),
            "command is required"
        );
        assert_eq!(
            command("a\0b").check().unwrap_err().to_string(),
            "the command contains a NUL byte at offset 1"
        );
        assert!(command(&"x".repeat(MAX_COMMAND + 1)).check().is_err());
        assert_eq!(command(&"x".repeat(MAX_COMMAND)).check(), Ok(()));
        for (length, taken) in [(MAX_KEY, true), (MAX_KEY + 1, false)] {
            let command = Command {
                key: Some("k".repeat(length)),
                ..command("true")
            };
            assert_eq!(command.check().is_ok(), taken, "{length}");
        }
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
            let command = Command {
                env: vec![(name.into(), value.into())],
                ..command("true")
            };
            assert!(command.check().is_err(), "{name:?}={value:?}");
        }
    }

    #[test]
    fn another_trace_does_not_make_another_command() {
        let traced = Command {
            trace: vec![("TRACEPARENT".into(), "00-1".into())],
            ..command("true")
        };
        assert_eq!(traced.digest(), command("true").digest());
        let bounded = Command {
            timeout: Some(Duration::from_secs(1)),
            ..command("true")
        };
        assert_eq!(bounded.digest(), command("true").digest());
        let own = Command {
            env: traced.trace.clone(),
            ..command("true")
        };
        assert_ne!(own.digest(), traced.digest());
        let confined = Command {
            sandbox: Narrower {
                mode: Some(toolhost_sandbox::Mode::ReadOnly),
                network: None,
            },
            ..command("true")
        };
        assert_ne!(confined.digest(), command("true").digest());
    }

    #[test]
    fn a_key_that_is_a_uuid_names_the_process() {
        const ID: &str = "11111111-2222-4333-8444-aaaaaaaaaaaa";
        for (key, id) in [
            (None, None),
            (Some("call_1"), None),
            (Some(ID), Some(ID)),
            (Some("11111111-2222-4333-8444-AAAAAAAAAAAA"), None),
            (Some("11111111222243338444aaaaaaaaaaaa"), None),
        ] {
            let command = Command {
                key: key.map(str::to_owned),
                ..command("true")
            };
            assert_eq!(command.id(), id);
        }
    }
}
