//! `toolhost:plugin/settings`: the settings and secrets that the operator gave this plugin.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wasmtime::Result;
use wasmtime::component::Linker;

use super::bindings::toolhost::plugin::settings as wit;
use super::{CallContext, Of, Scope, View};
use crate::store::State;

/// How much of a name is repeated in an error, in bytes.
const MAX_NAME: usize = 100;

/// Settings and secrets that the operator gave a plugin.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Settings: values that may be shown.
    pub settings: BTreeMap<String, String>,
    /// Secrets: values that must not be shown.
    pub secrets: BTreeMap<String, String>,
}

impl Settings {
    /// Returns a text with the secrets in it replaced by their names. A secret of less than six bytes stays: in a text it is
    /// most likely a word that means something else.
    pub(super) fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const SHORTEST: usize = 6;
        let mut text = Cow::Borrowed(text);
        for (name, secret) in &self.secrets {
            if secret.len() >= SHORTEST && text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), &format!("[secret {name}]")));
            }
        }
        text
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<_> = self.secrets.keys().collect();
        formatter
            .debug_struct("Settings")
            .field("settings", &self.settings)
            .field("secrets", &secrets)
            .finish()
    }
}

/// The settings of the plugin of a call, and the scope that records refusals.
#[derive(Debug)]
pub(crate) struct Given {
    settings: Arc<Settings>,
    scope: Scope,
}

impl Given {
    pub(super) fn begin(context: &CallContext) -> Self {
        Self {
            settings: Arc::clone(&context.settings),
            scope: context.scope("secrets"),
        }
    }
}

/// Links the interface.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    wit::add_to_linker::<State, Of<Given>>(linker, State::view)
}

impl wit::Host for View<'_, Given> {
    async fn get(&mut self, key: String) -> Result<Option<String>> {
        Ok(self.state.settings.settings.get(&key).cloned())
    }

    async fn secret(&mut self, name: String) -> Result<Result<String, String>> {
        let secret = self.state.settings.secrets.get(&name).cloned();
        Ok(secret.ok_or_else(|| {
            // A guest can ask for a name of megabytes, again and again.
            let name = name
                .get(..name.floor_char_boundary(MAX_NAME))
                .unwrap_or(&name);
            self.state.scope.denied(format!("the secret {name:?}"));
            format!("the operator gave this plugin no secret named {name:?}")
        }))
    }
}
