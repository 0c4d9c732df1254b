//! Reads by cursors while connections are cut.

use super::*;

/// Numbers that look random, and are the same in each run.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

fn lines(count: u64) -> Vec<u8> {
    let lines: String = (1..=count).map(|number| format!("{number}\n")).collect();
    lines.into_bytes()
}

#[tokio::test]
async fn an_output_is_whole_through_cuts_at_any_byte() {
    for seed in [1, 2, 3] {
        let far = Far::new().await;
        let id = far.start("seq 1 30000").await;
        far.ended(&id).await;
        let cuts = numbers(seed).map(|number| number as usize % 20_000);
        far.proxy.cut_next(cuts.take(40));
        far.proxy.cut();
        let read = far.read_all(&id, 5_000).await;
        assert!(read == lines(30_000), "seed {seed}");
    }
}

#[tokio::test]
async fn a_running_output_is_whole_through_cuts() {
    let far = Far::new().await;
    let id = far
        .start("i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.005; done")
        .await;
    let cuts = numbers(4).map(|number| 300 + number as usize % 3_000);
    far.proxy.cut_next(cuts.take(60));
    far.proxy.cut();
    let (mut all, owner) = (Vec::new(), chat("a"));
    loop {
        let since = all.len() as u64;
        let more = WaitOptions {
            output: true,
            since,
            ..WaitOptions::default()
        };
        let waited = far.wait(&id, more).await.unwrap();
        let read = far.workspace.read(Some(&owner), &id, since, 1000).await;
        let chunk = read.unwrap();
        assert_eq!(chunk.offset, since);
        all.extend(chunk.data);
        if waited.wake == Wake::Ended && all.len() as u64 == waited.total {
            break;
        }
    }
    assert!(all == lines(300));
    assert!(far.proxy.connections() > 10, "connections were cut");
}

#[tokio::test]
async fn files_are_read_whole_through_cuts() {
    let far = Far::new().await;
    let bytes = lines(20_000);
    std::fs::write(far.root.path().join("file"), &bytes).unwrap();
    far.proxy
        .cut_next(numbers(5).map(|number| number as usize % 15_000).take(30));
    far.proxy.cut();
    let mut all = Vec::new();
    while all.len() < bytes.len() {
        let read = far
            .workspace
            .read_file("file".into(), all.len() as u64, 4_000, Arc::default());
        all.extend(read.await.unwrap().data);
    }
    assert!(all == bytes);
}
