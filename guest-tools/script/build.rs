//! Gives the component a stack that is larger than what the host lets a guest use.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("wasm") {
        // Recursion of a script must reach the end of the stack that the host bounds before that of the stack in its memory, where it would
        // count as a fault of the plugin.
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=8388608");
    }
}
