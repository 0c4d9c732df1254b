//! Files that are no component, or not the one that was meant.

use toolhost_core::Options;
use toolhost_plugin::{Digest, Limits, Plugin};

use super::{engine, error, made};
use crate::harness::program;

async fn text(bytes: &[u8]) -> String {
    error(bytes).await.to_string()
}

#[tokio::test]
async fn what_is_no_webassembly_says_what_it_is() {
    insta::assert_snapshot!(text(b"").await, @"this is not a WebAssembly component: it is empty");
    insta::assert_snapshot!(text(b"hello").await, @"this is not a WebAssembly component: it does not begin as WebAssembly does: give the .wasm file that your build made");
    insta::assert_snapshot!(text(&std::fs::read(program()).unwrap()[..1000]).await, @"this is not a WebAssembly component: it does not begin as WebAssembly does: give the .wasm file that your build made");
    insta::assert_snapshot!(text(b"  (component)").await, @"this is not a WebAssembly component: it is in the text format: make it binary with `wasm-tools parse`");
    insta::assert_snapshot!(text(b"\0asm").await, @"this is not a WebAssembly component: it ends after a few bytes: build or download it again");
    insta::assert_snapshot!(text(b"\0asm\x0a\0\x01\0").await, @"this is not a WebAssembly component: it is in version 10 of the format of components, and this host reads version 13: build it with current tools");
    insta::assert_snapshot!(text(b"\0asm\x02\0\0\0").await, @"this is not a WebAssembly component: it is in an unknown version of WebAssembly: build it with current tools");
}

#[tokio::test]
async fn a_core_module_is_told_how_to_become_a_component() {
    let module = wat::parse_str("(module)").unwrap();
    insta::assert_snapshot!(text(&module).await, @"this is a core module, not a component: in Rust build for the target wasm32-wasip2; in Python use componentize-py, in JavaScript `jco componentize`; in C turn the module into a component with `wasm-tools component new`");
}

#[tokio::test]
async fn a_wit_package_has_no_code() {
    let mut resolve = wit_parser::Resolve::default();
    let wit = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let package = wit_component::encode(&resolve, package).unwrap();
    insta::assert_snapshot!(text(&package).await, @"this is a WIT package, which describes interfaces and has no code: give the component that your build makes");
}

#[tokio::test]
async fn a_broken_component_is_told_to_be_built_again() {
    let good = made::tool(|_| {});
    insta::assert_snapshot!(text(b"\0asm\x0d\0\x01\0garbage").await, @"this is not a WebAssembly component: it is broken or was cut off (unexpected end-of-file (at offset 0xa)); build or download it again");
    let cut = text(&good[..good.len() / 2]).await;
    assert!(
        cut.starts_with("this is not a WebAssembly component: it is broken or was cut off ("),
        "{cut}"
    );
    // Its sections are whole, and one of its functions makes no sense: that is found by the compiler.
    let mut bad = good.clone();
    let code = [0x41, 0x80, 0x08];
    let at = bad
        .windows(3)
        .position(|window| window[0] == 0x41 && window[2] == 0x0b)
        .or_else(|| bad.windows(3).position(|window| window == code));
    let at = at.expect("a constant");
    bad[at] = 0x45;
    let broken = text(&bad).await;
    assert!(
        broken.starts_with("this is not a WebAssembly component: it is broken or was cut off ("),
        "{broken}"
    );
    // Wherever it is cut, it is an error and nothing worse.
    for len in (0..good.len()).step_by(97) {
        error(&good[..len]).await;
    }
}

#[tokio::test]
async fn a_component_may_be_too_large() {
    let limits = Limits {
        component: 10 << 10,
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..Options::new("x")
    };
    let error = Plugin::load(engine(), &[0; (10 << 10) + 1], options)
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @"the component has 10241 bytes, the most is 10 KiB");
}

#[tokio::test]
async fn a_name_must_be_one() {
    let component = made::tool(|_| {});
    for name in ["", "A", "a-b", "a__b", &"x".repeat(32)] {
        let error = Plugin::load(engine(), &component, Options::new(name))
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("cannot be the name of a plugin: it must match"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_pinned_component_is_that_one_or_does_not_load() {
    let component = made::tool(|_| {});
    let digest = Digest::of(&component);
    let pinned = |sha256| Options {
        sha256: Some(sha256),
        ..Options::new("x")
    };
    let plugin = Plugin::load(engine(), &component, pinned(digest))
        .await
        .unwrap();
    assert_eq!((plugin.digest(), plugin.size()), (digest, component.len()));
    assert_eq!(plugin.exports(), ["toolhost:plugin/tools@0.1.0"]);
    assert!(plugin.imports().is_empty());
    let other = Plugin::load(engine(), b"other", pinned(digest))
        .await
        .unwrap_err()
        .to_string();
    let other = other
        .replace(&digest.to_string(), "PINNED")
        .replace(&Digest::of(b"other").to_string(), "FOUND");
    insta::assert_snapshot!(other, @r#"the component is not the one that was pinned: its sha256 is FOUND, and the configuration has PINNED; if you trust this one, put `sha256 = "FOUND"` into [plugins.x]"#);
}
