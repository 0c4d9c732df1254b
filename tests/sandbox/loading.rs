//! Guests that do not load. More about loading is in `loading` beside this directory.

use toolhost_plugin::{Engine, Limits, LoadError, Plugin};

use super::contained::load_error;
use crate::guest::{limited, options};

#[tokio::test]
async fn core_module() {
    insta::assert_snapshot!(load_error("core_module").await, @"this is a core module, not a component: in Rust build for the target wasm32-wasip2; in Python use componentize-py, in JavaScript `jco componentize`; in C turn the module into a component with `wasm-tools component new`");
}

#[tokio::test]
async fn wrong_export() {
    insta::assert_snapshot!(load_error("wrong_export").await, @"the component does not export toolhost:plugin/tools@0.1.0, so it is no plugin: it exports run; build it against a world of toolhost:plugin");
}

#[tokio::test]
async fn other_version() {
    insta::assert_snapshot!(load_error("other_version").await, @"the plugin names toolhost:plugin/tools@0.2.0, and this host speaks version 0.1 of the contract: use a newer Toolhost, or build the plugin against 0.1");
}

#[tokio::test]
async fn wrong_type() {
    let error = load_error("wrong_type").await;
    assert!(matches!(error, LoadError::Mismatch(_)), "{error}");
}

#[tokio::test]
async fn unknown_import() {
    insta::assert_snapshot!(load_error("unknown_import").await, @"the plugin imports evil:corp/backdoor@1.0.0, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2 (cli, clocks, filesystem, http, io, random, sockets), and nothing else");
}

#[tokio::test]
async fn trap_in_list_tools() {
    let error = load_error("trap_in_list_tools").await.to_string();
    assert!(
        error.starts_with("the plugin did not list its tools: the tool is broken: "),
        "{error}"
    );
}

#[tokio::test]
async fn bytes_that_are_no_component() {
    let engine = Engine::new(None).unwrap();
    for bytes in [&b""[..], b"hello", b"\0asm", b"\0asm\x0d\0\x01\0garbage"] {
        let error = Plugin::load(&engine, bytes, options("x"))
            .await
            .unwrap_err();
        assert!(
            matches!(error, LoadError::NotAComponent(_)),
            "{bytes:?}: {error}"
        );
    }
    let limits = Limits {
        component: 10,
        ..Limits::default()
    };
    let error = Plugin::load(&engine, &[0; 11], limited("x", limits))
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @"the component has 11 bytes, the most is 10 bytes");
}
