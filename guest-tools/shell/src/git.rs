//! What git does besides its command: it tidies the repository in processes of its own, as after `git commit` and `git fetch`, and asks.

use toolhost_sdk::processes::Survivor;

use crate::notes;

/// Returns whether all that outlives a command is git's own: `git maintenance run --auto` or `git gc --auto`, and their children.
pub(crate) fn is_tidying(survivors: &[Survivor]) -> bool {
    let is_git = |one: &Survivor| {
        let program = one.command.split(' ').next().unwrap_or_default();
        program.rsplit('/').next() == Some("git")
    };
    let is_auto = |one: &Survivor| one.command.split(' ').any(|word| word == "--auto");
    survivors.iter().all(is_git) && survivors.iter().any(is_auto)
}

/// Returns what to do next, if a command failed because git had nobody to ask.
pub(crate) fn advice(output: &str) -> Option<&'static str> {
    let says = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
    if says(&["Please tell me who you are", "identity unknown"]) {
        return Some(notes::IDENTITY);
    }
    if says(&["could not lock config file"]) && says(&[".gitconfig", "git/config"]) {
        return Some(notes::OWN_CONFIGURATION);
    }
    let has_no_text = says(&[
        "due to empty commit message",
        "Terminal is dumb, but EDITOR unset",
        "no tag message?",
    ]);
    has_no_text.then_some(notes::EDITOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_git_tidies() {
        let tidies = |commands: &[&str]| {
            let survivors = commands.iter().map(|command| Survivor {
                pid: 1,
                command: (*command).to_owned(),
            });
            is_tidying(&survivors.collect::<Vec<_>>())
        };
        assert!(tidies(&["git maintenance run --auto --no-quiet --detach"]));
        assert!(tidies(&[
            "/usr/lib/git-core/git gc --auto --quiet",
            "/usr/lib/git-core/git repack -d -l --cruft",
        ]));
        assert!(!tidies(&[]));
        assert!(!tidies(&["git fetch origin"]));
        assert!(!tidies(&["git gc --auto", "sleep 60"]));
        assert!(!tidies(&["legit --auto"]));
    }
}
