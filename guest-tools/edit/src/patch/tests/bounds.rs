//! Patches that are hostile or too large.

use super::*;

#[test]
fn hostile_patches_are_refused_in_time() {
    let many = |line: &str| line.repeat(200_000);
    for patch in [
        format!("diff --git {}", many("a ")),
        format!(
            "*** Begin Patch\n{}*** End Patch",
            many("*** Delete File: f\n")
        ),
        format!(
            "*** Begin Patch\n*** Update File: f\n@@\n{}-x\n*** End Patch",
            many("\n")
        ),
        format!(
            "*** Begin Patch\n*** Update File: f\n{}*** End Patch",
            many("@@ a\n")
        ),
        format!(
            "--- f\n+++ f\n{}",
            many("@@ -1,999999999 +1,999999999 @@\n a\n")
        ),
        format!(
            "--- f\n+++ f\n@@ -1,999999999 +1,999999999 @@\n{}",
            many("--- f\n")
        ),
        format!("--- f\n+++ f\n@@ -{0} +{0} @@\n-b\n+c\n", usize::MAX),
    ] {
        let mut files = fake(&[("f", "a\n".repeat(1000).as_str())]);
        let before = files.clone();
        assert!(apply_to(&mut files, &patch).is_err());
        assert_eq!(files, before);
    }
    let mut files = fake(&[("f", &"a".repeat(1 << 19))]);
    let section = "*** Update File: f\n*** Move to: f\n";
    let text = apply_to(
        &mut files,
        &format!("*** Begin Patch\n{}*** End Patch", section.repeat(900)),
    );
    assert!(
        text.unwrap_err()
            .starts_with("the files together are too large")
    );
}

#[test]
fn what_is_written_and_what_is_held_is_bounded() {
    let apply_most = |files: &mut Fake, most: usize, sections: &str| {
        let patch = format!("*** Begin Patch\n{sections}*** End Patch");
        apply(&patch, None, most, files).map_err(|failure| match failure {
            Failure::Problems(problems) => problems[0].to_string(),
            Failure::Write(text) => text,
        })
    };
    let of = |data: &[u8], count: usize| Fake {
        files: (0..count)
            .map(|index| (format!("/{index}"), data.to_vec()))
            .collect(),
        ..Fake::default()
    };
    let sections = |count: usize, section: &str| -> String {
        (0..count)
            .map(|index| section.replace('#', &index.to_string()))
            .collect()
    };
    let moved = "*** Update File: /#\n*** Move to: /new#\n";
    let changed = "*** Update File: /#\n@@\n-a\n+b\n";
    let deleted = "*** Delete File: /#\n";
    let binary = [&[0; 30_000][..], b"\xFF"].concat();
    let utf16: Vec<u8> = format!("\u{FEFF}a\n{}", "x".repeat(15_000))
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let text = format!("a\n{}", "x".repeat(30_000)).into_bytes();
    // Names count as well.
    let (written, held) = (
        "the files together are too large for one call, which writes 100000 bytes",
        "the files together are too large for the memory",
    );
    for (name, data, count, section, expected) in [
        ("binary files moved", &binary, 3, moved, None),
        ("more of them", &binary, 4, moved, Some(written)),
        ("UTF-16", &utf16, 3, changed, None),
        ("more of that", &utf16, 4, changed, Some(written)),
        ("text", &text, 3, changed, None),
        ("more text", &text, 4, changed, Some(written)),
        ("text deleted", &text, 8, deleted, None),
        ("binary files deleted", &binary, 8, deleted, None),
        ("too many deleted", &text, 40, deleted, Some(held)),
        (
            "too many binary files deleted",
            &binary,
            40,
            deleted,
            Some(held),
        ),
    ] {
        let mut files = of(data, count);
        let result = apply_most(&mut files, 100_000, &sections(count, section));
        match (result, expected) {
            (result, None) => assert!(result.is_ok(), "{name}: {result:?}"),
            (Ok(_), Some(_)) => panic!("{name}"),
            (Err(text), Some(expected)) => {
                assert!(
                    text.starts_with(expected) && text.ends_with("; patch fewer at once"),
                    "{name}: {text}"
                );
                assert_eq!(files, of(data, count), "{name}");
            }
        }
    }
    let long = format!("/{}#", "n".repeat(3000));
    let added = format!("*** Add File: {long}\n+x\n");
    let text = apply_most(&mut Fake::default(), 100_000, &sections(40, &added)).unwrap_err();
    assert!(text.starts_with(written), "{text}");
}
