//! Manifests of the SDK for Rust that need no workspace, and a lock file for them.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// A manifest that needs no workspace.
pub(crate) struct StandAlone {
    pub(crate) text: String,
    /// The names of its dependencies.
    pub(crate) needed: Vec<String>,
}

/// Returns the manifest of a crate of the SDK with the versions that its workspace gives it.
pub(crate) fn stand_alone(
    repository: &Path,
    sdk: &Path,
    folder: &Path,
) -> Result<StandAlone, Box<dyn Error>> {
    let workspace = read(&repository.join("Cargo.toml"))?;
    let workspace = table(&workspace, "workspace")?;
    let manifest = read(&folder.join("Cargo.toml"))?;
    let mut text = String::new();
    writeln!(text, "[package]")?;
    for (key, value) in table(&manifest, "package")? {
        let value = match value {
            Value::Table(_) => table(workspace, "package")?.get(key),
            value => Some(value),
        };
        let value = value.ok_or_else(|| format!("the workspace has no {key}"))?;
        writeln!(text, "{key} = {}", inline(value)?)?;
    }
    if let Some(Value::Boolean(true)) = manifest.get("lib").and_then(|lib| lib.get("proc-macro")) {
        writeln!(text, "\n[lib]\nproc-macro = true")?;
    }
    if let Some(Value::Table(features)) = manifest.get("features") {
        writeln!(text, "\n[features]")?;
        for (key, value) in features {
            writeln!(text, "{key} = {}", inline(value)?)?;
        }
    }
    let mut needed = Vec::new();
    let mut all = vec![(String::new(), table(&manifest, "dependencies")?)];
    if let Some(Value::Table(targets)) = manifest.get("target") {
        for (target, tables) in targets {
            let dependencies = tables.get("dependencies").and_then(Value::as_table);
            all.extend(dependencies.map(|table| (format!("target.{target:?}."), table)));
        }
    }
    for (target, dependencies) in all {
        writeln!(text, "\n[{target}dependencies]")?;
        for (key, here) in dependencies {
            let value = table(workspace, "dependencies")?.get(key);
            let value = value.ok_or_else(|| format!("the workspace has no {key}"))?;
            let value = dependency(repository, sdk, value, here)?;
            if value.get("path").is_none() {
                needed.push(key.clone());
            }
            writeln!(text, "{key} = {}", inline(&Value::Table(value))?)?;
        }
    }
    Ok(StandAlone { text, needed })
}

/// Returns a dependency as the workspace has it, with the features that the crate itself names. A path is relative to the SDK.
fn dependency(
    repository: &Path,
    sdk: &Path,
    value: &Value,
    here: &Value,
) -> Result<Table, Box<dyn Error>> {
    let mut all = match value {
        Value::Table(table) => table.clone(),
        version => Table::from_iter([("version".to_owned(), version.clone())]),
    };
    if let Some(path) = all.get("path").and_then(Value::as_str) {
        let path = repository.join(path);
        let path = path.strip_prefix(sdk)?.display().to_string();
        all.insert("path".to_owned(), path.into());
    }
    let here = here.as_table().into_iter().flatten();
    for (key, value) in here.filter(|(key, _)| *key != "workspace") {
        all.insert(key.clone(), value.clone());
    }
    Ok(all)
}

/// Returns the part of the lock file of the repository that crates with these names need.
pub(crate) fn lock(repository: &Path, mut needed: Vec<String>) -> Result<String, Box<dyn Error>> {
    let lock = read(&repository.join("Cargo.lock"))?;
    let version = lock.get("version").ok_or("the lock file has no version")?;
    let packages = lock.get("package").and_then(Value::as_array);
    let packages = packages.ok_or("the lock file has no packages")?;
    let text = |package: &Value, key: &str| {
        let text = package.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let mut chosen = BTreeSet::new();
    // A dependency is `name`, or `name version` where there are several.
    while let Some(wanted) = needed.pop() {
        let (name, version) = wanted.split_once(' ').unwrap_or((&wanted, ""));
        for (index, package) in packages.iter().enumerate() {
            let is_it = text(package, "name") == name;
            if !is_it || !(version.is_empty() || text(package, "version") == version) {
                continue;
            }
            if chosen.insert(index) {
                let needs = package.get("dependencies").and_then(Value::as_array);
                let needs = needs.into_iter().flatten().filter_map(Value::as_str);
                needed.extend(needs.map(str::to_owned));
            }
        }
    }
    let mut made = format!("version = {}\n", inline(version)?);
    for package in chosen.into_iter().filter_map(|index| packages.get(index)) {
        made.push_str("\n[[package]]\n");
        let package = package.as_table().ok_or("a package is no table")?;
        for (key, value) in package {
            writeln!(made, "{key} = {}", inline(value)?)?;
        }
    }
    Ok(made)
}

fn read(path: &Path) -> Result<Table, Box<dyn Error>> {
    Ok(fs::read_to_string(path)?.parse()?)
}

fn table<'t>(table: &'t Table, key: &str) -> Result<&'t Table, String> {
    let table = table.get(key).and_then(Value::as_table);
    table.ok_or_else(|| format!("there is no [{key}]"))
}

/// Writes a value on one line.
fn inline(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(format!("{text:?}")),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(value) => Ok(value.to_string()),
        Value::Array(values) => {
            let values = values.iter().map(inline).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", values.join(", ")))
        }
        Value::Table(table) => {
            let entries = table.iter().map(|(key, value)| {
                let value = inline(value)?;
                Ok(format!("{key} = {value}"))
            });
            let entries = entries.collect::<Result<Vec<_>, String>>()?;
            Ok(format!("{{ {} }}", entries.join(", ")))
        }
        other => Err(format!("{other:?} is not expected")),
    }
}
