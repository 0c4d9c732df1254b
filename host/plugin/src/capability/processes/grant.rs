//! The grant to run commands, and how an operator narrows it.

use serde::Deserialize as _;

use crate::grants::{GrantValue, InvalidGrant};
use toolhost_workspace::process::{Mode, Narrower, Network};

/// The values of `mode`.
const MODES: &str = r#""workspace" or "read-only""#;

/// The values of `network`.
const NETWORKS: &str =
    r#""all", "none" or a list of hosts, such as ["github.com", "*.crates.example:443"]"#;

/// Reads `"own"`, or `{ mode = "read-only", network = "none" }`.
pub(super) fn read(value: GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>) {
    match value {
        GrantValue::Text(text) if text == "none" => (None, Vec::new()),
        GrantValue::Text(text) if text == "own" => (Some(GrantValue::Text(text)), Vec::new()),
        GrantValue::Table(table) => {
            let problems: Vec<_> = table.iter().filter_map(problem).collect();
            let granted = problems.is_empty().then_some(GrantValue::Table(table));
            (granted, problems)
        }
        GrantValue::Text(_) | GrantValue::List(_) => {
            let what =
                r#""none", "own", or a table such as { mode = "read-only", network = "none" }"#;
            (None, vec![InvalidGrant::must_be(what)])
        }
    }
}

fn problem((key, value): (&String, &GrantValue)) -> Option<InvalidGrant> {
    let text = match key.as_str() {
        "mode" if mode(value).is_some() => return None,
        "mode" => format!("it must be {MODES}"),
        "network" => match network(value) {
            Some(Network::Hosts(hosts)) => toolhost_egress::Rules::new(&hosts).err()?.to_string(),
            Some(Network::All | Network::None) => return None,
            None => format!("it must be {NETWORKS}"),
        },
        _ => "there is no such key; there are mode, network".to_owned(),
    };
    Some(InvalidGrant {
        part: format!(".{key}"),
        text,
    })
}

/// Returns how a granted value narrows the policy of the workspace.
pub(super) fn narrower(value: Option<&GrantValue>) -> Narrower {
    let Some(GrantValue::Table(table)) = value else {
        return Narrower::default();
    };
    Narrower {
        mode: table.get("mode").and_then(mode),
        network: table.get("network").and_then(network),
    }
}

/// The mode `off` narrows nothing, so it is none of the values.
fn mode(value: &GrantValue) -> Option<Mode> {
    let GrantValue::Text(text) = value else {
        return None;
    };
    let mode = text.parse().ok();
    mode.filter(|mode| *mode != Mode::Off)
}

fn network(value: &GrantValue) -> Option<Network> {
    Network::deserialize(serde_json::to_value(value).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> GrantValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_table_narrows_the_policy() {
        for (text, mode, network) in [
            (r#""own""#, None, None),
            (r#"{}"#, None, None),
            (r#"{"mode": "read-only"}"#, Some(Mode::ReadOnly), None),
            (r#"{"network": "none"}"#, None, Some(Network::None)),
            (
                r#"{"mode": "workspace", "network": ["a.example:443"]}"#,
                Some(Mode::Workspace),
                Some(Network::Hosts(vec!["a.example:443".into()])),
            ),
        ] {
            let (granted, problems) = read(value(text));
            assert_eq!(problems, [], "{text}");
            assert_eq!(
                narrower(granted.as_ref()),
                Narrower { mode, network },
                "{text}"
            );
        }
    }

    #[test]
    fn other_values_grant_nothing_and_say_why() {
        for (text, part, expected) in [
            (r#""read""#, "", r#"it must be "none", "own""#),
            (r#"["own"]"#, "", r#"it must be "none", "own""#),
            (r#"{"mode": "off"}"#, ".mode", "read-only"),
            (r#"{"mode": ["read-only"]}"#, ".mode", "read-only"),
            (r#"{"network": "some"}"#, ".network", "list of hosts"),
            (
                r#"{"network": ["https://a.example"]}"#,
                ".network",
                "list of hosts",
            ),
            (r#"{"network": ["127.1"]}"#, ".network", "127.1"),
            (r#"{"netwrok": "none"}"#, ".netwrok", "no such key"),
        ] {
            let (granted, problems) = read(value(text));
            assert_eq!(granted, None, "{text}");
            let [problem] = &problems[..] else {
                panic!("{text}: {problems:?}");
            };
            assert_eq!(problem.part, part);
            assert!(problem.text.contains(expected), "{text}: {problem}");
        }
    }
}
