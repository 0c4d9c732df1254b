//! C: zig, or clang of a WASI SDK.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Build, BuildError, Program};
use crate::program::find;
use crate::{Language, bindings};

pub(super) async fn build(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    bindings::write_bindings(build.folder, Language::C, build.grants())?;
    let module = build.made().join("module.wasm");
    std::fs::create_dir_all(build.made()).map_err(|source| BuildError::File {
        action: "make",
        path: build.made(),
        source,
    })?;
    let compiler = compiler(build)
        .await?
        .args(["-mexec-model=reactor", "-Wall"]);
    let compiler = match build.debug {
        true => compiler.args(["-g", "-O1"]),
        false => compiler.args(["-Os", "-Wl,--strip-debug"]),
    };
    compiler
        .args(["-o", "build/module.wasm"])
        .args(sources(build)?)
        .args(["gen/plugin.c", "gen/plugin_component_type.o"])
        .run()
        .await?;
    if let (false, Some(optimize)) = (build.debug, find("wasm-opt", &[])) {
        let optimize = build.program(optimize).args(["-Os", "build/module.wasm"]);
        optimize.args(["-o", "build/module.wasm"]).run().await?;
    }
    super::go::encode(build, &module, false)
}

/// Returns the names of the sources in the folder of the plugin.
fn sources(build: &Build<'_>) -> Result<Vec<OsString>, BuildError> {
    let unreadable = |source| BuildError::File {
        action: "read",
        path: build.folder.to_owned(),
        source,
    };
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(build.folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if Path::new(&name).extension().is_some_and(|end| end == "c") {
            sources.push(name);
        }
    }
    sources.sort();
    Ok(sources)
}

/// Returns the compiler with the flags of its target.
async fn compiler(build: &Build<'_>) -> Result<Program, BuildError> {
    if let Some(sdk) = std::env::var_os("WASI_SDK_PATH") {
        let clang = PathBuf::from(sdk).join("bin/clang");
        return Ok(build.program(clang).arg("--target=wasm32-wasip1"));
    }
    let target = ["cc", "-target", "wasm32-wasi"];
    if let Some(zig) = find("zig", &[]) {
        return Ok(build.program(zig).args(target));
    }
    if !build.folder.join(".toolhost/venv/bin/python-zig").exists() {
        build
            .provide(Build::from_pypi("zig", "ziglang==0.17.1"))
            .await?;
    }
    let zig = build.program(".toolhost/venv/bin/python");
    Ok(zig.args(["-m", "ziglang"]).args(target))
}
