//! Rust: cargo for `wasm32-wasip2`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Build, BuildError, Missing, Program};

const TARGET: &str = "wasm32-wasip2";

/// The part of `cargo metadata` that is read here.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    crate_types: Vec<String>,
}

pub(super) async fn build(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    let metadata = build
        .program("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata = metadata.output().await?;
    let metadata: Metadata = serde_json::from_str(&metadata)
        .map_err(|error| BuildError::Manifest(format!("cannot read `cargo metadata`: {error}")))?;
    let library = library(&metadata, build.folder)?;
    provide_target(build).await?;
    let cargo = build
        .program("cargo")
        .args(["build", "--lib", "--target", TARGET]);
    let (cargo, profile) = match build.debug {
        true => (cargo, "debug"),
        false => (cargo.arg("--release"), "release"),
    };
    cargo.run().await?;
    let below = metadata.target_directory.join(TARGET).join(profile);
    Ok(below.join(format!("{}.wasm", library.replace('-', "_"))))
}

pub(super) fn tests(build: &Build<'_>) -> Program {
    build.program("cargo").arg("test").arg("--quiet")
}

/// Returns the name of the library that becomes the component.
fn library<'m>(metadata: &'m Metadata, folder: &Path) -> Result<&'m str, BuildError> {
    let path = folder.join("Cargo.toml");
    let canonical = path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut packages = metadata.packages.iter();
    let package = packages.find(|package| package.manifest_path == canonical);
    let is_component = |target: &&Target| target.crate_types.iter().any(|kind| kind == "cdylib");
    let target = package.and_then(|package| package.targets.iter().find(is_component));
    target.map(|target| target.name.as_str()).ok_or_else(|| {
        BuildError::Manifest(format!(
            "{} makes no component: add `crate-type = [\"cdylib\"]` under [lib]",
            path.display()
        ))
    })
}

/// Makes sure that the compiler has the standard library of the target.
async fn provide_target(build: &Build<'_>) -> Result<(), BuildError> {
    let sysroot = build.program("rustc").args(["--print", "sysroot"]);
    let sysroot = sysroot.output().await?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET);
    if library.is_dir() {
        return Ok(());
    }
    let what = format!("the target {TARGET} of Rust");
    let command: &[&str] = &["rustup", "target", "add", TARGET];
    build.provide(Missing::new(&what, [command])).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_a_cdylib_is_named() {
        let metadata = |kind: &str| Metadata {
            packages: vec![Package {
                manifest_path: "/nowhere/Cargo.toml".into(),
                targets: vec![Target {
                    name: "word-count".into(),
                    crate_types: vec![kind.into()],
                }],
            }],
            target_directory: "/nowhere/target".into(),
        };
        let folder = Path::new("/nowhere");
        assert_eq!(library(&metadata("cdylib"), folder).unwrap(), "word-count");
        assert_eq!(
            library(&metadata("lib"), folder).unwrap_err().to_string(),
            "/nowhere/Cargo.toml makes no component: add `crate-type = [\"cdylib\"]` under [lib]"
        );
    }
}
