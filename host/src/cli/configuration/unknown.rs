//! Texts for keys that a configuration does not have where they stand.

use crate::config::{ConfigError, Problem};

/// Begins each of these texts.
const NO_SUCH_KEY: &str = "there is no such key";

/// Keys of sections that stand at the top level by mistake, each with its section.
const SECTION_OF: [(&[&str], &str); 5] = [
    (&["dir"], "[workspace]"),
    (
        &["mode", "write", "read_only", "never", "network"],
        "[sandbox]",
    ),
    (&["scopes", "chats", "tools"], "[tokens.NAME]"),
    (
        &[
            "component",
            "grants",
            "settings",
            "secrets",
            "limits",
            "enabled",
            "sha256",
            "signed_by",
        ],
        "[plugins.NAME]",
    ),
    (&["root", "templates", "agents"], "[workspaces]"),
];

/// Returns the text for an unknown key of the top level; `meant` is a key with a similar name.
pub(super) fn at_the_top(key: &str, meant: Option<&str>) -> String {
    let mut sections = SECTION_OF.iter();
    match (sections.find(|(keys, _)| keys.contains(&key)), meant) {
        (Some((_, section)), _) => {
            format!("{NO_SUCH_KEY} at the top level; it is one of the section {section}")
        }
        (None, Some(meant)) => format!("{NO_SUCH_KEY}; did you mean {meant:?}?"),
        (None, None) => format!(
            "{NO_SUCH_KEY}; the keys are the long flags of `toolhost serve --help`, with `_` for `-`, and plugin_dir, [workspace], \
             [sandbox], [plugins.NAME], [tokens.NAME], [workspaces], [store], [cluster] and [webhooks.NAME]"
        ),
    }
}

/// Says of unknown keys in sections that they are keys of the top level, if they are among those.
pub(super) fn with_levels(error: ConfigError, keys: fn() -> Vec<String>) -> ConfigError {
    let ConfigError::Invalid { path, problems } = error else {
        return error;
    };
    let keys = keys();
    let problems = problems
        .into_iter()
        .map(|problem| with_level(problem, &keys));
    ConfigError::Invalid {
        path,
        problems: problems.collect(),
    }
}

fn with_level(mut problem: Problem, keys: &[String]) -> Problem {
    if let Some((section, key)) = problem.key.rsplit_once('.')
        && problem.text.starts_with(NO_SUCH_KEY)
        && keys.iter().any(|known| known == key)
    {
        problem.text = format!(
            "{NO_SUCH_KEY} in [{section}]; `{key}` is a key of the top level: write it above the first section"
        );
    }
    problem
}
