//! Commands of which the host hears that they did not start: none of them has run.

use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use toolhost_sandbox::{Mode, Places, Policy, Sandbox, Support};

use crate::harness::program;

/// A message of the spawner: its version, its kind, and two numbers.
type Frame = [u8; 12];

const READY: u8 = 1;
const START: u8 = 2;
const FAILED: u8 = 4;
const ACCEPTED: u8 = 10;

/// The version of the messages.
const VERSION: u8 = 12;

/// Returns the kind of the next message; `None` at the end.
fn kind(socket: &mut UnixStream) -> Option<u8> {
    let mut frame = Frame::default();
    socket.read_exact(&mut frame).ok()?;
    Some(frame[1])
}

/// The request of a command in this directory, as the host sends it.
fn request(command: &str, directory: &str) -> File {
    let off = Policy {
        mode: Mode::Off,
        ..Policy::default()
    };
    let sandbox = Sandbox::prepare(&off, &Places::default(), &Support::detect(), None).unwrap();
    let sandbox = sandbox.encode();
    // Niceness, score, no terminal, and the terms of a command that is not kept.
    let mut bytes = vec![0; 4 + 4 + 4 + 4 + 8 + 32];
    bytes.extend(u32::try_from(sandbox.len()).unwrap().to_le_bytes());
    bytes.extend(sandbox);
    for text in ["/bin/sh", command, directory] {
        bytes.extend(text.as_bytes());
        bytes.push(0);
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file
}

/// The cgroup of a command can lack what ends all of it at once. The command does not run then, and the host hears that.
#[test]
fn a_command_without_a_way_to_end_its_cgroup_does_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let (mut host, theirs) = UnixStream::pair().unwrap();
    let mut spawner = Command::new(program())
        .arg("spawner")
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(kind(&mut host), Some(READY));
    // It can be opened for reading alone.
    let cgroup = directory.path().join("cgroup");
    std::fs::create_dir_all(cgroup.join("cgroup.kill")).unwrap();
    let request = request("echo > ran", directory.path().to_str().unwrap());
    let (mut control, theirs) = UnixStream::pair().unwrap();
    let (_output, writer) = std::io::pipe().unwrap();
    let attached = [
        OwnedFd::from(theirs),
        request.into(),
        writer.into(),
        File::open("/dev/null").unwrap().into(),
        File::open(&cgroup).unwrap().into(),
    ];
    let raw: Vec<_> = attached.iter().map(AsRawFd::as_raw_fd).collect();
    let start: Frame = [VERSION, START, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let rights = [ControlMessage::ScmRights(&raw)];
    let data = [IoSlice::new(&start)];
    sendmsg::<()>(host.as_raw_fd(), &data, &rights, MsgFlags::empty(), None).unwrap();
    drop(attached);
    assert_eq!(kind(&mut control), Some(ACCEPTED));
    assert_eq!(kind(&mut control), Some(FAILED));
    // It ends when nothing is left of its commands.
    drop((host, control));
    spawner.wait().unwrap();
    assert!(!directory.path().join("ran").exists());
}
