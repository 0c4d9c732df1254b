//! The settings and secrets of a plugin.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

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
