//! Properties of every file and every edit.

use proptest::prelude::*;

use super::*;

/// Text of few different pieces, so that it matches in many ways.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just("a"),
        2 => Just("b"),
        2 => Just(" "),
        2 => Just("\t"),
        3 => Just("\n"),
        2 => Just("\r\n"),
        1 => Just("\r"),
        1 => Just("\0"),
        1 => Just("\u{A0}"),
        1 => Just("\u{FEFF}"),
        1 => Just("==="),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// The same with bytes that are no text.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => text().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
}

/// Lines without an ending: what indents them, and what they say.
fn lines(
    words: &'static [&'static str],
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<String>> {
    let line = ("[ \t]{0,3}", prop::sample::select(words), "[ \t]{0,2}");
    let line = line.prop_map(|(lead, word, trail)| [lead.as_str(), word, &trail].concat());
    prop::collection::vec(line, count)
}

/// Returns the lines with these endings, which are repeated if there are too few.
fn end(lines: &[String], endings: &[&str]) -> String {
    let endings = endings.iter().cycle();
    lines
        .iter()
        .zip(endings)
        .map(|(line, ending)| format!("{line}{ending}"))
        .collect()
}

/// Returns the lines with other white space around them.
fn respace(lines: &[String], spaces: &[(String, String)]) -> Vec<String> {
    let spaces = spaces.iter().cycle();
    let line = |(line, (lead, trail)): (&String, &(String, String))| {
        format!("{lead}{}{trail}", line.trim())
    };
    lines.iter().zip(spaces).map(line).collect()
}

fn spaces() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(("[ \t]{0,4}", "[ \t]{0,2}"), 1..5)
}

fn endings() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&["\n", "\r\n"][..]), 1..5)
}

/// Replaces a string that occurs once, in the simplest way.
fn replace_once(content: &[u8], search: &[u8], replace: &[u8]) -> Option<Vec<u8>> {
    let mut found = (0..content.len()).filter(|at| content[*at..].starts_with(search));
    let (Some(at), None) = (found.next(), found.next()) else {
        return None;
    };
    Some([&content[..at], replace, &content[at + search.len()..]].concat())
}

/// Returns whether a string that occurs once does so halfway in the indentation of a line, and is a part of whole lines that are
/// replaced. Where the replacement has other lines and indents the first of them differently, it is not.
fn is_halfway(content: &[u8], search: &str, replace: &str) -> bool {
    let at = memchr::memmem::find(content, search.as_bytes()).unwrap();
    let before = content[..at].rsplit(|byte| *byte == b'\n').next().unwrap();
    // The mark at the beginning of a file is no part of its first line.
    let before = before.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(before);
    let in_indentation = !before.is_empty() && before.iter().all(|byte| b" \t".contains(byte));
    let [old, new]: [Vec<_>; 2] =
        [search, replace].map(|text| text.split_terminator('\n').collect());
    let first = new.first().copied().unwrap_or_default();
    let is_one = old.len() == 1 && new.len() == 1 && !first.trim().is_empty();
    let lead = |line: &str| line.len() - line.trim_start().len();
    let moves = [old[0], first].iter().all(|line| !line.trim().is_empty())
        && old[0][..lead(old[0])] != first[..lead(first)]
        && !new.iter().any(|line| old.contains(line));
    in_indentation
        && search.starts_with([' ', '\t'])
        && !search.trim().is_empty()
        && !is_one
        && !moves
}

const WORDS: &[&str] = &["a", "b", "", "a b", "}"];
const KEYS: &[&str] = &["key", "key b", "key }"];

