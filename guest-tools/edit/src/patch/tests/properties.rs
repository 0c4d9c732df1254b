//! Properties of every patch.

use proptest::prelude::*;

use super::*;

/// The change that a hunk of a model makes to a file whose lines all differ.
#[derive(Clone, Debug)]
enum Deed {
    Insert(usize),
    Append,
    /// So many lines from one on, each of which stays or is replaced.
    Replace(usize, Vec<bool>),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        3 => (0..=12_usize).prop_map(Deed::Insert),
        1 => Just(Deed::Append),
        4 => (0..12_usize, prop::collection::vec(any::<bool>(), 1..4)).prop_map(|(start, signs)| Deed::Replace(start, signs)),
    ];
    (prop::collection::vec(deed, 1..6), any::<bool>()).prop_map(|(mut deeds, is_sorted)| {
        if is_sorted {
            deeds.sort_by_key(|deed| match deed {
                Deed::Insert(line) | Deed::Replace(line, _) => *line,
                Deed::Append => usize::MAX,
            });
        }
        deeds
    })
}

/// A text of a patch, of few different pieces, so that many are nearly right.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "*** Begin Patch\n",
        "*** End Patch",
        "*** Add File: f\n",
        "*** Update File: f\n",
        "*** Delete File: f\n",
        "*** Move to: g\n",
        "*** End of File\n",
        "@@\n",
        "@@ a\n",
        "@@ -1 +1 @@\n",
        "@@ -0,0 +1,9 @@\n",
        "@@ -9,2 +18446744073709551615 @@\n",
        "--- a/f\n",
        "+++ b/f\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "diff --git a/f b/f\n",
        "new file mode 100755\n",
        "rename from f\n",
        "rename to g\n",
        "copy from f\n",
        "copy to g\n",
        "\\ No newline at end of file\n",
        " a\n",
        "-a\n",
        "+b\n",
        "-b\r\n",
        "+\n",
        "\n",
        " \n",
        "-- \n",
        "2.1\n",
        "<<'EOF'\n",
        "EOF",
        "```\n",
        "\u{2014}",
        "\"",
        "\\",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_patch_breaks_anything(
        patch in prop_oneof![pieces(), any::<String>(), pieces().prop_map(|text| format!("*** Begin Patch\n{text}\n*** End Patch"))],
        file in prop_oneof![Just("a\nb\n"), Just(""), Just("a\r\nb"), Just("\n\n")],
    ) {
        let mut files = fake(&[("f", file)]);
        let before = files.clone();
        if apply_to(&mut files, &patch).is_err() {
            prop_assert_eq!(files, before);
        }
    }

    #[test]
    fn a_diff_leads_from_one_text_to_another(
        old in prop::collection::vec("[abc]{0,2}", 0..30),
        new in prop::collection::vec("[abc]{0,2}", 0..30),
        unended in any::<(bool, bool)>(),
        is_crlf in any::<bool>(),
        cut in 0..3_u8,
    ) {
        let ending = if is_crlf { "\r\n" } else { "\n" };
        let text = |lines: &[String], unended: bool| {
            let text: String = lines.iter().map(|line| format!("{line}{ending}")).collect();
            match unended {
                true => text.strip_suffix(ending).unwrap_or(&text).to_owned(),
                false => text,
            }
        };
        let (old, new) = (text(&old, unended.0), text(&new, unended.1));
        prop_assume!(old != new && !new.is_empty());
        let diff = crate::diff("f", old.as_bytes(), new.as_bytes(), Bounds::NONE);
        prop_assert_eq!(of_one(&old, &diff), Ok(new.clone()), "{}", diff);
        // Counts that are wrong do no harm, and neither do blanks that are missing in empty lines.
        let diff = match cut {
            0 => diff.replace(",", ",1"),
            1 => diff.replace("\n \n", "\n\n"),
            _ => format!("Subject: x\n\ndiff --git a/f b/f\nindex 1..2 100644\n{diff}-- \n2.1\n"),
        };
        prop_assert_eq!(of_one(&old, &diff), Ok(new.clone()), "{}", diff);
    }

    #[test]
    fn hunks_do_what_they_say_or_are_refused(deeds in deeds(), is_ended in any::<bool>()) {
        const COUNT: usize = 12;
        let mut file: String = (0..COUNT).map(|line| format!("l{line}\n")).collect();
        if !is_ended {
            file.pop();
        }
        // The fate of each line, the lines added before it or at the end, and how far the hunks have come.
        let mut lines: Vec<_> = (0..COUNT).map(|line| format!("l{line}")).collect();
        let (mut added, mut appended) = (vec![Vec::new(); COUNT + 1], Vec::new());
        let (mut come, mut is_in_order, mut patch) = (0, true, "--- f\n+++ f\n".to_owned());
        for (index, deed) in deeds.iter().enumerate() {
            match deed {
                Deed::Append => {
                    patch += &format!("@@ ... @@\n+n{index}\n");
                    appended.push(format!("n{index}"));
                }
                Deed::Insert(line) => {
                    patch += &format!("@@ -{line},0 +1 @@\n+n{index}\n");
                    is_in_order &= *line >= come;
                    // At the end of the file, it is one of those that are added there.
                    match *line == COUNT {
                        true => appended.push(format!("n{index}")),
                        false => (come, _) = (*line, added[*line].push(format!("n{index}"))),
                    }
                }
                Deed::Replace(start, signs) => {
                    patch += &format!("@@ -{} +1 @@\n", start + 1);
                    is_in_order &= *start >= come;
                    for (line, is_replaced) in (*start..COUNT).zip(signs) {
                        match is_replaced {
                            true => {
                                patch += &format!("-l{line}\n+r{index}.{line}\n");
                                lines[line] = format!("r{index}.{line}");
                            }
                            false => patch += &format!(" l{line}\n"),
                        }
                        come = line + 1;
                    }
                }
            }
        }
        let result = of_one(&file, &patch);
        if !is_in_order {
            prop_assert!(result.is_err(), "{patch}\n{result:?}");
            return Ok(());
        }
        let mut expected = Vec::new();
        for (before, line) in added.into_iter().zip(lines) {
            expected.extend(before);
            expected.push(line);
        }
        expected.extend(appended);
        let result = result.unwrap();
        let made: Vec<_> = result.lines().collect();
        prop_assert_eq!(made, expected, "{}", patch);
    }
}
