//! `toolhost:plugin/settings`: the settings and secrets that the operator gave this plugin.

use std::sync::Arc;

use wasmtime::Result;
use wasmtime::component::Linker;

use super::bindings::toolhost::plugin::settings as wit;
use super::{CallContext, Of, Scope, State, View};
use crate::cause::Evidence;
use crate::settings::Settings;

/// How much of a name is repeated in an error, in bytes.
const MAX_NAME: usize = 100;

/// The settings of the plugin of a call, the scope that records refusals, and the evidence of settings that are missing.
#[derive(Debug)]
pub(crate) struct Given {
    settings: Arc<Settings>,
    scope: Scope,
    evidence: Evidence,
}

impl Given {
    pub(super) fn begin(context: &CallContext) -> Self {
        Self {
            settings: Arc::clone(&context.settings),
            scope: context.scope("secrets"),
            evidence: context.evidence.clone(),
        }
    }
}

/// Links the interface.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    wit::add_to_linker::<State, Of<Given>>(linker, State::view)
}

impl wit::Host for View<'_, Given> {
    async fn get(&mut self, key: String) -> Result<Option<String>> {
        let given = self.state.settings.settings.get(&key).cloned();
        if given.is_none() {
            self.state.evidence.setting_is_missing(&key);
        }
        Ok(given)
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
