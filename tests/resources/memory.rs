//! Memory: a flood of output goes through a host without staying in it.

use super::Measured;

/// The most that the host may grow, in KiB.
const MOST: i64 = 8 * 1024;

/// 512 MiB here, since a debug build takes its time; `cargo bench --bench processes` floods it with 4 GiB.
///
/// What is measured: the resident memory of `toolhost serve` after ten floods of 1 MiB, and the peak of it during one
/// flood, reset before where this user may (`clear_refs`), else since the start.
#[tokio::test]
async fn a_flood_of_output_does_not_stay_in_the_host() {
    const SIZE: u64 = 512 << 20;
    let host = Measured::start();
    for _ in 0..10 {
        host.run_in_background("yes | head -c 1048576").await;
    }
    let reset = std::fs::write(host.proc("clear_refs"), "5").is_ok();
    let before = host.status("VmRSS");
    let reply = host
        .run_in_background(&format!("yes | head -c {SIZE}"))
        .await;
    assert_eq!(reply["truncated"]["original_bytes"], SIZE, "{reply}");
    let (peak, after) = (host.status("VmHWM"), host.status("VmRSS"));
    println!("before {before} KiB, peak {peak} KiB (reset: {reset}), after {after} KiB");
    assert!(after - before < MOST, "{before} KiB became {after} KiB");
    assert!(
        !reset || peak - before < MOST,
        "{before} KiB became {peak} KiB at its peak"
    );
}
