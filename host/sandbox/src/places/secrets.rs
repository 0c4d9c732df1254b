//! Credentials of the user: files and directories that commands may never reach.

use std::path::PathBuf;

use super::Environment;

/// Paths of credentials, relative to the home.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    // Keys, and agents that use them.
    ".ssh", ".gnupg", ".age", ".config/sops", ".password-store", ".local/share/keyrings", ".pki",
    // Clouds and clusters.
    ".aws", ".azure", ".config/gcloud", ".config/doctl", ".kube", ".oci", ".config/hcloud",
    ".terraform.d/credentials.tfrc.json", ".terraformrc", ".vault-token", ".config/op",
    ".config/rclone", ".s3cfg", ".boto",
    // Forges, registries and package managers.
    ".config/gh", ".config/hub", ".config/glab-cli", ".git-credentials", ".config/git/credentials",
    ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".pypirc", ".config/pip",
    ".pip", ".config/pypoetry", ".config/uv", ".gem/credentials", ".bundle/config", ".m2/settings.xml",
    ".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/.credentials",
    ".nuget/NuGet/NuGet.Config", ".config/NuGet", ".composer/auth.json", ".config/composer",
    ".hex/hex.config", ".cabal/config", ".local/share/uv/credentials", ".huggingface/token",
    ".cache/huggingface/token",
    // Containers.
    ".docker/config.json", ".docker/run", ".config/containers", ".config/docker",
    // Databases.
    ".pgpass", ".my.cnf", ".mylogin.cnf",
    // Other agents.
    ".claude", ".claude.json", ".codex", ".gemini", ".config/github-copilot",
    // The configuration, the state and the compiled code of all hosts of this user.
    ".config/toolhost", ".local/state/toolhost", ".cache/toolhost",
    // Histories of shells and other programs, and browsers.
    ".bash_history", ".zsh_history", ".local/share/fish", ".python_history", ".node_repl_history",
    ".psql_history", ".mysql_history", ".lesshst", ".mozilla", ".thunderbird",
    ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
];

/// Paths of credentials below a directory that a variable names: the variable, the default directory below the home, and the paths.
#[rustfmt::skip]
const MOVED: &[(&str, &str, &[&str])] = &[
    ("CARGO_HOME", ".cargo", &["credentials", "credentials.toml"]),
    ("GRADLE_USER_HOME", ".gradle", &["gradle.properties"]),
    ("COMPOSER_HOME", ".composer", &["auth.json"]),
    ("CABAL_DIR", ".cabal", &["config"]),
    ("HEX_HOME", ".hex", &["hex.config"]),
    ("XDG_CONFIG_HOME", ".config", &["gh", "git/credentials", "gcloud", "containers", "pip", "op", "sops", "toolhost"]),
];

/// Variables that name files with credentials.
const NAMED: &[&str] = &[
    "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig",
    "NPM_CONFIG_GLOBALCONFIG",
    "npm_config_globalconfig",
    "PIP_CONFIG_FILE",
    "UV_CONFIG_FILE",
    "XAUTHORITY",
];

/// Returns the paths of the user's credentials.
pub(super) fn below_home(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.home();
    let usual = home
        .into_iter()
        .flat_map(|home| SECRETS.iter().map(|path| home.join(path)));
    let moved = MOVED.iter().flat_map(|(variable, default, paths)| {
        let directory = environment.directory(variable);
        let directory = directory.or_else(|| Some(home?.join(default)));
        directory
            .into_iter()
            .flat_map(|directory| paths.iter().map(move |path| directory.join(path)))
    });
    let named = NAMED
        .iter()
        .filter_map(|variable| environment.directory(variable));
    usual.chain(moved).chain(named).collect()
}
