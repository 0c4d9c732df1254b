//! Components of other worlds, of other versions, and with imports that they were not granted or that nobody has.

use toolhost_core::{Grants, Options};
use toolhost_plugin::Plugin;
use toolhost_workspace::files::FilesGrant;

use super::{engine, error, made};
use crate::guest::guest;

const TOOLS: &str = "toolhost:plugin/tools@0.1.0";

async fn exporting(exports: &[&str]) -> String {
    error(&made::names(&[], exports)).await.to_string()
}

async fn importing(imports: &[&str]) -> String {
    error(&made::names(imports, &[TOOLS])).await.to_string()
}

#[tokio::test]
async fn other_worlds_are_named() {
    insta::assert_snapshot!(exporting(&["wasi:cli/run@0.2.3"]).await, @"the component exports wasi:cli/run@0.2.3: it is a program, not a plugin; build it against a world of toolhost:plugin, which exports toolhost:plugin/tools@0.1.0");
    insta::assert_snapshot!(exporting(&["wasi:http/incoming-handler@0.2.3"]).await, @"the component exports wasi:http/incoming-handler@0.2.3: it answers HTTP requests, and is no plugin; build it against a world of toolhost:plugin, which exports toolhost:plugin/tools@0.1.0");
    insta::assert_snapshot!(exporting(&["example:a/b@1.0.0", "example:a/c"]).await, @"the component does not export toolhost:plugin/tools@0.1.0, so it is no plugin: it exports example:a/b@1.0.0, example:a/c; in Rust name its tools in `toolhost_sdk::export_tools!`, in other languages build it against a world of toolhost:plugin");
    insta::assert_snapshot!(exporting(&[]).await, @"the component does not export toolhost:plugin/tools@0.1.0, so it is no plugin: it exports nothing; in Rust name its tools in `toolhost_sdk::export_tools!`, in other languages build it against a world of toolhost:plugin");
    insta::assert_snapshot!(exporting(&["toolhost:plugin/tools"]).await, @"the component does not export toolhost:plugin/tools@0.1.0, so it is no plugin: it exports toolhost:plugin/tools; in Rust name its tools in `toolhost_sdk::export_tools!`, in other languages build it against a world of toolhost:plugin");
}

#[tokio::test]
async fn other_versions_of_the_contract_are_newer_or_older() {
    insta::assert_snapshot!(exporting(&["toolhost:plugin/tools@0.2.0"]).await, @"the plugin names toolhost:plugin/tools@0.2.0, and this host speaks version 0.1 of the contract: use a newer Toolhost, or build the plugin against 0.1");
    insta::assert_snapshot!(exporting(&["toolhost:plugin/tools@0.0.4"]).await, @"the plugin names toolhost:plugin/tools@0.0.4, which is older than version 0.1 of the contract, the oldest that this host speaks: build the plugin against 0.1");
    insta::assert_snapshot!(importing(&["toolhost:plugin/log@1.0.0"]).await, @"the plugin names toolhost:plugin/log@1.0.0, and this host speaks version 0.1 of the contract: use a newer Toolhost, or build the plugin against 0.1");
    insta::assert_snapshot!(importing(&["toolhost:plugin/log@0.0.4"]).await, @"the plugin names toolhost:plugin/log@0.0.4, which is older than version 0.1 of the contract, the oldest that this host speaks: build the plugin against 0.1");
}

