//! Properties of every command.

use std::sync::{LazyLock, Mutex, PoisonError};

use proptest::prelude::*;

use super::generate::{self, pieces};
use super::shells::{self, Bash};
use super::{Ampersand, Shell, classify, is_plain, promote, split_url};

/// The answers of one bash, as starting one takes a while.
static BASH: LazyLock<Mutex<Bash>> = LazyLock::new(|| Mutex::new(Bash::start()));

fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked_for = std::env::var_os("PROPTEST_CASES").map(|_| default.cases);
    ProptestConfig {
        cases: asked_for.unwrap_or(cases),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn cuts_one_ampersand_and_what_is_blank_around_it(command in pieces(30)) {
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
}

proptest! {
    #![proptest_config(config(1500))]

    #[toolhost_needs::needs(bash)]
    #[test]
    fn agrees_with_bash_about_what_is_almost_a_command(command in generate::almost()) {
        agrees_with_shells(&command)?;
    }

    #[toolhost_needs::needs(bash)]
    #[test]
    fn agrees_with_bash_about_commands(made in generate::made()) {
        agrees_with_shells(&made.command)?;
        let ampersand = classify(&made.command);
        prop_assert!(
            ampersand == made.ampersand || ampersand == Ampersand::Unsure,
            "{:?} is {ampersand:?}", made.command
        );
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn ends_whatever_the_text_is(text in prop_oneof!["\\PC{0,200}", pieces(2000)]) {
        let _ = (classify(&text), promote(&text), split_url(&text), is_plain(&text));
    }
}

/// Returns what bash makes of a command: its canonical form, or nothing if there is an error. `None`: it cannot be asked.
pub(super) fn canonical(command: &str) -> Option<Option<String>> {
    // The wrapping would continue the line.
    let backslashes = command
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'\\')
        .count();
    if backslashes % 2 == 1 {
        return None;
    }
    Some(
        BASH.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .canonical(command),
    )
}

/// Compares what bash and `sh` make of a command with what the lexer makes of it for each of them.
pub(super) fn agrees_with_shells(command: &str) -> Result<(), TestCaseError> {
    let Some(form) = canonical(command) else {
        return Ok(());
    };
    agrees_with_sh(command)?;
    let ampersand = classify(command);
    let promoted = promote(command);
    prop_assert_eq!(promoted.is_some(), ampersand == Ampersand::Trailing);
    if ampersand == Ampersand::Unsure {
        return Ok(());
    }
    prop_assert!(
        form.is_some(),
        "bash reports an error for {command:?}, which is {ampersand:?}"
    );
    let form = form.unwrap_or_default();
    if let Some(promoted) = promoted {
        let Some(promoted_form) = canonical(&promoted).flatten() else {
            return Err(TestCaseError::fail(format!(
                "bash reports an error for {promoted:?} of {command:?}"
            )));
        };
        prop_assert!(
            is_promoted_form(&form, &promoted_form),
            "{command:?} became {promoted:?}, to bash\n{form}\nand\n{promoted_form}"
        );
    }
    if !has_hidden_text(command) {
        let shows_last = form.ends_with(" &");
        let shows = shows_last
            || [" & ", " &\n", " &)"]
                .iter()
                .any(|shown| form.contains(shown));
        let agrees = shows == (ampersand != Ampersand::None)
            && shows_last == (ampersand == Ampersand::Trailing);
        prop_assert!(agrees, "{command:?} is {ampersand:?}, to bash\n{form}");
    }
    Ok(())
}

/// Compares what `sh` makes of a command with what the lexer makes of it. Where the lexer is sure, `sh` and bash read the same, except
/// for a `time` that stands alone.
fn agrees_with_sh(command: &str) -> Result<(), TestCaseError> {
    let ampersand = super::super::classify(command, Shell::Sh);
    if ampersand == Ampersand::Unsure {
        return Ok(());
    }
    let promoted = super::super::promote(command, Shell::Sh);
    if classify(command) != Ampersand::Unsure || !command.contains("time") {
        prop_assert_eq!(ampersand, classify(command), "{:?}", command);
        prop_assert_eq!(&promoted, &promote(command));
    }
    for accepted in [Some(command), promoted.as_deref()].into_iter().flatten() {
        prop_assert!(
            shells::sh_accepts(accepted) != Some(false),
            "sh reports an error for {accepted:?}, and {command:?} is {ampersand:?}"
        );
    }
    Ok(())
}

/// Returns whether one ` &` makes one form the other: at the end, or before bodies of here-documents.
fn is_promoted_form(form: &str, promoted: &str) -> bool {
    (0..=promoted.len()).any(|at| {
        let (Some(before), Some(after)) = (promoted.get(..at), promoted.get(at..)) else {
            return false;
        };
        let rest = form
            .strip_prefix(before)
            .map(|rest| rest.trim_start_matches(['\n', '\t', ' ']));
        rest.and_then(|rest| rest.strip_prefix('&')) == Some(after)
            && (after.is_empty() || are_bodies(before, after))
    })
}

/// Returns whether a text ends like the bodies of the here-documents that the line before it names.
fn are_bodies(before: &str, text: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let last = text.rsplit('\n').next();
    line.split("<<").skip(1).any(|operator| {
        let operator = operator.trim_start_matches('-');
        let delimiter = match operator.as_bytes().first() {
            Some(quote @ (b'\'' | b'"')) => operator[1..].split(char::from(*quote)).next(),
            _ => operator.split([' ', '&']).next(),
        };
        delimiter == last
    })
}

/// Returns whether a command of the tables has forms that `sh` need not know.
pub(super) fn has_form_of_bash(command: &str) -> bool {
    let forms = [
        "|&",
        "&>",
        "[[ ",
        "((",
        "<(",
        ">(",
        "=(",
        "<<<",
        ";&",
        ";;&",
        "select ",
        "function ",
        "time {",
        "\\'s",
        "${x:1",
        "${x[",
        "${!x}",
    ];
    let is_subshell = ["((a) | (b))", "((a & b)", "$(("];
    forms.iter().any(|form| command.contains(form))
        && !is_subshell.iter().any(|form| command.contains(form))
}

/// Says whether a command may have an `&` in it that is no operator, and that bash shows as one.
fn has_hidden_text(command: &str) -> bool {
    command.contains(['\'', '"', '\\', '`', '$', '#'])
        || command.contains("<<")
        || command.contains("((")
        || command.contains("[[")
}

/// What may stand between a command and its `&`; a continued line is made of these, too.
const BLANK: [char; 4] = [' ', '\t', '\\', '\n'];

/// Says whether a shell does nothing for this text.
fn is_nothing(text: &str) -> bool {
    text.replace("\\\n", "")
        .lines()
        .all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'))
}
