//! Guests that do not load. More about loading is in `loading` beside this directory.

use toolhost_plugin::{Engine, Limits, LoadError, Plugin};

use super::contained::load_error;
use crate::guest::{limited, options};

#[tokio::test]
async fn core_module() {
    load_error("core_module").await;
}

#[tokio::test]
async fn wrong_export() {
    load_error("wrong_export").await;
}

#[tokio::test]
async fn other_version() {
    load_error("other_version").await;
}

#[tokio::test]
async fn wrong_type() {
    let error = load_error("wrong_type").await;
    assert!(matches!(error, LoadError::Mismatch(_)), "{error}");
}

#[tokio::test]
async fn unknown_import() {
    load_error("unknown_import").await;
}

#[tokio::test]
async fn trap_in_list_tools() {
    load_error("trap_in_list_tools").await;
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
