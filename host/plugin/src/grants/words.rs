//! Grants in words, for people who look at what a plugin may do.

use super::{GrantValue, Grants};
use toolhost_workspace::files::FilesGrant;

impl Grants {
    /// Returns what the plugin may do, a sentence without its subject for each grant: `reads the files of the workspace`.
    pub fn in_words(&self) -> Vec<String> {
        let capabilities = self.granted.iter().filter_map(|(name, value)| match *name {
            "files" => self.files_in_words(),
            "processes" => Some(processes_in_words(value)),
            "http" => Some(format!("sends HTTP requests to {value}")),
            "calls" => Some(format!(
                "calls the tools {value}, with the rights of its caller"
            )),
            name => Some(format!("uses {name}: {value}")),
        });
        let variables =
            (!self.env.is_empty()).then(|| format!("sees the variables {}", self.env.join(", ")));
        let directories = self.preopens.iter().map(|preopen| {
            let verb = if preopen.write {
                "reads and changes"
            } else {
                "reads"
            };
            let directory = preopen.directory.display();
            format!("{verb} the directory {directory} as {}", preopen.name)
        });
        capabilities.chain(variables).chain(directories).collect()
    }

    fn files_in_words(&self) -> Option<String> {
        let verb = match self.files() {
            FilesGrant::None => return None,
            FilesGrant::Read => "reads",
            FilesGrant::Write => "reads and changes",
        };
        let place = match self.file_roots() {
            None => "the files of the workspace".to_owned(),
            Some(roots) => {
                let roots: Vec<_> = roots
                    .iter()
                    .map(|root| root.display().to_string())
                    .collect();
                format!("the files below {}", roots.join(", "))
            }
        };
        Some(format!("{verb} {place}"))
    }
}

fn processes_in_words(value: &GrantValue) -> String {
    const ALL: &str =
        "runs commands as the user of the host, and sees and signals those of the calling chat";
    match value {
        GrantValue::Table(table) if !table.is_empty() => format!("{ALL}, with {value}"),
        _ => ALL.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Preopen;
    use crate::{CAPABILITIES, Capability};

    fn granted(name: &str, value: &str) -> Grants {
        let mut grants = Grants::default();
        let value = serde_json::from_str(value).unwrap();
        grants
            .grant(Capability::named(name).unwrap(), value)
            .unwrap();
        grants
    }

    #[test]
    fn each_grant_is_a_sentence() {
        assert!(Grants::default().in_words().is_empty());
        for (name, value, words) in [
            ("files", r#""read""#, "reads the files of the workspace"),
            (
                "files",
                r#"{"access":"write","roots":["docs","/srv"]}"#,
                "reads and changes the files below docs, /srv",
            ),
            (
                "processes",
                r#""own""#,
                "runs commands as the user of the host, and sees and signals those of the calling chat",
            ),
            (
                "processes",
                r#"{"network":"none"}"#,
                "runs commands as the user of the host, and sees and signals those of the calling chat, with network: none",
            ),
            (
                "http",
                r#"["https://a.example"]"#,
                "sends HTTP requests to https://a.example",
            ),
        ] {
            assert_eq!(granted(name, value).in_words(), [words]);
        }
        let wasi = Grants {
            env: vec!["A".into(), "B".into()],
            preopens: vec![Preopen {
                directory: "/srv/data".into(),
                name: "/data".into(),
                write: false,
            }],
            ..Grants::default()
        };
        assert_eq!(
            wasi.in_words(),
            [
                "sees the variables A, B",
                "reads the directory /srv/data as /data"
            ]
        );
    }

    #[test]
    fn every_capability_has_words_of_its_own() {
        for capability in &CAPABILITIES {
            let mut grants = Grants::default();
            grants.grant_least(capability);
            let words = grants.in_words();
            assert!(
                words.iter().all(|text| !text.starts_with("uses ")),
                "{words:?}"
            );
            assert_eq!(words.len(), 1);
        }
    }
}
