//! `[workspaces]`: the directories of workspaces with names, and the agents that have others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolhost_link::{Address, Agents, AgentsConfig, Lookup, TlsFiles};
use toolhost_local::DirectoriesConfig;
use toolhost_state::secret::Secret;

use super::problems::below;
use super::section::Section;

/// How the section is written.
pub(super) const WRITTEN: &str = "workspaces are written as a section [workspaces] with `root`, [workspaces.agents.NAME] or [workspaces.lookup]";

/// How an agent is written.
const AGENT: &str = "an agent is written as a section [workspaces.agents.NAME] with `url`, and `token` or `token_file`";

/// The workspaces of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspaces {
    /// Where the host makes directories, if it does.
    pub directories: Option<DirectoriesConfig>,
    /// The agents that it uses.
    pub agents: AgentsConfig,
    /// The files of tokens.
    token_files: Vec<PathBuf>,
}

impl Workspaces {
    /// Returns the directory of workspaces, if there is one.
    pub(super) fn root(&self) -> Option<PathBuf> {
        let directories = self.directories.as_ref();
        directories.map(|directories| directories.root.clone())
    }

    /// Returns the files of tokens and keys.
    pub(super) fn key_files(&self) -> Vec<PathBuf> {
        let named = self.agents.named.values().map(|address| &address.tls);
        let lookup = self.agents.lookup.iter().map(|lookup| &lookup.tls);
        let identities = named.chain(lookup).filter_map(|tls| tls.identity.as_ref());
        let keys = identities.map(|(_, key)| key.clone());
        keys.chain(self.token_files.iter().cloned()).collect()
    }

    /// Returns the keys that name something which cannot be used now, and the problem of each.
    pub(super) fn unusable(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        if let Some(directories) = &self.directories {
            let root = directories.check().err();
            problems.extend(root.map(|error| ("workspaces.root".to_owned(), error.to_string())));
            for (name, path) in &directories.templates {
                if let Err(error) = path.read_dir() {
                    let text = format!("{name}: {} cannot be read: {error}", path.display());
                    problems.push(("workspaces.templates".to_owned(), text));
                }
            }
        }
        if let Err((agent, error)) = Agents::new(self.agents.clone()) {
            let key = below("workspaces.agents", &agent);
            problems.push((key, error.to_string()));
        }
        problems
    }
}

/// Reads the section. Relative paths begin at `base`.
pub(super) fn read(mut section: Section<'_, '_>, base: &Path) -> Workspaces {
    let root: Option<String> = section.expect("root", "the directory in which the workspaces are");
    if root.as_deref() == Some("") {
        section.wrong("root", "it is the path of a directory, and is empty");
    }
    let templates = templates(&mut section, base);
    if root.is_none() && section.has_key("templates") {
        section.wrong_here("root is missing; it is the directory in which the workspaces are");
    }
    let mut agents = AgentsConfig::default();
    let mut token_files = Vec::new();
    let named = section.section_of("agents", AGENT);
    for (name, value) in named.into_iter().flat_map(|mut named| {
        let all = named.rest();
        all.into_iter()
            .map(move |(name, value)| {
                let table = named.table(&name, value, AGENT);
                (name, table)
            })
            .collect::<Vec<_>>()
    }) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        let Some(mut agent) = value else {
            continue;
        };
        if name.is_empty() || !name.bytes().all(is_plain) {
            agent.wrong_here(format!(
                "{name:?}: the name of an agent has only letters, digits, `-`, `_`, `.` and `/`"
            ));
        }
        let url = agent.required(
            "url",
            "the address of the agent, such as \"http://10.0.0.7:7412\"",
        );
        let token = token(&mut agent, base, &mut token_files);
        if token.is_none() {
            agent.wrong_here(AGENT);
        }
        let tls = tls(&mut agent, base);
        agent.finish();
        if let (Some(url), Some(token)) = (url, token) {
            agents.named.insert(name, Address { url, token, tls });
        }
    }
    if let Some(mut lookup) = section.section_of(
        "lookup",
        "the lookup of agents is written as a section [workspaces.lookup] with `url`",
    ) {
        let url = lookup.required(
            "url",
            "the address of a service that knows where agents are",
        );
        let token = token(&mut lookup, base, &mut token_files);
        let tls = tls(&mut lookup, base);
        lookup.finish();
        agents.lookup = url.map(|url| Lookup { url, token, tls });
    }
    agents.allowed = section.texts("agent_urls").unwrap_or_default();
    section.finish();
    Workspaces {
        directories: root.map(|root| DirectoriesConfig {
            root: base.join(root),
            templates,
        }),
        agents,
        token_files,
    }
}

fn templates(section: &mut Section<'_, '_>, base: &Path) -> BTreeMap<String, PathBuf> {
    let mut templates = BTreeMap::new();
    let named = section.expect::<BTreeMap<String, String>>(
        "templates",
        "a table of directories, such as { python = \"templates/python\" }",
    );
    for (name, directory) in named.into_iter().flatten() {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_plain) {
            section.wrong(
                "templates",
                format!(
                    "{name:?}: the name of a template has only letters, digits, `-`, `_` and `.`"
                ),
            );
        }
        templates.insert(name, base.join(directory));
    }
    templates
}

/// Takes the token of a section, from the section or from a file.
fn token(section: &mut Section<'_, '_>, base: &Path, files: &mut Vec<PathBuf>) -> Option<Secret> {
    let given = section.expect::<String>("token", "a text in quotes");
    let file = section.expect::<String>("token_file", "the path of a file that has the token");
    match (given, file) {
        (Some(_), Some(_)) => {
            section.wrong("token_file", "the token is given twice: leave out `token`");
            None
        }
        (Some(token), None) => Some(Secret::new(token)),
        (None, Some(file)) => {
            let path = base.join(&file);
            let token = std::fs::read_to_string(&path);
            files.push(path);
            let token = token.unwrap_or_else(|error| {
                section.wrong("token_file", format!("{file}: {error}"));
                String::new()
            });
            Some(Secret::new(token.trim_ascii()))
        }
        (None, None) => None,
    }
}

/// Takes the TLS files of a section.
fn tls(section: &mut Section<'_, '_>, base: &Path) -> TlsFiles {
    let mut path = |key, this| {
        let path = section.expect::<String>(key, this);
        path.map(|path| base.join(path))
    };
    let authorities = path("ca", "the path of the certificates of authorities, in PEM");
    let certificate = path("cert", "the path of the certificate of this host, in PEM");
    let key = path("key", "the path of its private key, in PEM");
    if certificate.is_some() != key.is_some() {
        section.wrong_here("`cert` and `key` belong together: one of them is missing");
    }
    TlsFiles {
        authorities,
        identity: certificate.zip(key),
    }
}
