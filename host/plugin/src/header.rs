//! The audit trail's header of a loaded plugin.

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
    let named = |limits: &Limits| {
        let time = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        [
            ("memory", limits.memory as u64),
            ("table_elements", limits.table_elements as u64),
            ("handles", limits.handles as u64),
            ("guest_time_ms", time(limits.guest_time)),
            ("deadline_ms", time(limits.deadline)),
            ("max_deadline_ms", time(limits.max_deadline)),
            ("cancel_grace_ms", time(limits.cancel_grace)),
            ("reply", limits.reply as u64),
            ("log", limits.log as u64),
            ("host_call_data", limits.host_call_data as u64),
            ("host_data", limits.host_data as u64),
            ("concurrent_calls", limits.concurrent_calls as u64),
            ("calls_per_chat", limits.calls_per_chat as u64),
            ("instances", limits.instances as u64),
            ("process_starts", limits.process_starts.into()),
            ("http_requests", limits.http_requests.into()),
            ("http_bytes", limits.http_bytes),
            ("component", limits.component as u64),
            ("compile_time_ms", time(limits.compile_time)),
            ("traps", limits.traps.into()),
        ]
    };
    let (own, defaults) = (named(limits), named(&Limits::default()));
    let different = own.into_iter().zip(defaults);
    different
        .filter(|(own, default)| own != default)
        .map(|((name, value), _)| (name.to_owned(), value.into()))
        .collect::<Map<_, _>>()
        .into()
}
