//! The messages between host, spawner and supervisors. Both ends are the same program, or nearly: the version tells.
//!
//! Messages are frames of fixed size on stream sockets. The command with its environment has no fixed size. It travels in a
//! memory file whose descriptor is attached to the frame. It is never in an argument list, where every process of the machine
//! could read it.

use std::ffi::CString;
use std::io;

use super::terms::{Key, Terms};
use toolhost_workspace::process::Size;

/// The version of everything in this file.
pub(super) const VERSION: u8 = 12;

/// The size of a frame in bytes: version, kind, two that are zero, and two numbers.
pub(super) const FRAME: usize = 12;

/// A message from one process to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Spawner to host: ready. The spawner of a chat attaches what it found in its namespaces, and after that the socket on which its first
    /// supervisor gets commands, if there is one.
    Ready,
    /// Host to spawner: start the spawner of a chat, in namespaces of its own. Attached are its socket, the view, the namespaces of the
    /// layers if they are copies of those (`layered`), and the socket on which others get them if that is set (`lets_join`).
    Enter { layered: bool, lets_join: bool },
    /// Host to spawner: make mounts over layers. Attached are the socket of the process that does so, the mounts, and the namespaces of
    /// earlier ones if the process has to join those. When it is ready, it attaches its namespaces, and ends.
    Mount { joins: bool },
    /// Spawner to host, on the socket of the spawner of a chat: this is the process id of the latter.
    Entered { spawner: i32 },
    /// Host to a supervisor, or to the spawner, which starts a supervisor for it: start a command. Attached are the control socket of the
    /// command, the request, the output, standard input, the cgroup if `cgroup` is
    /// set, the ruleset of the sandbox if `ruleset` is set, the descriptors of a kept command if `kept` is set, the write end of its
    /// standard input if `fed` is set as well, and the namespaces of the layers of its home if `layered` is.
    Start {
        cgroup: bool,
        ruleset: bool,
        kept: bool,
        fed: bool,
        layered: bool,
    },
    /// Host to spawner: make an unconnected TCP socket, of IPv6 or IPv4. Attached is the socket on which the answer comes: ready, with the
    /// TCP socket attached, or failed.
    Connect { v6: bool },
    /// Host to spawner: its commands are kept, so it has to outlive the host for as long as they do.
    Keep,
    /// Spawner to host: a supervisor waits for a command. Attached is the socket on which it gets commands.
    Spare,
    /// Spawner to host, on the control socket: the start is accepted and under way. Attached is the socket on which the supervisor gets
    /// further commands, if there is one.
    Accepted,
    /// Supervisor to host: the shell runs.
    Started { supervisor: i32, shell: i32 },
    /// Supervisor to host: the CPU time of its earlier commands.
    Waited { micros: u64 },
    /// Spawner or supervisor to host: the shell could not be started, because of this error of the system. From the spawner of a
    /// chat: it could not enter its namespaces, for the reason that follows as text until the end of the stream.
    Failed { errno: i32 },
    /// Supervisor to host: the shell exited with this code.
    Exited { code: i32 },
    /// Supervisor to host: this signal ended the shell.
    Signalled { signal: i32 },
    /// Supervisor to host, before [`Frame::Gone`]: the supervisor can have no other command.
    Last,
    /// Supervisor to host: no process of the command is left.
    Gone,
    /// Host to supervisor: send this signal to every process.
    Signal { signal: i32 },
    /// Host to supervisor: kill until no process is left.
    Kill,
    /// Supervisor to host: the killing is under way.
    Killing,
    /// Host to supervisor: close the write end of standard input.
    CloseInput,
}

