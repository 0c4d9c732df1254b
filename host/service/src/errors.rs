//! The text of errors: each cause once, and without the error numbers of the system.

use std::io;

/// Returns the text of an error with all of its causes.
pub fn full_text(error: &anyhow::Error) -> String {
    without_numbers(toolhost_state::error_chain::full_text(error.as_ref()))
}

/// Removes ` (os error 2)` and the like, because the words before it say the same.
pub fn without_numbers(mut text: String) -> String {
    const BEGIN: &str = " (os error ";
    while let Some(begin) = text.find(BEGIN) {
        let rest = text.get(begin..).unwrap_or_default();
        let Some(length) = rest.find(')') else { break };
        text.replace_range(begin..=begin + length, "");
    }
    text
}

/// Returns the error text for an address that the server cannot listen on, with the remedy.
pub(crate) fn cannot_listen(listen: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => "the address is in use, perhaps by a toolhost that runs already: `toolhost ps --server local` asks it; or choose another with --listen"
                .into(),
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have the address; choose another with --listen".into()
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not use the port; choose one from 1024 on with --listen".into()
        }
        _ => without_numbers(error.to_string()),
    };
    format!("cannot listen on {listen}: {why}")
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn causes_are_told_once_and_without_numbers() {
        let missing = || io::Error::from_raw_os_error(nix::libc::ENOENT);
        let error = anyhow::Error::from(missing()).context("cannot read x");
        assert_eq!(
            full_text(&error),
            "cannot read x: No such file or directory"
        );
        #[derive(Debug, thiserror::Error)]
        #[error("the file x cannot be read: {source}")]
        struct Repeats {
            source: io::Error,
        }
        let error: anyhow::Error = Repeats { source: missing() }.into();
        assert_eq!(
            full_text(&Err::<(), _>(error).context("no").unwrap_err()),
            "no: the file x cannot be read: No such file or directory"
        );
        assert_eq!(without_numbers("a (os error".into()), "a (os error");
    }
}
