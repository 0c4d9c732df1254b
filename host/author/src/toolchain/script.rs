//! JavaScript and TypeScript: esbuild, then componentize-qjs for QuickJS or jco for StarlingMonkey.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Build, BuildError, Missing, Program, ProgramError, mistake, world};
use crate::program::find;
use crate::{Language, embedded};

/// What an author reads whose plugin asks for HTTP and is built for the engine that has none.
const NO_REQUESTS: &str = "plugin.toml asks for http, and the engine QuickJS sends no requests: in package.json, replace \
    componentize-qjs by \"@bytecodealliance/jco\": \"1.35.0\" and \"@bytecodealliance/componentize-js\": \"0.22.0\", and run \
    `npm install`; the plugin is then built for StarlingMonkey";

/// A script for Node.js that writes into a bundle which lines of the author's files it is made of.
const LINES: &str = include_str!("lines.mjs");

/// The interfaces that every plugin imports.
const OF_EVERY_PLUGIN: [&str; 4] = ["context", "log", "progress", "settings"];

/// The module that is bundled: it exports what the component exports.
fn main_module(source: &str) -> String {
    format!(
        "import {{ tools }} from \"../{source}\";\n\
         export {{ tools }};\n\
         if (tools.listTools().length === 0) throw new Error(\"{source} defines no tool: call tool({{…}}) in it\");\n"
    )
}

pub(super) async fn build(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    provide(build).await?;
    let is_starling = build.folder.join("node_modules/.bin/jco").exists();
    if !is_starling && build.manifest.grants.contains_key("http") {
        return Err(BuildError::Manifest(NO_REQUESTS.into()));
    }
    let source = match build.manifest.language {
        Language::TypeScript => {
            let all = |said: &str| (!said.is_empty()).then(|| said.to_owned());
            tool(build, "tsc")
                .arg("--noEmit")
                .run_explained(all)
                .await?;
            "plugin.ts"
        }
        _ => "plugin.js",
    };
    world::write(build)?;
    let main = build.made().join("main.js");
    embedded::write(&main, main_module(source).as_bytes())?;
    let engine = if is_starling {
        "starlingmonkey"
    } else {
        "quickjs"
    };
    let bundle = tool(build, "esbuild")
        .args([
            "build/main.js",
            "--bundle",
            "--format=esm",
            "--target=es2023",
        ])
        .arg(format!("--conditions={engine}"))
        .args([
            "--external:toolhost:*",
            "--external:wasi:*",
            "--log-level=warning",
            // A file without exports would only be warned of.
            "--log-override:import-is-undefined=error",
            "--sourcemap=external",
        ])
        .arg("--outfile=build/bundle.js");
    let bundle = match build.debug {
        true => bundle,
        false => bundle.arg("--minify-syntax"),
    };
    let explain = |said: &str| mistake::of_esbuild(said, source);
    bundle.run_explained(explain).await?;
    let bundle = build.made().join("bundle.js");
    let text = std::fs::read_to_string(&bundle).map_err(|source| BuildError::File {
        action: "read",
        path: bundle,
        source,
    })?;
    if let Some(name) = not_asked_for(&text, build) {
        return Err(BuildError::Manifest(mistake::without_grant(name)));
    }
    embedded::write(&build.made().join("lines.mjs"), LINES.as_bytes())?;
    let places = build
        .program("node")
        .args(["build/lines.mjs", "build/bundle.js"]);
    let places: BTreeMap<u32, String> =
        serde_json::from_str(&places.output().await?).unwrap_or_default();
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
    let explain = |said: &str| mistake::of_engine(said, &places);
    let componentize = componentize.args(["-o", "build/module.wasm"]);
    componentize.run_explained(explain).await?;
    Ok(build.made().join("module.wasm"))
}

/// Returns the capability of an interface that a bundle imports, and that the plugin does not ask for.
fn not_asked_for<'b>(bundle: &'b str, build: &Build<'_>) -> Option<&'b str> {
    let imported = bundle.split("from \"").skip(1);
    let mut imported = imported.filter_map(|rest| {
        let (package, rest) = rest.split_once('/')?;
        match package {
            "toolhost:plugin" => rest.split('@').next(),
            "wasi:http" => Some("http"),
            _ => None,
        }
    });
    let is_given =
        |name: &&str| OF_EVERY_PLUGIN.contains(name) || build.grants().any(|grant| grant == *name);
    imported.find(|name| !is_given(name))
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
        return Err(ProgramError::Missing("npm".into()).into());
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