impl Frame {
    pub(super) fn encode(self) -> [u8; FRAME] {
        let (kind, first, second) = match self {
            Self::Ready => (1, 0, 0),
            Self::Start {
                cgroup,
                ruleset,
                kept,
                fed,
                layered,
            } => (
                2,
                i32::from(cgroup),
                i32::from(ruleset)
                    | i32::from(kept) << 1
                    | i32::from(fed) << 2
                    | i32::from(layered) << 3,
            ),
            Self::Started { supervisor, shell } => (3, supervisor, shell),
            Self::Failed { errno } => (4, errno, 0),
            Self::Exited { code } => (5, code, 0),
            Self::Signalled { signal } => (6, signal, 0),
            Self::Gone => (7, 0, 0),
            Self::Signal { signal } => (8, signal, 0),
            Self::Kill => (9, 0, 0),
            Self::Accepted => (10, 0, 0),
            Self::Killing => (11, 0, 0),
            Self::Enter { layered, lets_join } => (12, layered.into(), lets_join.into()),
            Self::Entered { spawner } => (13, spawner, 0),
            Self::Spare => (14, 0, 0),
            Self::Waited { micros } => {
                let [a, b, c, d, rest @ ..] = micros.to_le_bytes();
                let first = i32::from_le_bytes([a, b, c, d]);
                (15, first, i32::from_le_bytes(rest))
            }
            Self::Last => (16, 0, 0),
            Self::Keep => (17, 0, 0),
            Self::Mount { joins } => (18, joins.into(), 0),
            Self::CloseInput => (19, 0, 0),
            Self::Connect { v6 } => (20, v6.into(), 0),
        };
        let mut frame = [0; FRAME];
        let head = [VERSION, kind, 0, 0].into_iter();
        let numbers = first.to_le_bytes().into_iter().chain(second.to_le_bytes());
        for (place, byte) in frame.iter_mut().zip(head.chain(numbers)) {
            *place = byte;
        }
        frame
    }

    pub(super) fn decode(frame: [u8; FRAME]) -> io::Result<Self> {
        let [version, kind, _, _, numbers @ ..] = frame;
        if version != VERSION {
            return Err(invalid("another version of Toolhost is at the other end"));
        }
        let [a, b, c, d, rest @ ..] = numbers;
        let (first, second) = (i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes(rest));
        Ok(match kind {
            1 => Self::Ready,
            2 => Self::Start {
                cgroup: first != 0,
                ruleset: second & 1 != 0,
                kept: second & 2 != 0,
                fed: second & 4 != 0,
                layered: second & 8 != 0,
            },
            3 => Self::Started {
                supervisor: first,
                shell: second,
            },
            4 => Self::Failed { errno: first },
            5 => Self::Exited { code: first },
            6 => Self::Signalled { signal: first },
            7 => Self::Gone,
            8 => Self::Signal { signal: first },
            9 => Self::Kill,
            10 => Self::Accepted,
            11 => Self::Killing,
            12 => Self::Enter {
                layered: first != 0,
                lets_join: second != 0,
            },
            13 => Self::Entered { spawner: first },
            14 => Self::Spare,
            15 => Self::Waited {
                micros: u64::from_le_bytes(numbers),
            },
            16 => Self::Last,
            17 => Self::Keep,
            18 => Self::Mount { joins: first != 0 },
            19 => Self::CloseInput,
            20 => Self::Connect { v6: first != 0 },
            _ => return Err(invalid("a message of an unknown kind")),
        })
    }
}

/// Reassembles frames from the pieces that a stream delivers.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pending: Vec<u8>,
}

impl Frames {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Makes a frame the next one again.
    pub(super) fn put_back(&mut self, frame: Frame) {
        self.pending.splice(0..0, frame.encode());
    }

    /// Returns the next whole frame, if there is one.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame>> {
        let Some(frame) = self.pending.first_chunk::<FRAME>().copied() else {
            return Ok(None);
        };
        self.pending.drain(..FRAME);
        Frame::decode(frame).map(Some)
    }
}

/// The command that a supervisor must run, with the texts as an exec takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// The absolute path of the shell.
    pub(super) shell: CString,
    pub(super) command: CString,
    /// The absolute directory to run in.
    pub(super) workdir: CString,
    /// The number added to the niceness.
    pub(super) nice: i32,
    /// The new value of `oom_score_adj`, unless it is higher already.
    pub(super) oom_score_adj: i32,
    /// The size of its terminal; `None` if it has none. Then the standard input that is attached is a socket on which the host gets the
    /// terminal.
    pub(super) terminal: Option<Size>,
    /// How the command is kept when its host is gone; `None` if it ends then.
    pub(super) kept: Option<Terms>,
    /// The recipe of the sandbox, without its ruleset.
    pub(super) sandbox: Vec<u8>,
    /// Each variable as `NAME=VALUE`.
    pub(super) env: Vec<CString>,
}

