//! Templates: what the operator says of a kind of machine, and the parameters that a client chooses.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{ContainerConfig, Programs};

/// The keys of [`Settings`]. All others are of the provider.
const SETTINGS: [&str; 11] = [
    "title",
    "description",
    "icon",
    "tags",
    "parameters",
    "idle_seconds",
    "remove_seconds",
    "autostart",
    "start_up",
    "start_up_seconds",
    "connect_seconds",
];

/// A kind of machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The settings that all templates have.
    pub settings: Settings,
    /// The engine that makes the machines.
    pub kind: Kind,
}

/// The engine that makes the machines of a template, with its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `podman` or `docker`.
    Container(ContainerConfig),
    /// Programs of the operator.
    Command(Programs),
}

/// The settings of a template that no provider changes the meaning of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The title, for people.
    pub title: Option<String>,
    /// The purpose of the machines.
    pub description: Option<String>,
    /// The address of a picture, or an emoji.
    pub icon: Option<String>,
    /// Words by which the template is found.
    pub tags: Vec<String>,
    /// The JSON Schema of the parameters; `None`: there are none.
    pub parameters: Option<Value>,
    /// After how many seconds without a call or a process a machine is stopped.
    pub idle_seconds: Option<u64>,
    /// After how many it is removed.
    pub remove_seconds: Option<u64>,
    /// Whether a call starts a machine that is stopped.
    pub autostart: bool,
    /// A script that runs after each start of a machine, before it is used.
    pub start_up: Option<String>,
    /// How long the script is waited for.
    pub start_up_seconds: u64,
    /// How long the agent may take to connect.
    pub connect_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            title: None,
            description: None,
            icon: None,
            tags: Vec::new(),
            parameters: None,
            idle_seconds: None,
            remove_seconds: None,
            autostart: true,
            start_up: None,
            start_up_seconds: 600,
            connect_seconds: 60,
        }
    }
}

impl Template {
    /// Reads a template from its keys.
    ///
    /// # Errors
    ///
    /// The fault, with the key.
    pub fn read(mut keys: Map<String, Value>) -> Result<Self, String> {
        let provider = keys.remove("provider");
        let (settings, rest): (Map<_, _>, Map<_, _>) = keys
            .into_iter()
            .partition(|(key, _)| SETTINGS.contains(&key.as_str()));
        let text = |error: serde_json::Error| error.to_string();
        let settings: Settings = serde_json::from_value(Value::Object(settings)).map_err(text)?;
        let rest = Value::Object(rest);
        let kind = match provider.as_ref().and_then(Value::as_str) {
            Some("container") => Kind::Container(serde_json::from_value(rest).map_err(text)?),
            Some("command") => Kind::Command(serde_json::from_value(rest).map_err(text)?),
            _ => return Err("provider is \"container\" or \"command\"".to_owned()),
        };
        for (key, seconds) in [
            ("idle_seconds", settings.idle_seconds),
            ("remove_seconds", settings.remove_seconds),
        ] {
            if seconds == Some(0) {
                return Err(format!("{key} is at least 1; leave it out for never"));
            }
        }
        settings.validator()?;
        Ok(Self { settings, kind })
    }

    /// Resolves the relative paths of programs, which begin at `base`. A program without a slash is found in `PATH`.
    pub fn resolve(&mut self, base: &Path) {
        let (lines, agent) = match &mut self.kind {
            Kind::Container(config) => (vec![&mut config.engine], config.agent.as_mut()),
            Kind::Command(programs) => (programs.all_mut().into(), None),
        };
        for program in lines.into_iter().filter_map(|line| line.first_mut()) {
            if program.contains('/') {
                *program = base.join(&*program).display().to_string();
            }
        }
        if let Some(agent) = agent {
            *agent = base.join(&*agent);
        }
    }
}

impl Settings {
    /// Returns the JSON Schema of the parameters, which allows no others.
    pub fn schema(&self) -> Value {
        let mut schema = match &self.parameters {
            Some(schema) => schema.clone(),
            None => json!({}),
        };
        if let Value::Object(keys) = &mut schema {
            for (key, usual) in [
                ("type", json!("object")),
                ("additionalProperties", json!(false)),
            ] {
                keys.entry(key).or_insert(usual);
            }
        }
        schema
    }

