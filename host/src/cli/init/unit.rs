//! The unit of systemd: that of `examples/operating`, with the paths and the user of this server.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use nix::unistd::{Gid, Group, Uid, User};

/// The unit that docs/operating.md explains.
const EXAMPLE: &str = include_str!("../../../../examples/operating/toolhost.service");

/// Directories that `ProtectHome=yes` hides.
const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];

/// The parts of a unit that differ from the example.
#[derive(Debug)]
pub(super) struct Unit {
    program: PathBuf,
    config: PathBuf,
    workspace: PathBuf,
    user: String,
    group: String,
}

impl Unit {
    /// Returns the unit of a server that runs this program as this user.
    pub(super) fn of_this_user(config: &Path, workspace: &Path) -> anyhow::Result<Self> {
        let (user, group) = (Uid::effective(), Gid::effective());
        if user.is_root() {
            bail!(
                "a service must not run commands as root: run `toolhost init` as the user of the service, or see docs/operating.md"
            );
        }
        let user = User::from_uid(user)?.context("the system does not know this user")?;
        let group = Group::from_gid(group)?.context("the system does not know this group")?;
        Ok(Self {
            program: std::env::current_exe().context("cannot find this program")?,
            config: config.to_owned(),
            workspace: workspace.to_owned(),
            user: user.name,
            group: group.name,
        })
    }

    /// Returns the text of the unit.
    pub(super) fn text(&self) -> String {
        let paths = [&self.program, &self.config, &self.workspace];
        let in_homes = |path: &&PathBuf| HOMES.iter().any(|home| path.starts_with(home));
        let mut text = String::new();
        for line in EXAMPLE.lines() {
            let key = line.split_once('=').map(|(key, _)| key);
            let changed = match key {
                Some("ExecStart") => self.command(line),
                Some("User") => format!("User={}", self.user),
                Some("Group") => format!("Group={}", self.group),
                Some("ReadWritePaths") => format!("ReadWritePaths={}", quoted(&self.workspace)),
                // The user has its own directory of configurations.
                Some("ConfigurationDirectory") => continue,
                Some("ProtectHome") if paths.iter().any(in_homes) => {
                    "ProtectHome=read-only".to_owned()
                }
                _ => line.to_owned(),
            };
            text.push_str(&changed);
            text.push('\n');
        }
        text
    }

    /// Returns the line that starts the server.
    fn command(&self, example: &str) -> String {
        let replaced = [
            ("/usr/local/bin/toolhost", &self.program),
            ("/etc/toolhost/toolhost.toml", &self.config),
            ("/srv/toolhost/workspace", &self.workspace),
        ];
        let (key, command) = example.split_once('=').unwrap_or_default();
        let words = command.split(' ').map(|word| {
            let path = replaced.iter().find(|(example, _)| *example == word);
            path.map_or_else(|| word.to_owned(), |(_, path)| quoted(path))
        });
        format!("{key}={}", words.collect::<Vec<_>>().join(" "))
    }
}

/// Quotes a path for a unit.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@:,".contains(c);
    if path.chars().all(plain) {
        return path.into_owned();
    }
    let escaped = path.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('%', "%%").replace('$', "$$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(config: &str, workspace: &str) -> String {
        let unit = Unit {
            program: "/opt/toolhost".into(),
            config: config.into(),
            workspace: workspace.into(),
            user: "ann".to_owned(),
            group: "staff".to_owned(),
        };
        unit.text()
    }

    /// The lines that differ from the example.
    fn changed(unit: &str) -> Vec<&str> {
        let lines = unit.lines();
        lines
            .filter(|line| !EXAMPLE.lines().any(|other| other == *line))
            .collect()
    }

    #[test]
    fn paths_and_user_are_those_of_the_server() {
        let unit = unit("/etc/t/toolhost.toml", "/srv/t/100% \"new\"");
        assert_eq!(
            changed(&unit),
            [
                r#"ExecStart=/opt/toolhost serve --config /etc/t/toolhost.toml --state-dir /var/lib/toolhost --workspace "/srv/t/100%% \"new\"" --no-console-link --log-format json"#,
                "User=ann",
                "Group=staff",
                r#"ReadWritePaths="/srv/t/100%% \"new\"""#,
            ]
        );
        assert_eq!(unit.lines().count() + 1, EXAMPLE.lines().count());
    }

    #[test]
    fn homes_are_seen_only_if_they_are_needed() {
        let unit = unit("/home/ann/.config/toolhost/toolhost.toml", "/home/ann/w");
        assert!(changed(&unit).contains(&"ProtectHome=read-only"), "{unit}");
        assert!(EXAMPLE.contains("\nProtectHome=yes\n"));
    }
}
