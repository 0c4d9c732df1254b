//! Cloning a repository into a new directory, by a command in the sandbox of that directory.
//!
//! The command may do what every later command of the workspace may do, and no more: it reaches the same hosts, and has none of the
//! credentials of the user that runs the host. Only the log and the audit trail have the words of git: see
//! [`ProviderError::NotCloned`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Command, State, WaitOptions};
use toolhost_workspace::{GitSpec, ProviderError, Watched, Workspace};

use super::blocking;
use crate::Local;

/// The longest address or branch, in bytes.
const MOST: usize = 2048;

/// How long a clone may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The protocols that git may use. It would also run other programs: `ext::` any command, and `NAME::` or `NAME://` `git-remote-NAME`.
const PROTOCOLS: [&str; 5] = ["https", "http", "ssh", "git", "file"];

/// How much of the output of a clone that failed is in the reason, in bytes from its end.
const TAIL: usize = 1024;

/// Runs in an empty directory. The variables keep the shell from reading the address and the branch.
const SCRIPT: &str =
    "exec git clone --quiet ${CLONE_BRANCH:+--branch \"$CLONE_BRANCH\"} -- \"$CLONE_URL\" .";

/// Checks an address and a branch.
pub(super) fn check(git: &GitSpec) -> Result<(), ProviderError> {
    let texts = [("url", Some(&git.url)), ("branch", git.branch.as_ref())];
    for (key, text) in texts {
        let is_good = |text: &String| {
            (1..=MOST).contains(&text.len())
                && !text.starts_with('-')
                && !text.chars().any(char::is_control)
        };
        if text.is_some_and(|text| !is_good(text)) {
            return Err(ProviderError::Invalid(format!(
                "git.{key} has 1 to {MOST} bytes, no control characters, and does not begin with \"-\""
            )));
        }
    }
    match is_address(&git.url) {
        true => Ok(()),
        false => Err(ProviderError::Invalid(
            "git.url begins with https://, http://, ssh://, git://, file:// or /, or is HOST:PATH"
                .into(),
        )),
    }
}

/// Returns whether git needs only one of [`PROTOCOLS`] for this address.
fn is_address(url: &str) -> bool {
    if let Some((scheme, rest)) = url.split_once("://") {
        return PROTOCOLS.contains(&scheme) && !rest.is_empty() && !rest.starts_with('-');
    }
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    let is_at_host = |(host, path): (&str, &str)| {
        !host.is_empty()
            && host.bytes().all(is_of_host)
            && !path.is_empty()
            && !path.starts_with(':')
    };
    url.starts_with('/') || url.split_once(':').is_some_and(is_at_host)
}

/// Clones a repository into an empty directory.
pub(super) async fn clone(
    beside: &Arc<Local>,
    directory: &Path,
    git: &GitSpec,
    watched: Watched<'_>,
) -> Result<(), ProviderError> {
    let (local, path) = (Arc::clone(beside), directory.to_path_buf());
    let opened = move || local.beside(&path).map_err(std::io::Error::other);
    let workspace = watched(Arc::new(blocking(opened).await?));
    let chat: ChatId = format!("workspace-{}", uuid::Uuid::new_v4().simple())
        .parse()
        .map_err(|error| ProviderError::Failed(format!("{error}")))?;
    let cloned = run(&*workspace, &chat, git).await;
    // Ends the command if it still runs, and its namespaces.
    let ended = workspace.end_chat(&chat).await;
    cloned.and(ended.map(drop).map_err(|error| failed(&error)))
}

async fn run(workspace: &dyn Workspace, chat: &ChatId, git: &GitSpec) -> Result<(), ProviderError> {
    let env = vec![
        ("CLONE_URL".to_owned(), git.url.clone()),
        (
            "CLONE_BRANCH".to_owned(),
            git.branch.clone().unwrap_or_default(),
        ),
        ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
        ("GIT_ALLOW_PROTOCOL".to_owned(), PROTOCOLS.join(":")),
    ];
    let command = Command {
        command: SCRIPT.to_owned(),
        env,
        ..Command::default()
    };
    let process = workspace
        .start(Some(chat), command)
        .await
        .map_err(|error| failed(&error))?;
    let options = WaitOptions {
        timeout: PATIENCE,
        since: 0,
        until: None,
        output: false,
    };
    workspace
        .wait(Some(chat), &process.id, options)
        .await
        .map_err(|error| failed(&error))?;
    let snapshot = workspace
        .snapshot(Some(chat), &process.id)
        .await
        .map_err(|error| failed(&error))?;
    let told = |what: &str, output: &[u8]| ProviderError::NotCloned {
        reason: format!("git clone {what}: {}", last_words(output, git)),
    };
    let status = match &snapshot.state {
        State::Running => {
            let what = format!("is not done after {} s", PATIENCE.as_secs());
            return Err(told(&what, &[]));
        }
        State::Lost(why) => return Err(told(why, &[])),
        State::Lingering(status) | State::Exited(status) => status,
    };
    match status.code {
        Some(0) => Ok(()),
        code => {
            let output = [snapshot.head, snapshot.tail].concat();
            let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            Err(told(&format!("ended with {code}"), &output))
        }
    }
}

/// Returns the end of an output, without the parts of the address that may hold credentials.
fn last_words(output: &[u8], git: &GitSpec) -> String {
    let output = git.mask(&String::from_utf8_lossy(output));
    let from = output.ceil_char_boundary(output.len().saturating_sub(TAIL));
    output.get(from..).unwrap_or_default().trim().to_owned()
}

fn failed(error: &toolhost_workspace::process::Error) -> ProviderError {
    ProviderError::Failed(format!("git clone: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_url(url: &str) -> Result<(), ProviderError> {
        check(&GitSpec {
            url: url.to_owned(),
            branch: None,
        })
    }

    #[test]
    fn only_addresses_of_hosts_and_files_are_cloned() {
        for url in [
            "https://git.example.com/web.git",
            "http://127.0.0.1:8080/r.git",
            "ssh://git@example.com:22/r",
            "git://example.com/r",
            "file:///srv/r",
            "/srv/r:x",
            "git@example.com:team/r.git",
        ] {
            check_url(url).unwrap();
        }
        for url in [
            "fd::17",
            "fd::17/x",
            "ext::sh -c 'touch /tmp/x'",
            "ext::sh -c true://x",
            "foo://example.com/r",
            "ftp://example.com/r",
            "ssh://-oProxyCommand=x/r",
            "https://",
            "-oProxyCommand=x:r",
            "../r",
            "r",
            "a b:r",
            ":r",
            "host:",
            "",
        ] {
            check_url(url).expect_err(url);
        }
    }

    #[test]
    fn credentials_are_shown_nowhere() {
        let git = GitSpec {
            url: "https://me:s3cret@example.com/r.git?token=t#f".to_owned(),
            branch: None,
        };
        assert_eq!(git.shown_url(), "https://…@example.com/r.git");
        let words = last_words(
            b"fatal: repository 'https://me:s3cret@example.com/r.git?token=t#f/' not found\n",
            &git,
        );
        assert_eq!(
            words,
            "fatal: repository 'https://…@example.com/r.git?…/' not found"
        );
    }
}
