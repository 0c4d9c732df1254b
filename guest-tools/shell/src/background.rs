//! The trailing `&`: whether a command asks the shell to run all of it in the background.
//!
//! The shell would do so, but nobody could then ask for the output of the process or signal it. So such a command is
//! started as a background process without the `&`. Only a lone `&` that is the last token at the top level counts; all
//! other forms run as they are, and whatever they leave behind is reported.

mod lexer;

use toolhost_sdk::processes::Shell;

/// What the operators `&` of a command do. Where several apply, the first of these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ampersand {
    /// The command is incomplete or wrong, or it is not certain what its shell makes of it.
    Unsure,
    /// One is the last token of the command at its top level.
    Trailing,
    /// One ends a command at the top level that others follow.
    Interior,
    /// All are inside of compound commands, functions or substitutions.
    Nested,
    /// There are none.
    None,
}

/// Returns what the operators `&` of a command do in its shell.
pub(crate) fn classify(command: &str, shell: Shell) -> Ampersand {
    match lexer::lex(command, shell) {
        Err(lexer::Unsure) => Ampersand::Unsure,
        Ok(facts) if facts.trailing.is_some() => Ampersand::Trailing,
        Ok(facts) if facts.interior => Ampersand::Interior,
        Ok(facts) if facts.nested => Ampersand::Nested,
        Ok(_) => Ampersand::None,
    }
}

/// Returns the command without its trailing `&`; `None` if it has none, or if it is not certain that it has.
pub(crate) fn promote(command: &str, shell: Shell) -> Option<String> {
    let ampersand = lexer::lex(command, shell).ok()?.trailing?;
    let before = command.get(..ampersand.after_command)?;
    // What follows is blank, or a comment, unless bodies of here-documents stand there.
    let after = if ampersand.before_bodies {
        command.get(ampersand.at + 1..)?
    } else {
        ""
    };
    // What became part of a word would be no comment.
    let gap = if after.starts_with('#') { " " } else { "" };
    Some([before, gap, after].concat())
}

/// Returns what runs as a command of its own because an `&` that was most likely meant to be part of a URL is not
/// quoted: `b=2` of `curl http://h/?a=1&b=2`. Of several, the first, unless it is in a substitution.
pub(crate) fn split_url(command: &str, shell: Shell) -> Option<&str> {
    command.get(lexer::lex(command, shell).ok()?.split_url?)
}

/// Returns whether a command consists of plain commands: nothing is piped or redirected, as far as can be told.
pub(crate) fn is_plain(command: &str, shell: Shell) -> bool {
    lexer::lex(command, shell).is_ok_and(|facts| facts.plain)
}

#[cfg(test)]
mod tests;
