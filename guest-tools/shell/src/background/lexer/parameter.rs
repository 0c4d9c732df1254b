//! Parameters in braces: `${…}`.

use super::{Lexer, Unsure};
use toolhost_sdk::processes::Shell;

impl Lexer<'_> {
    /// Goes past the rest of `${…}`.
    pub(super) fn braced(&mut self, quoted: bool) -> Result<(), Unsure> {
        self.at += parameter(self.rest(), self.shell).ok_or(Unsure)?;
        let start = self.at;
        while let Some(byte) = self.peek()? {
            match byte {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\'' => self.quoted_in_braces(quoted)?,
                // To bash, this may be a substitution there.
                b'(' if matches!(self.since(start), [.., b'<' | b'>']) => return Err(Unsure),
                _ => self.special(quoted)?,
            }
        }
        Err(Unsure)
    }

    /// Goes past what single quotes enclose. It depends on the operator, and on the shell, whether they quote anything
    /// inside of double quotes, so it must not matter.
    fn quoted_in_braces(&mut self, quoted: bool) -> Result<(), Unsure> {
        let start = self.at;
        self.single_quoted()?;
        let matters = self
            .since(start)
            .iter()
            .any(|byte| b"}\"$`\\".contains(byte));
        if quoted && matters {
            Err(Unsure)
        } else {
            Ok(())
        }
    }
}

/// Returns the length of the parameter with which a text begins, unless what is there would be an error to the shell.
fn parameter(text: &[u8], shell: Shell) -> Option<usize> {
    match text {
        [b'#', b'}', ..] => Some(1),
        [b'#', rest @ ..] => {
            let length = name(rest)?;
            let is_element = shell == Shell::Bash && rest.get(length) == Some(&b'[');
            (is_element || rest.get(length) == Some(&b'}')).then_some(length + 1)
        }
        [b'!', rest @ ..] if name(rest).is_some() => {
            let length = followed(rest, shell).filter(|_| shell == Shell::Bash)?;
            Some(length + 1)
        }
        _ => followed(text, shell),
    }
}

/// Returns the length of the name with which a text begins, if something follows that may follow it.
fn followed(text: &[u8], shell: Shell) -> Option<usize> {
    let length = name(text)?;
    let may_follow = match (text.get(length..)?, shell) {
        ([b':', next, ..], Shell::Bash) => *next != b'}',
        ([b':', next, ..], Shell::Sh) => b"-=?+".contains(next),
        ([next, ..], Shell::Bash) => b"}-=?+#%/^,@*[".contains(next),
        ([next, ..], Shell::Sh) => b"}-=?+#%".contains(next),
        ([], _) => false,
    };
    may_follow.then_some(length)
}

fn name(text: &[u8]) -> Option<usize> {
    let length = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    let name = text.get(..length)?;
    match text.first()? {
        b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => Some(1),
        b'0'..=b'9' if !name.iter().all(u8::is_ascii_digit) => None,
        _ => Some(length).filter(|length| *length > 0),
    }
}
