//! The trailing `&`: whether a command asks the shell to run all of it in the background.
//!
//! The shell would do so, but nobody could then ask for the output of the process or signal it. So such a command is
//! started as a background process without the `&`. Only a lone `&` that is the last token at the top level counts; all
//! other forms run as they are, and whatever they leave behind is reported.

mod lexer;

/// Returns the command without its trailing `&`; `None` if it has none, or if it is not certain that it has.
pub(crate) fn promote(command: &str) -> Option<String> {
    let ampersand = lexer::lex(command).ok()?.trailing?;
    let before = command.get(..ampersand.after_command)?;
    // What follows is blank, or a comment, unless bodies of here-documents stand there.
    let after = if ampersand.before_bodies {
        command.get(ampersand.at + 1..)?
    } else {
        ""
    };
    Some([before, after].concat())
}

/// Returns whether a command consists of plain commands: nothing is piped or redirected, as far as can be told.
pub(crate) fn is_plain(command: &str) -> bool {
    lexer::lex(command).is_ok_and(|facts| facts.plain)
}

#[cfg(test)]
mod tests;
