//! Memory: a flood of output goes through a host without staying in it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;

use super::Measured;

/// The most that the host may grow, in KiB: a sixteenth of the flood. Some 5 MiB are what the allocator keeps free, and differ from run to
/// run.
const MOST: i64 = 32 * 1024;

/// Ends the thread that watches, also when the flood fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// 512 MiB here, since a debug build takes its time; `cargo bench --bench growth` floods it with 1 GiB.
///
/// What is measured: the anonymous memory of `toolhost serve` after three floods of 64 MiB, and the most of it that a thread sees during
/// the long one. The first floods leave the allocator with some 8 MiB that it keeps, however long they are. The pages of files are left
/// out: the server unmaps those of its program a second after the start.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_output_does_not_stay_in_the_host() {
    const SIZE: u64 = 512 << 20;
    let host = Measured::start();
    for _ in 0..3 {
        let flood = format!("yes | head -c {}", 64 << 20);
        host.run_in_background(&flood).await;
    }
    let before = host.status("RssAnon");
    let flood = format!("yes | head -c {SIZE}");
    let flood = host.run_in_background(&flood);
    let has_ended = AtomicBool::new(false);
    let (reply, peak) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most = before;
            while !has_ended.load(Ordering::Relaxed) {
                most = most.max(host.status("RssAnon"));
                std::thread::yield_now();
            }
            most
        });
        let ending = Ending(&has_ended);
        let reply = tokio::task::block_in_place(|| Handle::current().block_on(flood));
        drop(ending);
        (reply, watching.join().unwrap())
    });
    assert_eq!(reply["truncated"]["original_bytes"], SIZE, "{reply}");
    println!("before {before} KiB, peak {peak} KiB");
    assert!(peak - before < MOST, "{before} KiB became {peak} KiB");
}
