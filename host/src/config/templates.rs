//! `[templates.NAME]`: the kinds of machines for workspaces.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize as _;
use toml::de::ValueDeserializer;
use toolhost_machine::Template;

use super::Config;
use super::section::Section;

/// How templates are written.
const WRITTEN: &str =
    "templates of machines are written as sections [templates.NAME] with `provider`";

impl Config {
    /// Returns the templates of machines, by their names.
    pub fn templates(&self) -> &BTreeMap<String, Template> {
        &self.templates
    }
}

/// Reads all templates of a configuration. Relative paths begin at `base`.
pub(super) fn read(whole: &mut Section<'_, '_>, base: &Path) -> BTreeMap<String, Template> {
    let mut templates = BTreeMap::new();
    let Some(mut section) = whole.section_of("templates", WRITTEN) else {
        return templates;
    };
    for (name, value) in section.rest() {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_plain) {
            let text = "the name of a template has only letters, digits, `-`, `_` and `.`";
            section.wrong(&name, text);
            continue;
        }
        let keys = serde_json::Map::deserialize(ValueDeserializer::from(value));
        let read = keys.map_err(|_| WRITTEN.to_owned());
        match read.and_then(Template::read) {
            Ok(mut template) => {
                template.resolve(base);
                templates.insert(name, template);
            }
            Err(error) => section.wrong(&name, error),
        }
    }
    templates
}