proptest! {
    #[test]
    fn nothing_panics_and_results_are_the_same_twice(
        content in bytes(),
        edits in prop::collection::vec((text(), text(), any::<bool>()), 0..4),
    ) {
        let edits: Vec<_> = (edits.iter())
            .map(|(search, replace, replace_all)| Edit { search, replace, replace_all: *replace_all })
            .collect();
        let result = apply(&content, &edits);
        prop_assert_eq!(&result, &apply(&content, &edits));
        if let Err(error) = result {
            prop_assert!(error.index < edits.len());
            // Those before it can be made, and with it nothing can.
            prop_assert!(apply(&content, &edits[..error.index]).is_ok());
            prop_assert_eq!(apply(&content, &edits[..=error.index]), Err(error));
        }
    }

    #[test]
    fn an_exact_replacement_is_the_simple_one(content in bytes(), from in 0_usize..64, length in 1_usize..16, replace in text()) {
        let search = content.get(from..).unwrap_or_default();
        let search = &search[..search.len().min(length)];
        let Ok(search) = std::str::from_utf8(search) else {
            return Ok(());
        };
        // What differs on purpose: endings become those of the file, and are not cut in two; a mark is not doubled; what begins
        // halfway in an indentation is replaced line by line.
        let plain = replace.replace(['\n', '\u{FEFF}'], "");
        if !search.starts_with('\n')
            && let Some(expected) = replace_once(&content, search.as_bytes(), plain.as_bytes())
            && !search.is_empty()
            && !is_halfway(&content, search, &plain)
        {
            prop_assert_eq!(apply(&content, &[one(search, &plain)]), Ok(expected));
        }
        let unix = String::from_utf8_lossy(&content).replace('\r', "");
        let [search, replace] = [search, &replace].map(|text| text.replace(['\r', '\u{FEFF}'], ""));
        if let Some(expected) = replace_once(unix.as_bytes(), search.as_bytes(), replace.as_bytes())
            && !search.is_empty()
            && !is_halfway(unix.as_bytes(), &search, &replace)
        {
            prop_assert_eq!(apply(unix.as_bytes(), &[one(&search, &replace)]), Ok(expected.clone()));
            // And back.
            if !replace.is_empty()
                && replace_once(&expected, replace.as_bytes(), search.as_bytes()).is_some()
                && !is_halfway(&expected, &replace, &search)
            {
                prop_assert_eq!(apply(&expected, &[one(&replace, &search)]), Ok(unix.into_bytes()));
            }
        }
    }

    #[test]
    fn an_edit_that_changes_nothing_changes_no_byte(
        content in bytes(),
        search in text(),
        replace_all: bool,
    ) {
        let edit = Edit { search: &search, replace: &search, replace_all };
        if let Ok(result) = apply(&content, &[edit]) {
            prop_assert_eq!(result, content);
        }
    }

    #[test]
    fn an_edit_that_changes_nothing_changes_no_byte_of_lines_that_differ_in_white_space(
        lines in lines(WORDS, 1..8),
        window in (0_usize..8, 1_usize..8),
        spaces in spaces(),
        (file_endings, edit_endings) in (endings(), endings()),
        has_last in any::<bool>(),
        replace_all: bool,
    ) {
        let content = end(&lines, &file_endings);
        let content = if has_last { &content } else { content.trim_end() };
        let from = window.0.min(lines.len() - 1);
        let to = lines.len().min(from + window.1);
        let search = end(&respace(&lines[from..to], &spaces), &edit_endings);
        let edit = Edit { search: &search, replace: &search, replace_all };
        if let Ok(result) = apply(content.as_bytes(), &[edit]) {
            prop_assert_eq!(String::from_utf8(result).unwrap(), content);
        }
    }

    #[test]
    fn nothing_changes_outside_of_the_lines_that_match(
        (before, matched, after) in (lines(WORDS, 0..4), lines(KEYS, 1..4), lines(WORDS, 0..4)),
        spaces in spaces(),
        file_endings in endings(),
        ending in prop::sample::select(&["\n", "\r\n"][..]),
        new in lines(&["x", "y", ""], 0..6),
        junk in prop::collection::vec(any::<u8>().prop_filter("no line", |byte| *byte != b'\n'), 0..4),
    ) {
        let [before, window, after] = [&before, &matched, &after].map(|lines| end(lines, &file_endings));
        let before = [&junk[..], b"\n", before.as_bytes()].concat();
        let content = [&before, window.as_bytes(), after.as_bytes(), &junk].concat();
        let search = end(&respace(&matched, &spaces), &[ending]);
        let replace = end(&new, &[ending]);
        if let Ok(result) = apply(&content, &[one(&search, &replace)]) {
            let inner = result.strip_prefix(&before[..]).and_then(|rest| rest.strip_suffix(&junk[..]));
            let inner = inner.and_then(|rest| rest.strip_suffix(after.as_bytes()));
            prop_assert!(inner.is_some(), "{:?}", String::from_utf8_lossy(&result));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let inner = std::str::from_utf8(inner.unwrap()).unwrap();
            prop_assert_eq!(words(inner), words(&replace));
            // Nothing is left of the indentation of a line that is removed.
            prop_assert!(!replace.is_empty() || !search.starts_with([' ', '\t']) || inner.is_empty(), "{inner:?}");
        }
    }

    #[test]
    fn a_file_keeps_its_kind_of_endings(
        lines in lines(WORDS, 1..8),
        window in (0_usize..8, 1_usize..8),
        spaces in spaces(),
        new in lines(WORDS, 1..5),
        (file_ending, edit_ending) in (prop::sample::select(&["\n", "\r\n"][..]), prop::sample::select(&["\n", "\r\n"][..])),
        (cut_search, cut_replace, cut_start) in any::<(bool, bool, bool)>(),
        replace_all: bool,
    ) {
        let content = end(&lines, &[file_ending]);
        let from = window.0.min(lines.len() - 1);
        let to = lines.len().min(from + window.1);
        let search = end(&respace(&lines[from..to], &spaces), &[edit_ending]);
        let replace = end(&new, &[edit_ending]);
        let cut = |text: String, is_cut| if is_cut { text.strip_suffix(edit_ending).unwrap().to_owned() } else { text };
        let search = if cut_start { format!("{edit_ending}{search}") } else { search };
        let (search, replace) = (cut(search, cut_search), cut(replace, cut_replace));
        let edit = Edit { search: &search, replace: &replace, replace_all };
        if let Ok(result) = apply(content.as_bytes(), &[edit]) {
            let result = String::from_utf8(result).unwrap();
            let plain = result.replace(file_ending, "");
            prop_assert!(!plain.contains(['\r', '\n']), "{result:?}");
        }
    }

    #[test]
    fn whole_lines_are_edited_alike_whatever_their_endings(
        lines in lines(WORDS, 1..8),
        window in (0_usize..8, 1_usize..8),
        new in lines(WORDS, 0..5),
    ) {
        let content = end(&lines, &["\n"]);
        let from = window.0.min(lines.len() - 1);
        let to = lines.len().min(from + window.1);
        let (search, replace) = (end(&lines[from..to], &["\n"]), end(&new, &["\n"]));
        let edit = one(&search, &replace);
        let at_a_line = !search.trim().is_empty() && content.find(&search) == Some(end(&lines[..from], &["\n"]).len());
        let crlf = apply(content.replace('\n', "\r\n").as_bytes(), &[edit]);
        if let (Ok(lf), Ok(crlf), true) = (apply(content.as_bytes(), &[edit]), crlf, at_a_line) {
            let lf = String::from_utf8(lf).unwrap();
            prop_assert_eq!(String::from_utf8(crlf).unwrap(), lf.replace('\n', "\r\n"));
        }
    }
}