impl Request {
    pub(super) fn encode(&self) -> Vec<u8> {
        let length = u32::try_from(self.sandbox.len()).unwrap_or(u32::MAX);
        let mut bytes = [self.nice.to_le_bytes(), self.oom_score_adj.to_le_bytes()].concat();
        let kept = self.kept.unwrap_or_default();
        let (rows, columns) = self
            .terminal
            .map_or((0, 0), |size| (size.rows, size.columns));
        bytes.extend([rows.to_le_bytes(), columns.to_le_bytes()].concat());
        bytes.extend(kept.seconds.to_le_bytes());
        bytes.extend(kept.saved.to_le_bytes());
        bytes.extend(kept.key.0);
        bytes.extend(length.to_le_bytes());
        bytes.extend(&self.sandbox);
        let texts = [&self.shell, &self.command, &self.workdir];
        for text in texts.into_iter().chain(&self.env) {
            bytes.extend(text.to_bytes_with_nul());
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> io::Result<Self> {
        let short = || invalid("a request that ends too early");
        let (nice, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let (oom_score_adj, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let (rows, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let (columns, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let terminal = Size {
            rows: u16::from_le_bytes(*rows),
            columns: u16::from_le_bytes(*columns),
        };
        let (seconds, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let (saved, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let (key, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let kept = Terms {
            seconds: u32::from_le_bytes(*seconds),
            saved: u64::from_le_bytes(*saved),
            key: Key(*key),
        };
        let (length, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (sandbox, bytes) = bytes.split_at_checked(length).ok_or_else(short)?;
        let texts = bytes.split_inclusive(|byte| *byte == 0);
        let mut texts =
            texts.map(|text| CString::from_vec_with_nul(text.to_vec()).map_err(|_| short()));
        let mut text = || texts.next().ok_or_else(short)?;
        Ok(Self {
            shell: text()?,
            command: text()?,
            workdir: text()?,
            nice: i32::from_le_bytes(*nice),
            oom_score_adj: i32::from_le_bytes(*oom_score_adj),
            terminal: (terminal.rows > 0).then_some(terminal),
            kept: (kept.seconds > 0).then_some(kept),
            sandbox: sandbox.to_vec(),
            env: texts.collect::<io::Result<_>>()?,
        })
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_read_back_however_they_are_cut() {
        let sent = [
            Frame::Ready,
            Frame::Start {
                cgroup: true,
                ruleset: true,
                kept: false,
                fed: false,
                layered: false,
            },
            Frame::Start {
                cgroup: false,
                ruleset: false,
                kept: true,
                fed: true,
                layered: true,
            },
            Frame::Keep,
            Frame::Started {
                supervisor: 7,
                shell: i32::MAX,
            },
            Frame::Failed { errno: 2 },
            Frame::Exited { code: -1 },
            Frame::Signalled { signal: 9 },
            Frame::Last,
            Frame::Gone,
            Frame::Signal { signal: 15 },
            Frame::Kill,
            Frame::Accepted,
            Frame::Killing,
            Frame::Enter {
                layered: true,
                lets_join: false,
            },
            Frame::Mount { joins: true },
            Frame::Entered { spawner: 5 },
            Frame::Spare,
            Frame::Waited {
                micros: u64::MAX - 6,
            },
            Frame::CloseInput,
            Frame::Connect { v6: true },
            Frame::Connect { v6: false },
        ];
        let bytes: Vec<u8> = sent.into_iter().flat_map(Frame::encode).collect();
        for size in 1..bytes.len() {
            let mut frames = Frames::default();
            let mut read = Vec::new();
            for piece in bytes.chunks(size) {
                frames.push(piece);
                while let Some(frame) = frames.next().unwrap() {
                    read.push(frame);
                }
            }
            assert_eq!(read, sent);
        }
    }

    #[test]
    fn another_version_is_an_error() {
        let mut frame = Frame::Gone.encode();
        frame[0] = VERSION + 1;
        assert!(Frame::decode(frame).is_err());
        assert!(Frame::decode([200; FRAME]).is_err());
    }

    proptest! {
        #[test]
        fn requests_read_back(command in "[^\0]{0,300}", env in prop::collection::vec("[^\0]{0,50}", 0..9), sandbox: Vec<u8>, nice: i32, rows: u16, seconds: u32, saved: u64) {
            let kept = Terms { seconds, saved, key: Key([3; _]) };
            let request = Request {
                shell: c"/bin/sh".into(),
                command: CString::new(command).unwrap(),
                workdir: c"/".into(),
                env: env.into_iter().map(|variable| CString::new(variable).unwrap()).collect(),
                nice,
                oom_score_adj: 500,
                terminal: (rows > 0).then_some(Size { rows, columns: 80 }),
                kept: (seconds > 0).then_some(kept),
                sandbox,
            };
            prop_assert_eq!(Request::decode(&request.encode()).unwrap(), request);
        }

        #[test]
        fn any_bytes_are_a_request_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            _ = Request::decode(&bytes);
        }
    }
}
