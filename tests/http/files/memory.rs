//! Large files, in a server that has little memory for them.

use crate::harness::serving::{self, Serving};

use super::*;

/// How large the file is, in MiB.
const SIZE: u64 = 256;

/// How much more memory the server may use at most while the file goes up and down, in bytes.
const MORE: u64 = 64 << 20;

/// Returns the most memory that a process has used so far, in bytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse::<u64>().unwrap() << 10
}

#[tokio::test]
async fn a_large_file_takes_little_memory() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = serving::server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let server = Serving::start(command);
    let address = "/v1/chats/a/files/large";
    let piece = bytes::Bytes::from(super::bytes(1 << 20));
    // The memory that any request takes does not count.
    let small = server.request(Method::PUT, "/v1/chats/a/files/small");
    let small = small.body(piece.clone()).send().await.unwrap();
    assert_eq!(small.status(), 201);
    let before = peak(server.child.id());
    let up = server.request(Method::PUT, address);
    let up = up.body(pieces(piece.clone(), SIZE)).send().await.unwrap();
    assert_eq!(up.status(), 201);
    let mut sent = blake3::Hasher::new();
    for _ in 0..SIZE {
        sent.update(&piece);
    }
    let down = server.request(Method::GET, address).send().await;
    let mut down = down.unwrap();
    assert_eq!(down.content_length(), Some(SIZE << 20));
    let mut received = blake3::Hasher::new();
    while let Some(chunk) = down.chunk().await.unwrap() {
        received.update(&chunk);
    }
    assert_eq!(received.finalize(), sent.finalize());
    let archive = server.request(Method::GET, "/v1/chats/a/files?archive=tar");
    let mut archive = archive.send().await.unwrap();
    let mut size = 0;
    while let Some(chunk) = archive.chunk().await.unwrap() {
        size += chunk.len() as u64;
    }
    assert!(size > SIZE << 20, "{size}");
    let more = peak(server.child.id()) - before;
    assert!(more < MORE, "{more} bytes more");
}
