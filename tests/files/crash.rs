//! Hosts that are killed while they write.

use std::collections::BTreeSet;

use super::*;
use crate::harness::{state_dir, with_code};
use crate::resources::Measured;

/// How many writes are begun in all.
const WRITES: usize = 500;

/// How many of them are under way at once.
const AT_ONCE: usize = 4;

fn content(number: usize) -> String {
    // Larger than a page, and with its number at both ends.
    format!("{number} {} {number}\n", "x".repeat(100_000))
}

/// Half a file would be too short, or end with another number than it begins with.
fn assert_whole(path: &std::path::Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let number = text.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(text, content(number), "{}", path.display());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_leaves_no_half_file_and_no_temporary_one() {
    let state = with_code(state_dir().join("killed-while-writing"), None);
    let mut workspace = tempfile::tempdir().unwrap();
    let root = workspace.path().to_path_buf();
    for name in ["a", "b", "c", "d"] {
        std::fs::write(root.join(name), content(0)).unwrap();
    }
    let (mut begun, mut kills, mut left) = (0, 0, 0);
    let mut random = std::hash::RandomState::new();
    while begun < WRITES {
        let mut host = Measured::start_in(workspace, &state);
        // Whatever the one before left is gone by the time that this one serves.
        let names_now = names(&root);
        assert_eq!(names_now, ["a", "b", "c", "d"]);
        let end = begun + 10 + usize::try_from(pick(&mut random) % 60).unwrap();
        let writes = (begun..end).collect::<Vec<_>>();
        begun = end;
        let kill_after = std::time::Duration::from_micros(pick(&mut random) % 60_000);
        let pid = nix::unistd::Pid::from_raw(i32::try_from(host.child.id()).unwrap());
        let writing = futures_util::future::join_all((0..AT_ONCE).map(|lane| {
            let (host, writes) = (&host, &writes);
            async move {
                for number in writes.iter().skip(lane).step_by(AT_ONCE) {
                    let path = ["a", "b", "c", "d"][number % 4];
                    let arguments = json!({ "path": path, "content": content(*number) });
                    if !host.try_call("write_file", arguments).await {
                        return;
                    }
                }
            }
        }));
        // The moment is random, and nothing here depends on which it is.
        let killing = async {
            tokio::time::sleep(kill_after).await;
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        };
        tokio::join!(writing, killing);
        host.child.wait().unwrap();
        kills += 1;
        workspace = host.workspace.take().unwrap();
        drop(host);
        let there: BTreeSet<_> = names(&root).into_iter().collect();
        left += there.len() - 4;
        for name in ["a", "b", "c", "d"] {
            assert_whole(&root.join(name));
        }
    }
    let host = Measured::start_in(workspace, &state);
    assert_eq!(names(&root), ["a", "b", "c", "d"]);
    println!("{kills} kills in {begun} writes, which left {left} temporary files");
    drop(host);
}

fn pick(random: &mut std::hash::RandomState) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let number = random.build_hasher().finish();
    *random = std::hash::RandomState::new();
    number
}
