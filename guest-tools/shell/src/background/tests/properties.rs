//! What holds for every command.

use proptest::prelude::*;

use super::promote;

/// Pieces of which commands, and nonsense, can be made.
fn command() -> impl Strategy<Value = String> {
    const PIECES: [&str; 52] = [
        "a",
        "b c",
        " ",
        " ",
        "\n",
        "\t",
        "&",
        "&",
        " & ",
        "&&",
        "|",
        "||",
        "|&",
        ";",
        ";;",
        ";&",
        "(",
        ")",
        "{ ",
        "} ",
        "((",
        "))",
        "[[ ",
        " ]]",
        "$(",
        "`",
        "${",
        "}",
        "$((",
        "'",
        "\"",
        "\\",
        "\\\n",
        "#",
        " # x",
        ">",
        "<",
        ">&",
        "2>&1",
        "&>",
        "<<E",
        "\nE\n",
        "<<<",
        "if ",
        "then ",
        "fi ",
        "for x in y; do ",
        "done ",
        "case x in ",
        " in ",
        "esac ",
        "é",
    ];
    proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..30)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn cuts_one_ampersand_and_what_is_blank_around_it(command in command()) {
        let Some(promoted) = promote(&command) else { return Ok(()) };
        let shared = command.bytes().zip(promoted.bytes()).take_while(|(a, b)| a == b).count();
        // Blanks and continued lines that stood before the `&` may also be what follows it.
        let kept = (0..=shared).rev().find(|&kept| {
            let cut = command.get(kept..).and_then(|rest| rest.trim_start_matches(BLANK).strip_prefix('&'));
            let added = promoted.get(kept..).unwrap_or_default();
            cut.is_some_and(|rest| added == rest || added.is_empty() && is_nothing(rest) || added == format!(" {rest}"))
        });
        prop_assert!(kept.is_some(), "{command:?} became {promoted:?}");
    }

    #[test]
    fn never_panics(command in "\\PC{0,80}") {
        let _ = promote(&command);
    }
}

/// What may stand between a command and its `&`; a continued line is made of these, too.
const BLANK: [char; 4] = [' ', '\t', '\\', '\n'];

/// Says whether a shell does nothing for this text.
fn is_nothing(text: &str) -> bool {
    text.replace("\\\n", "")
        .lines()
        .all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'))
}
