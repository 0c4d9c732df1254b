//! `toolhost:plugin/settings`: the settings and secrets that the operator gave this plugin.

use wasmtime::Result;

use super::View;
use super::wit::settings::Host;

/// How much of a name is repeated in an error, in bytes.
const MAX_NAME: usize = 100;

impl Host for View<'_> {
    async fn get(&mut self, key: String) -> Result<Option<String>> {
        Ok(self.scope.settings.settings.get(&key).cloned())
    }

    async fn secret(&mut self, name: String) -> Result<Result<String, String>> {
        let secret = self.scope.settings.secrets.get(&name).cloned();
        Ok(secret.ok_or_else(|| {
            // A guest can ask for megabytes, again and again.
            let name = name
                .get(..name.floor_char_boundary(MAX_NAME))
                .unwrap_or(&name);
            self.scope.denied("secrets", format!("the secret {name:?}"));
            format!("the operator gave this plugin no secret named {name:?}")
        }))
    }
}
