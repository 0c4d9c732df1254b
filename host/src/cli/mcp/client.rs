//! The clients of MCP whose configuration this program edits, and where they keep it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

/// A client of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Codex,
    Gemini,
    Zed,
}

/// The name of a client and its files. docs/mcp.md names the documentation of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// The name that people know.
    pub(super) name: &'static str,
    pub(super) format: Format,
    /// The file of the user, in a directory of the system.
    user: (Base, &'static str),
    /// The file in a project, if there is one.
    project: Option<&'static str>,
}

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json(Dialect),
    /// TOML, with the servers in `[mcp_servers]`.
    Toml,
}

/// The JSON that a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The key of the object with the servers.
    pub(super) servers: &'static str,
    /// An entry has `"type": "stdio"`.
    pub(super) typed: bool,
    pub(super) comments: bool,
    pub(super) trailing_commas: bool,
}

const fn json(servers: &'static str, typed: bool, comments: bool, trailing_commas: bool) -> Format {
    Format::Json(Dialect {
        servers,
        typed,
        comments,
        trailing_commas,
    })
}

/// A directory of the system.
#[derive(Clone, Copy, Debug)]
enum Base {
    Home,
    /// Where applications with windows keep their configuration.
    Applications,
    /// The same, but that macOS is as Linux.
    Config,
    /// `$CODEX_HOME`, or `~/.codex`.
    Codex,
}

/// The system of a machine, as [`std::env::consts::OS`] names it, and its variables with absolute paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct System {
    os: &'static str,
    variable: fn(&str) -> Option<PathBuf>,
}

/// This machine.
pub(super) const HERE: System = System {
    os: std::env::consts::OS,
    variable: |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    },
};

impl System {
    /// Returns a directory; `None` if the user has no home.
    fn directory(self, base: Base) -> Option<PathBuf> {
        let home = || (self.variable)("HOME").or_else(|| (self.variable)("USERPROFILE"));
        let variable_or = |name: &str, path| {
            let named = (self.variable)(name);
            named.or_else(|| Some(home()?.join(path)))
        };
        match (base, self.os) {
            (Base::Home, _) => home(),
            (Base::Codex, _) => variable_or("CODEX_HOME", ".codex"),
            (Base::Applications, "macos") => Some(home()?.join("Library/Application Support")),
            (Base::Config, "macos") => Some(home()?.join(".config")),
            (_, "windows") => variable_or("APPDATA", "AppData/Roaming"),
            _ => variable_or("XDG_CONFIG_HOME", ".config"),
        }
    }
}

impl Client {
    /// Returns the facts about the client.
    pub(super) const fn facts(self) -> Facts {
        let (name, format, user, project) = match self {
            Self::ClaudeDesktop => (
                "Claude Desktop",
                json("mcpServers", false, false, false),
                (Base::Applications, "Claude/claude_desktop_config.json"),
                None,
            ),
            Self::ClaudeCode => (
                "Claude Code",
                json("mcpServers", true, false, false),
                (Base::Home, ".claude.json"),
                Some(".mcp.json"),
            ),
            Self::Cursor => (
                "Cursor",
                json("mcpServers", true, true, true),
                (Base::Home, ".cursor/mcp.json"),
                Some(".cursor/mcp.json"),
            ),
            Self::VsCode => (
                "VS Code",
                json("servers", true, true, true),
                (Base::Applications, "Code/User/mcp.json"),
                Some(".vscode/mcp.json"),
            ),
            Self::Codex => (
                "Codex",
                Format::Toml,
                (Base::Codex, "config.toml"),
                Some(".codex/config.toml"),
            ),
            Self::Gemini => (
                "Gemini CLI",
                json("mcpServers", false, true, false),
                (Base::Home, ".gemini/settings.json"),
                Some(".gemini/settings.json"),
            ),
            Self::Zed => (
                "Zed",
                json("context_servers", false, true, true),
                (Base::Config, "zed/settings.json"),
                Some(".zed/settings.json"),
            ),
        };
        Facts {
            name,
            format,
            user,
            project,
        }
    }
}

impl Facts {
    /// Returns the file for all projects of the user; `None` if the user has no home.
    pub(super) fn user_file(&self, system: System) -> Option<PathBuf> {
        let (base, path) = self.user;
        Some(system.directory(base)?.join(path))
    }

    /// Returns the file for one project; `None` if the client has none.
    pub(super) fn project_file(&self, project: &Path) -> Option<PathBuf> {
        Some(project.join(self.project?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_files() {
        let files = |client: Client| {
            ["linux", "macos", "windows"].map(|os| {
                let variable = |name: &str| (name == "HOME").then(|| "/h".into());
                let file = client.facts().user_file(System { os, variable });
                file.unwrap().display().to_string()
            })
        };
        for (client, expected) in [
            (
                Client::ClaudeDesktop,
                [
                    "/h/.config/Claude/claude_desktop_config.json",
                    "/h/Library/Application Support/Claude/claude_desktop_config.json",
                    "/h/AppData/Roaming/Claude/claude_desktop_config.json",
                ],
            ),
            (
                Client::VsCode,
                [
                    "/h/.config/Code/User/mcp.json",
                    "/h/Library/Application Support/Code/User/mcp.json",
                    "/h/AppData/Roaming/Code/User/mcp.json",
                ],
            ),
            (
                Client::Zed,
                [
                    "/h/.config/zed/settings.json",
                    "/h/.config/zed/settings.json",
                    "/h/AppData/Roaming/zed/settings.json",
                ],
            ),
            (Client::Codex, ["/h/.codex/config.toml"; 3]),
            (Client::ClaudeCode, ["/h/.claude.json"; 3]),
        ] {
            assert_eq!(files(client), expected);
        }
    }

    #[test]
    fn variables_name_other_places() {
        let system = System {
            os: "linux",
            variable: |name| Some(format!("/{name}").into()),
        };
        let file = |client: Client| client.facts().user_file(system).unwrap();
        let zed = "/XDG_CONFIG_HOME/zed/settings.json";
        assert_eq!(file(Client::Zed), Path::new(zed));
        assert_eq!(file(Client::Codex), Path::new("/CODEX_HOME/config.toml"));
    }
}
