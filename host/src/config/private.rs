//! The files that a configuration names and that commands and tools may not reach.

use std::path::PathBuf;

use toolhost_sandbox::is_of_system;

use super::{Config, Store};

impl Config {
    /// Returns the files of tokens, keys and passwords that the file names.
    pub fn key_files(&self) -> Vec<PathBuf> {
        self.token_files()
            .into_iter()
            .chain(self.workspaces.key_files())
            .chain(self.store.as_ref().and_then(Store::private_path))
            .chain(
                self.webhooks
                    .iter()
                    .map(|(_, webhook)| webhook.secret_file.clone()),
            )
            .collect()
    }

    /// Returns the file, and the files that it names and that hold a secret or decide what this host runs: neither commands nor tools
    /// may reach them. They are the files of tokens, keys and passwords, the components and secrets of plugins, the library of scripts,
    /// the lock file, and the directory of workspaces.
    pub fn private_files(&self) -> Vec<PathBuf> {
        let plugins = self.plugins.values();
        let plugins = plugins.flat_map(|plugin| plugin.paths().chain(plugin.library.as_deref()));
        let plugins = plugins.chain(self.plugin_dir.as_deref());
        let plugins = plugins.map(|path| self.resolve(path));
        // Those of the system do not change, and commands may need what is beside them.
        let plugins = plugins.filter(|path| !is_of_system(path));
        self.key_files()
            .into_iter()
            .chain(plugins)
            .chain(self.lock_file())
            .chain(self.workspaces.root())
            .collect()
    }
}
