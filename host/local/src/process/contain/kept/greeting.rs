//! The first messages between a host and the supervisor of a kept command. Their form is the same in all versions.

use std::io;

use crate::process::contain::terms::{KEY, Key};
use crate::process::contain::wire::VERSION;

/// The beginning of each message.
const MAGIC: [u8; 4] = *b"kept";

/// Host to supervisor: hand the command over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process::contain) struct Greeting {
    /// The version of [`wire`](crate::process::contain::wire) that the host speaks.
    pub(in crate::process::contain) version: u8,
    pub(in crate::process::contain) key: Key,
}

/// Supervisor to host: the answer to a greeting with the right secret. If both have the same version, the pipe, the spool, a descriptor
/// of the supervisor, the descriptors of the input, the namespaces of the layers, and the cgroup are attached, and [`Frame`](crate::process::contain::wire::Frame)s follow. Otherwise, the
/// supervisor ends its command, and then closes the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process::contain) struct Answer {
    pub(in crate::process::contain) version: u8,
    pub(in crate::process::contain) input: Attached,
    /// Whether the namespaces of the layers are attached.
    pub(in crate::process::contain) layered: bool,
}

/// The descriptors of the input in an [`Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process::contain) enum Attached {
    /// None.
    Nothing = 0,
    /// The write end of a pipe.
    Pipe = 1,
    /// The host's side of a terminal, and the write end of the pipe of the output.
    Terminal = 2,
}

impl Greeting {
    /// The size in bytes.
    pub(in crate::process::contain) const SIZE: usize = 8 + KEY;

    pub(in crate::process::contain) fn new(key: Key) -> Self {
        Self {
            version: VERSION,
            key,
        }
    }

    pub(in crate::process::contain) fn encode(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let head = MAGIC.into_iter().chain([self.version, 0, 0, 0]);
        for (place, byte) in bytes.iter_mut().zip(head.chain(self.key.0)) {
            *place = byte;
        }
        bytes
    }

    pub(in crate::process::contain) fn decode(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let ([head @ .., _, _, _], key) = bytes.split_first_chunk::<8>()?;
        let key = Key(*key.first_chunk()?);
        let version = version(*head)?;
        Some(Self { version, key })
    }
}

impl Answer {
    /// The size in bytes.
    pub(in crate::process::contain) const SIZE: usize = 8;

    pub(in crate::process::contain) fn encode(self) -> [u8; Self::SIZE] {
        let [a, b, c, d] = MAGIC;
        [
            a,
            b,
            c,
            d,
            self.version,
            self.input as u8,
            self.layered.into(),
            0,
        ]
    }

    pub(in crate::process::contain) fn decode(bytes: [u8; Self::SIZE]) -> io::Result<Self> {
        let [head @ .., input, layered, _] = bytes;
        let version = version(head).ok_or(io::ErrorKind::InvalidData)?;
        let input = match input {
            1 => Attached::Pipe,
            2 => Attached::Terminal,
            _ => Attached::Nothing,
        };
        Ok(Self {
            version,
            input,
            layered: layered != 0,
        })
    }
}

fn version(head: [u8; 5]) -> Option<u8> {
    let [magic @ .., version] = head;
    (magic == MAGIC).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_back_in_any_version() {
        for version in [0, VERSION, 255] {
            let greeting = Greeting {
                version,
                key: Key([7; KEY]),
            };
            assert_eq!(Greeting::decode(&greeting.encode()), Some(greeting));
            for input in [Attached::Nothing, Attached::Pipe, Attached::Terminal] {
                let answer = Answer {
                    version,
                    input,
                    layered: input == Attached::Pipe,
                };
                assert_eq!(Answer::decode(answer.encode()).unwrap(), answer);
            }
        }
        assert_eq!(Greeting::decode(&[0; Greeting::SIZE]), None);
        Answer::decode([1; Answer::SIZE]).unwrap_err();
    }
}
