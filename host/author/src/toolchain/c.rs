//! C: zig, or clang of a WASI SDK.

use std::path::PathBuf;

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
        .args(["-o", "build/module.wasm", "plugin.c", "gen/plugin.c"])
        .arg("gen/plugin_component_type.o")
        .run()
        .await?;
    if let (false, Some(optimize)) = (build.debug, find("wasm-opt", &[])) {
        let optimize = build.program(optimize).args(["-Os", "build/module.wasm"]);
        optimize.args(["-o", "build/module.wasm"]).run().await?;
    }
    super::go::encode(build, &module, false)
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
