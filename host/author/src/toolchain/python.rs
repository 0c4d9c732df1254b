//! Python: componentize-py.

use std::path::{Path, PathBuf};

use super::{Build, BuildError, Program, mistake, world};
use crate::embedded;

const COMPONENTIZE: &str = "componentize-py";
const PACKAGE: &str = "componentize-py==0.25.1";

pub(super) async fn build(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    let componentize = match build.find(COMPONENTIZE) {
        Some(found) => found,
        None => {
            let missing = Build::from_pypi(COMPONENTIZE, PACKAGE);
            build.provide(missing).await?;
            build.find(COMPONENTIZE).unwrap_or(COMPONENTIZE.into())
        }
    };
    world::write(build)?;
    copy_sources(build)?;
    let made = build.made().join("module.wasm");
    let program = build
        .program(componentize)
        .args(["-d", "build/wit", "-w", world::WORLD, "componentize"])
        .args(["-p", "build/python"])
        // The stack of componentize-py itself says nothing to the author.
        .env("RUST_BACKTRACE", "0");
    let program = match build.folder.join("packages").is_dir() {
        true => program.args(["-p", "packages"]),
        false => program,
    };
    let program = program.args(["toolhost.component", "-o", "build/module.wasm"]);
    program.run_explained(mistake::of_python).await?;
    Ok(made)
}

pub(super) fn tests(build: &Build<'_>) -> Program {
    build
        .program("python3")
        .args(["-m", "unittest", "--quiet"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
}

/// Copies the sources to where Python may leave its own files beside them.
fn copy_sources(build: &Build<'_>) -> Result<(), BuildError> {
    let to = build.made().join("python");
    _ = std::fs::remove_dir_all(&to);
    let is_source = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".py") && !name.starts_with("test_")
    };
    copy(build.folder, &to, &|path| is_source(path))?;
    let package = "toolhost";
    let is_kept = |path: &Path| path.is_dir() && !path.ends_with("__pycache__") || is_source(path);
    copy(&build.folder.join(package), &to.join(package), &is_kept)
}

/// Copies the files and folders for which `is_kept` is true, with the folders below them.
fn copy(from: &Path, to: &Path, is_kept: &dyn Fn(&Path) -> bool) -> Result<(), BuildError> {
    let unreadable = |source| BuildError::File {
        action: "read",
        path: from.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(from).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(name) = path.file_name().filter(|_| is_kept(&path)) else {
            continue;
        };
        if path.is_dir() {
            copy(&path, &to.join(name), is_kept)?;
        } else {
            let content = std::fs::read(&path).map_err(unreadable)?;
            embedded::write(&to.join(name), &content)?;
        }
    }
    Ok(())
}
