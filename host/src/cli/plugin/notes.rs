//! Notes for the authors of plugins about imports that link, but never work.

use memchr::memmem;
use toolhost_plugin::Shape;

/// The runtimes that import files and sockets for every plugin, by a name that their components contain.
const RUNTIMES: [&str; 3] = ["componentize-py", "componentize-qjs", "StarlingMonkey"];

/// Returns a note for each import of this component that gives a plugin nothing. There are none for a runtime that always adds them:
/// the tool that uses them says what to use instead. Go adds them as well, so a note is no failure.
pub(super) fn of_imports(shape: &Shape, component: &[u8]) -> Vec<String> {
    if RUNTIMES
        .iter()
        .any(|name| memmem::find(component, name.as_bytes()).is_some())
    {
        return Vec::new();
    }
    let imports = |package: &str| shape.imports.iter().any(|name| name.starts_with(package));
    let mut notes = Vec::new();
    if imports("wasi:sockets/") {
        notes.push(
            "this plugin imports wasi:sockets, and no plugin gets a socket (access denied): send requests with wasi:http".into(),
        );
    }
    if imports("wasi:filesystem/") {
        notes.push(
            "this plugin imports wasi:filesystem, but has no directories (no such file): use toolhost:plugin/files, which is toolhost_sdk::files in Rust".into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_imports_that_never_work_are_noted() {
        let notes = |names: &[&str]| {
            let imports = names.iter().map(|name| (*name).into()).collect();
            let shape = Shape {
                imports,
                ..Shape::default()
            };
            assert!(of_imports(&shape, b"with componentize-py 0.25").is_empty());
            of_imports(&shape, b"")
        };
        assert!(notes(&["wasi:cli/stderr@0.2.0", "toolhost:plugin/files@0.1.0"]).is_empty());
        let both = notes(&[
            "wasi:sockets/tcp@0.2.3",
            "wasi:sockets/udp@0.2.3",
            "wasi:filesystem/types@0.2.0",
        ]);
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[1].contains("toolhost:plugin/files"), "{both:?}");
    }
}
