//! Notes for the authors of plugins about imports that link, but never work.

use toolhost_plugin::Shape;

/// Returns a note for each import of this component that gives a plugin nothing. A component may have such an import only because
/// its language always adds it, so this is no failure.
pub(super) fn of_imports(shape: &Shape) -> Vec<String> {
    let imports = |package: &str| shape.imports.iter().any(|name| name.starts_with(package));
    let mut notes = Vec::new();
    if imports("wasi:sockets/") {
        notes.push(
            "this plugin imports wasi:sockets, and no plugin gets a socket (access denied): send requests with wasi:http".into(),
        );
    }
    if imports("wasi:filesystem/") {
        notes.push(
            "this plugin imports wasi:filesystem, but has no directories (no such file): use toolhost:plugin/files".into(),
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
            of_imports(&Shape {
                imports,
                ..Shape::default()
            })
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
