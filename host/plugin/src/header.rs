//! The fields with which the audit trail describes a loaded plugin.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Limits, Options, Plugin};
use crate::grants::Grants;

impl Plugin {
    /// Returns the fields with which the audit trail records the load of this plugin with these options. Of settings and
    /// secrets, only the names are included.
    pub fn header(&self, options: &Options) -> Value {
        let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Value>();
        json!({
            "plugin": options.name,
            "sha256": self.digest().to_string(),
            "size": self.size(),
            "imports": self.imports(),
            "grants": grants(&options.grants),
            "limits": limits(&options.limits),
            "settings": names(&options.settings.settings),
            "secrets": names(&options.settings.secrets),
        })
    }
}

/// Returns the differences between two sets of options of one plugin, for the audit trail and the log. Of settings and secrets,
/// only the names are included.
pub fn changes(before: &Options, after: &Options) -> Value {
    let mut changes = Map::new();
    let mut compare = |name: &str, before: Value, after: Value| {
        if before != after {
            changes.insert(name.to_owned(), json!({ "before": before, "after": after }));
        }
    };
    let digest = |options: &Options| options.sha256.map(|digest| digest.to_string()).into();
    compare("grants", grants(&before.grants), grants(&after.grants));
    compare("limits", limits(&before.limits), limits(&after.limits));
    compare("sha256", digest(before), digest(after));
    for (name, before, after) in [
        (
            "settings",
            &before.settings.settings,
            &after.settings.settings,
        ),
        ("secrets", &before.settings.secrets, &after.settings.secrets),
    ] {
        let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let different = all
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name));
        let different: Vec<_> = different.cloned().collect();
        if !different.is_empty() {
            changes.insert(name.to_owned(), different.into());
        }
    }
    changes.into()
}

fn grants(grants: &Grants) -> Value {
    let preopens = grants.preopens.iter().map(|preopen| {
        json!({
            "directory": preopen.directory.to_string_lossy(),
            "name": preopen.name,
            "write": preopen.write,
        })
    });
    let mut all = json!(grants.granted());
    if let Value::Object(all) = &mut all {
        all.insert("env".into(), json!(grants.env));
        all.insert("preopens".into(), preopens.collect());
    }
    all
}

/// Returns the limits that are not the defaults, times in milliseconds.
fn limits(limits: &Limits) -> Value {
    let (mut own, defaults) = (json!(limits), json!(Limits::default()));
    if let Value::Object(own) = &mut own {
        own.retain(|name, value| defaults.get(name) != Some(value));
    }
    own
}
