//! Plugins while a host runs: configured, exchanged, turned off, quarantined.

mod changes;
mod configured;
pub(crate) mod packages;
mod quarantine;
mod served;

use std::path::Path;

use serde_json::json;
use toolhost::config::Config;
use toolhost_core::{Builder, Host, PluginInfo, PluginState};

use crate::guest::guest;
use crate::harness::{self, Setup, request};

/// A guest whose tool `t` replies with this text of five bytes.
fn greeting(text: &str) -> Vec<u8> {
    assert_eq!(text.len(), 5);
    let mut component = guest("well_behaved");
    let at: Vec<_> = component
        .windows(5)
        .enumerate()
        .filter(|(_, window)| *window == b"hello")
        .map(|(at, _)| at)
        .collect();
    let [at] = at[..] else {
        panic!("the text is there once")
    };
    component[at..at + 5].copy_from_slice(text.as_bytes());
    component
}

/// Replaces a file as a whole, as a careful program does.
fn replace(path: &Path, content: impl AsRef<[u8]>) {
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, content).unwrap();
    set_mode(&temporary, 0o644);
    std::fs::rename(temporary, path).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// What the only tool of a host says, or why it says nothing.
async fn said(host: &Host) -> String {
    match harness::call(host, request("chat", "t", &json!({}))).await {
        Ok(outcome) => match &outcome.result {
            Ok(_) => {
                let shown = serde_json::to_value(outcome.as_ref()).unwrap();
                shown["content"][0]["text"].as_str().unwrap().to_owned()
            }
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

/// A directory with a configuration and components.
struct Configured {
    directory: tempfile::TempDir,
}

impl Configured {
    fn new(text: &str) -> Self {
        let configured = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        configured.write("toolhost.toml", text);
        configured
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        replace(&path, content);
    }

    fn read(&self) -> Config {
        Config::read(&self.path("toolhost.toml")).unwrap()
    }

    /// A host with these plugins and no others.
    async fn host(&self) -> Setup {
        self.host_with(|builder| builder).await
    }

    async fn host_with(&self, change: impl FnOnce(Builder) -> Builder) -> Setup {
        let set = self.read().plugins().unwrap();
        Setup::with(|builder| {
            let builder = builder
                .without_shell()
                .files(toolhost_workspace::files::FilesGrant::None);
            change(builder.configured(set))
        })
        .await
    }
}

fn state(host: &Host, name: &str) -> PluginInfo {
    let found = host.plugins().into_iter().find(|info| info.name == name);
    found.unwrap_or_else(|| panic!("there is no plugin {name}"))
}

fn is(host: &Host, name: &str, expected: PluginState) {
    let info = state(host, name);
    assert_eq!(info.state, expected, "{info:?}");
}
