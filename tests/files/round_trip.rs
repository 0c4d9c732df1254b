//! Edits of any file change what they name and no other byte.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::harness::elsewhere;

/// How many files are edited, and how many through an agent.
const CASES: usize = 150;
const CASES_ELSEWHERE: usize = 30;

/// Pieces of which files are made: line ends of all kinds, bytes that are no text, and lines of a megabyte.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-z ]{0,20}".prop_map(String::into_bytes),
        2 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\t".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => prop::collection::vec(128_u8.., 1..8),
        1 => "[äöß日本]{1,8}".prop_map(String::into_bytes),
        1 => Just("\u{feff}".into()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_changed() {
    let setup = Setup::new().await;
    let mut runner = TestRunner::default();
    let side = || prop::collection::vec(piece(), 0..30).prop_map(|pieces| pieces.concat());
    let ends = (side(), side(), any::<bool>(), any::<bool>());
    let mut edited = 0;
    let cases = if elsewhere::is_elsewhere() {
        CASES_ELSEWHERE
    } else {
        CASES
    };
    for case in 0..cases {
        let (mut before, after, bom, long) = ends.new_tree(&mut runner).unwrap().current();
        if bom {
            before.splice(..0, *b"\xef\xbb\xbf");
        }
        if long && case % 10 == 0 {
            before.extend(vec![b'y'; 1_000_000]);
        }
        let file = [before.as_slice(), b"NEEDLE", &after].concat();
        setup.make("file", &file);
        if let Err(refused) = setup.edit("file", "NEEDLE", "THREAD").await {
            // Bytes that are text in no encoding, or only in one that does not give them back.
            assert!(
                ["binary", "would change", "not found", "are not; if it"]
                    .iter()
                    .any(|why| refused.contains(why)),
                "{refused}"
            );
            assert!(setup.content("file") == file, "{}", shown(&before));
            continue;
        }
        edited += 1;
        let expected = [before.as_slice(), b"THREAD", &after].concat();
        assert_eq!(
            setup.content("file"),
            expected,
            "{:?}",
            String::from_utf8_lossy(&file)
        );
        // There and back, unless the other letter makes these bytes look like another encoding.
        if setup.edit("file", "THREAD", "NEEDLE").await.is_ok() {
            assert!(setup.content("file") == file, "{}", shown(&before));
        }
    }
    println!("{edited} of {cases} files were edited");
    assert!(edited > cases / 5, "{edited}");
    // What is text comes back as it was written.
    for (index, text) in [
        "",
        "\n",
        "a",
        "a\r\nb\r\n",
        "a\r\nb",
        "\u{feff}a\n",
        "\r",
        "ä\u{2028}\n",
        &"z".repeat(900_000),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("text-{index}");
        setup.write(&name, text).await.unwrap();
        assert_eq!(setup.content(&name), text.as_bytes());
    }
    setup.host.shutdown().await;
}

/// The start of a file, as it is written in a test.
fn shown(content: &[u8]) -> String {
    content
        .iter()
        .take(1000)
        .copied()
        .collect::<Vec<_>>()
        .escape_ascii()
        .to_string()
}