#[tokio::test]
async fn a_missing_grant_is_told_with_its_line() {
    insta::assert_snapshot!(error(&guest("process_user")).await, @r#"the plugin imports toolhost:plugin/processes@0.1.0, which it was not granted: to grant it, put `grants = { processes = "own" }` into [plugins.x]. `processes` lets it run any command as the user of the host, and see and signal those of the calling chat"#);
    insta::assert_snapshot!(importing(&["toolhost:plugin/files@0.1.0"]).await, @r#"the plugin imports toolhost:plugin/files@0.1.0, which it was not granted: to grant it, put `grants = { files = "read" }` into [plugins.x]. `files` lets it read the files of the workspace and make links to them, and with "write" change them as well"#);
    insta::assert_snapshot!(importing(&["wasi:http/types@0.2.10", "wasi:http/outgoing-handler@0.2.10"]).await, @r#"the plugin imports wasi:http/types@0.2.10, wasi:http/outgoing-handler@0.2.10, which it was not granted: to grant it, put `grants = { http = ["https://api.example.com"] }` into [plugins.x]. `http` lets it send requests to the hosts that you list; if it needs none, build it without HTTP, for jco and componentize-js with `-d http -d fetch-event`"#);
    insta::assert_snapshot!(importing(&["toolhost:plugin/files@0.1.0", "wasi:io/poll@0.2.0", "toolhost:plugin/processes@0.1.2"]).await, @r#"the plugin imports toolhost:plugin/files@0.1.0, toolhost:plugin/processes@0.1.2, which it was not granted: to grant it, put `grants = { processes = "own", files = "read" }` into [plugins.x]. `processes` lets it run any command as the user of the host, and see and signal those of the calling chat. `files` lets it read the files of the workspace and make links to them, and with "write" change them as well"#);
}

#[tokio::test]
async fn imports_that_nobody_offers_are_named() {
    insta::assert_snapshot!(importing(&["wasi:nn/graph@0.2.0"]).await, @"the plugin imports wasi:nn/graph@0.2.0, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2 (cli, clocks, filesystem, http, io, random, sockets), and nothing else");
    insta::assert_snapshot!(importing(&["wasi:cli/environment@0.3.0"]).await, @"the plugin imports wasi:cli/environment@0.3.0, and this host offers WASI 0.2: build it for that, in Rust with the target wasm32-wasip2");
    insta::assert_snapshot!(importing(&["env"]).await, @"the plugin imports env, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2 (cli, clocks, filesystem, http, io, random, sockets), and nothing else");
    insta::assert_snapshot!(importing(&["toolhost:plugin/magic@0.1.0"]).await, @"the plugin imports toolhost:plugin/magic@0.1.0, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2 (cli, clocks, filesystem, http, io, random, sockets), and nothing else");
    insta::assert_snapshot!(importing(&["wasi:cli/nothing@0.2.0"]).await, @"the plugin does not fit the contract: instance export `toolhost:plugin/tools@0.1.0` does not have export `list-tools`; build it against the files of wit/ as they are");
}

#[tokio::test]
async fn wrong_types_name_the_function() {
    insta::assert_snapshot!(error(&guest("wrong_type")).await, @"the plugin does not fit the contract: failed to convert function to given type: type mismatch with results: expected `result` found `u32`; build it against the files of wit/ as they are");
    insta::assert_snapshot!(error(&made::names(&[], &[TOOLS])).await, @"the plugin does not fit the contract: instance export `toolhost:plugin/tools@0.1.0` does not have export `list-tools`; build it against the files of wit/ as they are");
    let import = r#"(component
        (import "toolhost:plugin/log@0.1.0" (instance (export "log" (func (param "message" string)))))
        (instance $i) (export "toolhost:plugin/tools@0.1.0" (instance $i)))"#;
    insta::assert_snapshot!(error(&wat::parse_str(import).unwrap()).await, @"the plugin does not fit the contract: component imports instance `toolhost:plugin/log@0.1.0`, but a matching implementation was not found in the linker: instance export `log` has the wrong type: type mismatch with parameters: expected 2-tuple, found 1-tuple; build it against the files of wit/ as they are");
    let unknown = r#"(component
        (import "toolhost:plugin/log@0.1.0" (instance (export "shout" (func))))
        (instance $i) (export "toolhost:plugin/tools@0.1.0" (instance $i)))"#;
    insta::assert_snapshot!(error(&wat::parse_str(unknown).unwrap()).await, @"the plugin does not fit the contract: component imports instance `toolhost:plugin/log@0.1.0`, but a matching implementation was not found in the linker: instance export `shout` has the wrong type: function implementation is missing; build it against the files of wit/ as they are");
}

/// A section of a component with one export of its instance of this number.
fn export(name: &str, instance: u8) -> Vec<u8> {
    let name_length = u8::try_from(name.len()).unwrap();
    let body = [&[1, 0, name_length], name.as_bytes(), &[5, instance, 0]].concat();
    let body_length = u8::try_from(body.len()).unwrap();
    [&[0x0b, body_length], body.as_slice()].concat()
}

/// What toolchains of other languages add, other versions beside the known one, and later patches are no reason not to load.
#[tokio::test]
async fn more_exports_and_later_patches_are_accepted() {
    let plain = made::tool(|_| {});
    // Its instances 0 and 1 have the tools; 2 becomes an empty one.
    let with = |name: &str| [&plain[..], &[5, 3, 1, 1, 0], &export(name, 2)].concat();
    let tools = export(TOOLS, 0);
    let at = plain
        .windows(tools.len())
        .position(|window| window == tools);
    let at = at.unwrap();
    let later = [
        &plain[..at],
        &export("toolhost:plugin/tools@0.1.7", 0),
        &plain[at + tools.len()..],
    ];
    for (component, exports) in [
        (with("exports"), &[TOOLS, "exports"][..]),
        (
            with("toolhost:plugin/tools@0.2.0"),
            &[TOOLS, "toolhost:plugin/tools@0.2.0"],
        ),
        (later.concat(), &["toolhost:plugin/tools@0.1.7"]),
    ] {
        let plugin = Plugin::load(engine(), &component, Options::new("x")).await;
        let plugin = plugin.unwrap_or_else(|error| panic!("{exports:?}: {error}"));
        assert_eq!(plugin.tools().len(), 1);
        assert_eq!(plugin.exports(), exports);
    }
}

#[tokio::test]
async fn what_is_granted_loads() {
    let grants = Grants::default()
        .with_processes()
        .with_files(FilesGrant::Read);
    let options = Options {
        grants: grants.clone(),
        ..Options::new("x")
    };
    let plugin = Plugin::load(engine(), &guest("process_user"), options)
        .await
        .unwrap();
    assert_eq!(plugin.grants(), &grants);
    assert_eq!(plugin.imports(), ["toolhost:plugin/processes@0.1.0"]);
}
