//! What the machine offers, as it is said.

use std::process::Command;

use crate::fixture::support;

#[test]
fn layers_say_what_they_protect_and_what_would_enable_them() {
    let layers = support().layers();
    assert_eq!(layers.len(), 7);
    for layer in &layers {
        assert!(!layer.protects.is_empty());
        assert!(layer.state.is_ok() || !layer.enable.is_empty(), "{layer}");
    }
}

/// `unshare` of util-linux and the kernel say the same.
#[toolhost_needs::needs(program = "unshare")]
#[test]
#[expect(clippy::disallowed_methods, reason = "a test asks another program")]
fn namespaces_are_there_if_another_program_can_make_them() {
    for (flags, found) in [
        (
            &["--user", "--map-root-user"][..],
            &support().user_namespace,
        ),
        (
            &["--user", "--map-root-user", "--net"],
            &support().network_namespace,
        ),
        (
            &[
                "--user",
                "--map-root-user",
                "--pid",
                "--fork",
                "--mount-proc",
            ],
            &support().pid_namespace,
        ),
    ] {
        let status = Command::new("unshare")
            .args(flags)
            .arg("true")
            .status()
            .unwrap();
        assert_eq!(status.success(), found.is_ok(), "{flags:?} {found:?}");
    }
}
