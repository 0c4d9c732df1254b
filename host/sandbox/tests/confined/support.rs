//! Tests of the detected layers and their descriptions.

use crate::fixture::support;

#[test]
fn layers_say_what_they_protect_and_what_would_enable_them() {
    let layers = support().layers();
    assert_eq!(layers.len(), 3);
    for layer in &layers {
        assert!(!layer.protects.is_empty());
        assert!(layer.state.is_ok() || !layer.enable.is_empty(), "{layer}");
    }
}