    fn validator(&self) -> Result<jsonschema::Validator, String> {
        let schema = self.schema();
        if !schema.is_object() || schema.get("type") != Some(&json!("object")) {
            return Err("parameters is a JSON Schema of the type object".to_owned());
        }
        jsonschema::validator_for(&schema).map_err(|error| format!("parameters: {error}"))
    }

    /// Returns these parameters with the defaults of those that are missing.
    ///
    /// # Errors
    ///
    /// The first parameter that is not as the template says.
    pub fn complete(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut all = given.clone();
        let schema = self.schema();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if let Some(default) = property.get("default") {
                all.entry(name).or_insert_with(|| default.clone());
            }
        }
        let whole = Value::Object(all.clone());
        match self.validator()?.validate(&whole) {
            Ok(()) => Ok(all),
            Err(error) => {
                let place = error.instance_path().to_string().replace('/', ".");
                Err(format!("parameters{place}: {error}"))
            }
        }
    }

    /// Returns how long the agent may take to connect.
    pub(crate) fn connect(&self) -> Duration {
        Duration::from_secs(self.connect_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: Value) -> Result<Template, String> {
        let Value::Object(keys) = keys else { panic!() };
        Template::read(keys)
    }

    #[test]
    fn a_template_is_read_and_its_mistakes_are_named() {
        let mut template = read(json!({
            "provider": "container", "image": "debian", "title": "A box", "idle_seconds": 60, "agent": "bin/agent",
        }))
        .unwrap();
        template.resolve(Path::new("/etc/t"));
        assert_eq!(template.settings.title.as_deref(), Some("A box"));
        assert!(template.settings.autostart);
        let Kind::Container(config) = &template.kind else {
            panic!()
        };
        assert_eq!(config.agent.as_deref(), Some(Path::new("/etc/t/bin/agent")));
        assert_eq!(config.engine, ["podman"]);
        for (keys, said) in [
            (json!({ "image": "a" }), "provider is"),
            (json!({ "provider": "vm" }), "provider is"),
            (json!({ "provider": "container" }), "missing field `image`"),
            (
                json!({ "provider": "container", "image": "a", "start": [] }),
                "unknown field `start`",
            ),
            (
                json!({ "provider": "command", "create": ["a"] }),
                "missing field `start`",
            ),
            (
                json!({ "provider": "container", "image": "a", "idle_seconds": 0 }),
                "idle_seconds is at least 1",
            ),
            (
                json!({ "provider": "container", "image": "a", "tags": "a" }),
                "invalid type: string",
            ),
            (
                json!({ "provider": "container", "image": "a", "parameters": { "type": "array" } }),
                "parameters is a JSON Schema",
            ),
            (
                json!({ "provider": "container", "image": "a", "parameters": { "required": 1 } }),
                "parameters: ",
            ),
        ] {
            let error = read(keys.clone()).unwrap_err();
            assert!(error.contains(said), "{keys}: {error}");
        }
    }

    #[test]
    fn parameters_have_defaults_and_choices() {
        let template = read(json!({
            "provider": "container", "image": "a", "parameters": { "properties": {
                "size": { "type": "integer", "default": 2 }, "color": { "enum": ["red", "blue"] },
            } },
        }));
        let settings = template.unwrap().settings;
        let complete = |given: Value| settings.complete(given.as_object().unwrap());
        assert_eq!(
            Value::Object(complete(json!({ "color": "red" })).unwrap()),
            json!({ "size": 2, "color": "red" })
        );
        for (given, said) in [
            (json!({ "color": "green" }), "parameters.color: "),
            (json!({ "size": "big" }), "parameters.size: "),
            (json!({ "other": 1 }), "'other' was unexpected"),
        ] {
            let error = complete(given).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let none = Settings::default();
        assert!(none.complete(&Map::new()).unwrap().is_empty());
        none.complete(json!({ "a": 1 }).as_object().unwrap())
            .unwrap_err();
    }
}
