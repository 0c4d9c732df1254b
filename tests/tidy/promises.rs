//! The tests that docs/promises.md names.

use std::path::PathBuf;

use super::root;

/// The names in the last column of the tables, with those in braces one by one.
fn names(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let each = |name: &str| match name.split_once('{') {
        Some((before, inner)) => {
            let inner = inner.trim_end_matches('}').split(", ");
            inner.map(|one| format!("{before}{one}")).collect()
        }
        None => vec![name.to_owned()],
    };
    quoted.flat_map(each).collect()
}

/// Returns the folder of the modules of a path, and the modules.
fn place(name: &str) -> (PathBuf, Vec<&str>) {
    let mut modules: Vec<_> = name.split("::").collect();
    let Some(krate) = modules[0].strip_prefix("toolhost_") else {
        return (root().join("tests"), modules);
    };
    modules.remove(0);
    (root().join("host").join(krate).join("src"), modules)
}

/// Returns whether a text has the attribute of a test.
fn is_test(text: &str) -> bool {
    let attributes = ["#[test]", "#[tokio::test", "proptest!"];
    attributes.iter().any(|attribute| text.contains(attribute))
}

/// Returns whether there are tests in a file or below a folder.
fn has_tests(path: &std::path::Path) -> bool {
    if path.is_dir() {
        let mut entries = path.read_dir().unwrap().flatten();
        return entries.any(|entry| has_tests(&entry.path()));
    }
    is_test(&std::fs::read_to_string(path).unwrap_or_default())
}

fn exists(name: &str) -> bool {
    if name.contains('/') {
        return [name.to_owned(), format!("{name}.rs")]
            .iter()
            .any(|path| has_tests(&root().join(path)));
    }
    let (mut folder, modules) = place(name);
    let mut file = PathBuf::new();
    for (index, module) in modules.iter().enumerate() {
        let next = folder.join(format!("{module}.rs"));
        if !next.exists() {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            // Its attributes stand between the item before and its name.
            let item = text.split_once(&format!("fn {module}("));
            let above = item.and_then(|(before, _)| before.rsplit("\n\n").next());
            return index + 1 == modules.len() && above.is_some_and(is_test);
        }
        (folder, file) = (folder.join(module), next);
    }
    has_tests(&file) || has_tests(&folder)
}

#[test]
fn every_promise_names_tests_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/promises.md")).unwrap();
    let names = names(&page);
    assert!(names.len() > 100, "{}", names.len());
    let missing: Vec<_> = names.iter().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_name_of_no_test_is_found() {
    assert!(exists("tidy::promises::a_name_of_no_test_is_found"));
    assert!(exists("tidy::promises"));
    for none in [
        "tidy::no_such_test",
        "no_such_module",
        "host/no/such",
        "tidy::promises::names",
        "tidy::promises::names::x",
    ] {
        assert!(!exists(none), "{none}");
    }
}
