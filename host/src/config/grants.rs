//! `grants = { … }` of a plugin.

use std::path::PathBuf;

use serde::Deserialize;
use toml::de::DeValue;

use super::section::{Section, Value};
use toolhost_plugin::{Grants, Preopen};
use toolhost_workspace::files::FilesGrant;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Processes {
    None,
    Own,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    None,
    Read,
    Write,
}

/// The values of `access`.
const ACCESS: &str = "\"none\", \"read\" or \"write\"";

impl From<Access> for FilesGrant {
    fn from(access: Access) -> Self {
        match access {
            Access::None => Self::None,
            Access::Read => Self::Read,
            Access::Write => Self::Write,
        }
    }
}

/// Returns what a plugin may import and use. What is not named is not granted.
pub(super) fn read(mut section: Section<'_, '_>, base: &std::path::Path) -> Grants {
    let processes: Option<Processes> = section.expect("processes", "\"none\" or \"own\"");
    let (files, file_roots) = match section.take("files") {
        Some(files) => read_files(&section, files),
        None => (FilesGrant::None, None),
    };
    let mut grants = Grants {
        processes: matches!(processes, Some(Processes::Own)),
        files,
        file_roots,
        ..Grants::default()
    };
    for (index, text) in section.texts("http").into_iter().flatten().enumerate() {
        match text.parse() {
            Ok(pattern) => grants.http.push(pattern),
            Err(error) => section.wrong(&format!("http[{index}]"), error.to_string()),
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

/// Reads `"read"`, or `{ access = "read", roots = ["docs"] }`.
fn read_files(section: &Section<'_, '_>, files: Value<'_>) -> (FilesGrant, Option<Vec<PathBuf>>) {
    let otherwise = format!(
        "it must be {ACCESS}, or a table such as {{ access = \"read\", roots = [\"docs\"] }}"
    );
    if files.get_ref().is_str() {
        let access = Access::deserialize(toml::de::ValueDeserializer::from(files));
        let access = access.inspect_err(|_| section.wrong("files", otherwise));
        return (access.map_or(FilesGrant::None, FilesGrant::from), None);
    }
    let Some(mut table) = section.table("files", files, &otherwise) else {
        return (FilesGrant::None, None);
    };
    let access: Option<Access> = table.required("access", ACCESS);
    let roots = table.required("roots", "a list of directories, such as [\"docs\"]");
    table.finish();
    (access.map_or(FilesGrant::None, FilesGrant::from), roots)
}

fn read_preopen(mut table: Section<'_, '_>, base: &std::path::Path) -> Option<Preopen> {
    let directory: Option<PathBuf> = table.required("dir", "the path of a directory");
    let name = table.required(
        "name",
        "the path under which the plugin sees it, such as \"/data\"",
    );
    let write = table.truth("write").unwrap_or_default();
    table.finish();
    Some(Preopen {
        directory: base.join(directory?),
        name: name?,
        write,
    })
}
