//! Reads the grants of a plugin from the configuration, `grants = { … }`. Those of the command line are read in `cli/given.rs`, and all are
//! enforced in `host/plugin/src/imports.rs` and `capability.rs`.

use std::path::PathBuf;

use serde::Deserialize;
use toml::de::DeValue;

use super::section::{Section, Value};
use toolhost_plugin::{CAPABILITIES, GrantValue, Grants, Preopen};

/// Returns the grants of a plugin. Capabilities that are not named are not granted.
pub(super) fn read_grants(mut section: Section<'_, '_>, base: &std::path::Path) -> Grants {
    let mut grants = Grants::default();
    for capability in &CAPABILITIES {
        let name = capability.name();
        let Some(value) = section.take(name) else {
            continue;
        };
        // A value of another type, such as a number, grants nothing: the error of the capability names the values that it
        // takes.
        let value = GrantValue::deserialize(toml::de::ValueDeserializer::from(value))
            .unwrap_or(GrantValue::Text(String::new()));
        for problem in grants.grant(capability, value).err().into_iter().flatten() {
            section.wrong(&format!("{name}{}", problem.part), problem.text);
        }
    }
    for (index, name) in section.texts("env").into_iter().flatten().enumerate() {
        if name.is_empty() || name.contains(['=', '\0']) {
            let problem = format!("{name:?} cannot be the name of a variable");
            section.wrong(&format!("env[{index}]"), problem);
        }
        grants.env.push(name);
    }
    const PREOPENS: &str = "it must be a list such as [{ dir = \"data\", name = \"/data\" }]";
    match section.take("preopens").map(Value::into_inner) {
        None => {}
        Some(DeValue::Array(preopens)) => {
            for (index, preopen) in preopens.into_iter().enumerate() {
                let key = format!("preopens[{index}]");
                let preopen = section.table(&key, preopen, PREOPENS);
                grants
                    .preopens
                    .extend(preopen.and_then(|table| read_preopen(table, base)));
            }
        }
        Some(_) => section.wrong("preopens", PREOPENS),
    }
    section.finish();
    grants
}

fn read_preopen(mut table: Section<'_, '_>, base: &std::path::Path) -> Option<Preopen> {
    let directory: Option<PathBuf> = table.required("dir", "the path of a directory");
    let name = table.required(
        "name",
        "the path under which the plugin sees it, such as \"/data\"",
    );
    let write = table.boolean("write").unwrap_or_default();
    table.finish();
    Some(Preopen {
        directory: base.join(directory?),
        name: name?,
        write,
    })
}
