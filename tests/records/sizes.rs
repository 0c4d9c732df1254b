//! Outputs of every size around the limits: counts add up, and the start and the end are the true ones.

use proptest::prelude::*;
use serde_json::json;
use toolhost_view::CAP;
use toolhost_workspace::process::{Saved, WINDOW};

use super::{TestRegistry, cases, read_all};
use crate::harness;

/// Sizes from nothing to 80 KiB, every other one within a few bytes of where something changes.
fn size() -> impl Strategy<Value = usize> {
    let limits = prop::sample::select(vec![0, CAP, WINDOW, 2 * WINDOW, 80 << 10]);
    prop_oneof![
        0..=80_usize << 10,
        (limits, 0_usize..9).prop_map(|(limit, off)| (limit + off).saturating_sub(4)),
    ]
}

/// Bytes of one seed: any, or characters of one to four bytes each, cut where the size says.
fn content(mut seed: u64, size: usize, text: bool) -> Vec<u8> {
    let mut next = move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut bytes = Vec::new();
    while bytes.len() < size {
        if text {
            let characters = ['a', 'z', ' ', '\n', 'é', 'ß', '€', '☃', '😀', '𝄞'];
            let character = characters[usize::try_from(next()).unwrap() % characters.len()];
            bytes.extend(character.to_string().bytes());
        } else {
            bytes.extend(next().to_le_bytes().iter().take(3));
        }
    }
    bytes.truncate(size);
    bytes
}

proptest! {
    #![proptest_config(cases(64))]
    #[test]
    fn both_ends_and_every_byte_between_are_the_true_ones(
        outputs in prop::collection::vec((any::<u64>(), size(), any::<bool>()), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let setup = TestRegistry::with(|config| config);
            for (seed, size, text) in outputs {
                let bytes = content(seed, size, text);
                setup.write("file", &bytes);
                let process = setup.run("cat file").await;
                let snapshot = process.snapshot().await;
                prop_assert_eq!(snapshot.total, size as u64);
                prop_assert_eq!(&snapshot.saved, &Saved::Complete);
                let (head, tail) = (size.min(WINDOW), size.saturating_sub(WINDOW).min(WINDOW));
                prop_assert_eq!((snapshot.head.len(), snapshot.tail.len()), (head, tail));
                prop_assert!(bytes.starts_with(&snapshot.head) && bytes.ends_with(&snapshot.tail));
                prop_assert!(read_all(&process).await == bytes);
                prop_assert_eq!(process.info().total, size as u64);
            }
            setup.registry.shutdown().await;
            Ok(())
        })?;
    }
}

/// What a model is shown is cut by the same counts.
#[tokio::test]
async fn a_reply_counts_what_it_leaves_out() {
    let setup = harness::Setup::new().await;
    for (seed, size) in [
        0,
        1,
        CAP - 1,
        CAP,
        CAP + 1,
        2 * WINDOW,
        2 * WINDOW + 1,
        80 << 10,
    ]
    .into_iter()
    .enumerate()
    {
        let bytes = content(seed as u64, size, true);
        // A character that the end cuts in two is shown as another, and is not what this is about.
        let text = String::from_utf8_lossy(&bytes).replace('\u{fffd}', "");
        std::fs::write(setup.root().join("file"), &text).unwrap();
        let reply = setup.execute("cat file").await;
        let output = reply["output"].as_str().unwrap_or_default();
        let Some(truncated) = reply.get("truncated").filter(|one| !one.is_null()) else {
            assert_eq!(output.trim_end(), text.trim_end(), "{size}");
            continue;
        };
        let count = |name: &str| truncated[name].as_u64().unwrap();
        assert_eq!(count("original_bytes"), text.len() as u64);
        assert_eq!(
            count("retained_bytes") + count("omitted_bytes"),
            count("original_bytes")
        );
        assert_eq!(truncated["saved"], json!(true));
        let marker = format!("\n\n... [omitted {} bytes] ...\n\n", count("omitted_bytes"));
        let (head, tail) = output.split_once(&marker).unwrap();
        assert!(
            text.starts_with(head) && text.trim_end().ends_with(tail.trim_end()),
            "{size}"
        );
        assert!(text.len() > CAP && output.len() <= CAP);
    }
}
