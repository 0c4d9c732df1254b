//! Has the tests built anew when what decides over their needs may have changed.

fn main() {
    // `tests/clients/prepare` and `examples/plugins/build` touch it.
    println!("cargo::rerun-if-changed=build.rs");
    // The user, who may be root, and where things are installed.
    for variable in ["HOME", "TOOLHOST_CLIENTS", "TOOLHOST_LANGUAGES", "USER"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
}
