//! Folders from templates.

use super::*;

fn template(language: Language, with: &[&str]) -> Template {
    Template {
        name: "word_count".into(),
        language,
        with: with.iter().map(|flag| (*flag).to_owned()).collect(),
    }
}

#[test]
fn every_language_gets_a_whole_folder() {
    for language in Language::ALL {
        let all = language.examples();
        for with in [&[][..], &all[..]] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("new");
            template(language, with).write(&folder).unwrap();
            for file in [
                ".gitignore",
                "README.md",
                "cases.json",
                "plugin.toml",
                "wit/world.wit",
                language.source(),
            ] {
                let text = std::fs::read_to_string(folder.join(file));
                let text = text.unwrap_or_else(|error| panic!("{language}: {file}: {error}"));
                // Go has `{{` as well.
                for mark in [
                    "{{#",
                    "{{/",
                    "{{name",
                    "{{crate",
                    "{{language",
                    "{{source",
                    "{{tests",
                ] {
                    assert!(!text.contains(mark), "{language}: {file}: {text}");
                }
            }
            let manifest = crate::Manifest::read(&folder).unwrap();
            assert_eq!(manifest.language, language);
            let grants: Vec<_> = manifest.grants.keys().map(String::as_str).collect();
            let mut with = with.to_vec();
            with.sort_unstable();
            assert_eq!(grants, with);
        }
    }
}

#[test]
fn nothing_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "").unwrap();
    let error = template(Language::Rust, &[])
        .write(folder.path())
        .unwrap_err();
    assert!(matches!(error, TemplateError::NotEmpty(_)), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn every_language_has_every_example() {
    for language in Language::ALL {
        assert_eq!(language.examples(), ["processes", "files", "http"]);
    }
}

#[test]
fn an_example_that_is_not_there_is_named_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let error = template(Language::C, &["sockets"])
        .write(&folder.path().join("new"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the template in c has no example of sockets; it has processes and files and http"
    );
    assert!(!folder.path().join("new").exists());
}

#[test]
fn a_name_that_the_language_cannot_have_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let class = Template {
        name: "class".into(),
        ..template(Language::Python, &[])
    };
    let error = class.write(&folder.path().join("new")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"class\" cannot be the name of a plugin in python: it is a keyword of the language; choose another, such as class_tool"
    );
    assert!(!folder.path().join("new").exists());
}

#[test]
fn a_script_that_sends_requests_has_the_engine_that_can() {
    for (with, engine, other) in [
        (&["files"][..], "\"componentize-qjs\"", "jco"),
        (&["http"], "\"@bytecodealliance/jco\"", "componentize-qjs"),
    ] {
        for language in [Language::JavaScript, Language::TypeScript] {
            let folder = tempfile::tempdir().unwrap();
            template(language, with).write(folder.path()).unwrap();
            let text = std::fs::read_to_string(folder.path().join("package.json")).unwrap();
            assert!(text.contains(engine) && !text.contains(other), "{text}");
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
    }
}

#[test]
fn the_sdk_for_rust_needs_no_workspace() {
    let folder = tempfile::tempdir().unwrap();
    template(Language::Rust, &[]).write(folder.path()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("sdk/Cargo.toml")).unwrap();
    assert!(!text.contains("workspace"), "{text}");
    let lock = std::fs::read_to_string(folder.path().join("Cargo.lock")).unwrap();
    assert!(lock.contains("name = \"schemars\"") && !lock.contains("name = \"wasmtime\""));
}
