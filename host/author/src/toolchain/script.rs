//! JavaScript and TypeScript: esbuild, then componentize-qjs for QuickJS or jco for StarlingMonkey.

use std::path::PathBuf;

use super::{Build, BuildError, Missing, Program, world};
use crate::Language;
use crate::program::find;

/// What an author reads whose plugin asks for HTTP and is built for the engine that has none.
const NO_REQUESTS: &str = "plugin.toml asks for http, and the engine QuickJS sends no requests: in package.json, replace \
    componentize-qjs by \"@bytecodealliance/jco\": \"1.35.0\" and \"@bytecodealliance/componentize-js\": \"0.22.0\", and run \
    `npm install`; the plugin is then built for StarlingMonkey";

pub(super) async fn build(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    provide(build).await?;
    let is_starling = build.folder.join("node_modules/.bin/jco").exists();
    if !is_starling && build.manifest.grants.contains_key("http") {
        return Err(BuildError::Manifest(NO_REQUESTS.into()));
    }
    let source = match build.manifest.language {
        Language::TypeScript => {
            tool(build, "tsc").arg("--noEmit").run().await?;
            "plugin.ts"
        }
        _ => "plugin.js",
    };
    world::write(build)?;
    let engine = if is_starling {
        "starlingmonkey"
    } else {
        "quickjs"
    };
    let bundle = tool(build, "esbuild")
        .args([source, "--bundle", "--format=esm", "--target=es2023"])
        .arg(format!("--conditions={engine}"))
        .args([
            "--external:toolhost:*",
            "--external:wasi:*",
            "--log-level=warning",
        ])
        .arg("--outfile=build/bundle.js");
    let bundle = match build.debug {
        true => bundle,
        false => bundle.arg("--minify-syntax"),
    };
    bundle.run().await?;
    let componentize = if is_starling {
        tool(build, "jco")
            .args([
                "componentize",
                "build/bundle.js",
                "-w",
                "build/wit",
                "-n",
                world::WORLD,
            ])
            .args(["-d", "http", "-d", "fetch-event"])
    } else {
        tool(build, "componentize-qjs")
            .args(["--sync", "--wit", "build/wit", "--world", world::WORLD])
            .args(["--js", "build/bundle.js"])
    };
    componentize.args(["-o", "build/module.wasm"]).run().await?;
    Ok(build.made().join("module.wasm"))
}

pub(super) async fn tests(build: &Build<'_>) -> Result<Program, BuildError> {
    provide(build).await?;
    if build.manifest.language == Language::JavaScript {
        return Ok(build.program("node").arg("--test"));
    }
    // Not every Node.js runs TypeScript.
    let bundle = tool(build, "esbuild")
        .args(["plugin.test.ts", "--bundle", "--format=esm"])
        .args([
            "--platform=node",
            "--sourcemap=inline",
            "--log-level=warning",
        ])
        .arg("--outfile=build/plugin.test.mjs");
    bundle.run().await?;
    let node = build
        .program("node")
        .args(["--enable-source-maps", "--test"]);
    Ok(node.arg("build/plugin.test.mjs"))
}

/// Makes sure that the packages of the plugin are there.
async fn provide(build: &Build<'_>) -> Result<(), BuildError> {
    if find("npm", &[]).is_none() {
        return Err(BuildError::NotInstalled {
            what: "npm".into(),
            how: "install Node.js from https://nodejs.org".into(),
        });
    }
    if build.folder.join("node_modules/.bin/esbuild").exists() {
        return Ok(());
    }
    let command: &[&str] = &[
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ];
    let missing = Missing::new(
        "node_modules, with the packages of package.json,",
        [command],
    );
    build.provide(missing).await
}

/// Returns a program of the packages.
fn tool(build: &Build<'_>, name: &str) -> Program {
    // Relative paths of programs begin in the folder where they run on Linux.
    build.program(format!("./node_modules/.bin/{name}"))
}
