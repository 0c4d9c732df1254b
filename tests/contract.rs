//! The contract itself: every item says what it means, and a plugin imports no more than it uses.

use std::path::Path;

use toolhost_core::Format;
use wit_parser::{Docs, Resolve, Type, TypeDefKind, TypeOwner};

use crate::harness::Setup;

fn contract() -> Resolve {
    let mut resolve = Resolve::default();
    resolve
        .push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit"))
        .unwrap();
    resolve
}

#[test]
fn everything_in_the_contract_is_documented_in_sentences() {
    let resolve = contract();
    let mut bare = Vec::new();
    let mut check = |name: String, docs: &Docs| {
        let text = docs.contents.as_deref().unwrap_or_default().trim();
        if !text.ends_with('.')
            || !text.starts_with(|c: char| c.is_uppercase() || c == '`' || c == '[')
        {
            bare.push(name);
        }
    };
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.clone().unwrap_or_default();
        check(name.clone(), &interface.docs);
        for function in interface.functions.values() {
            check(format!("{name}.{}", function.name), &function.docs);
        }
    }
    for (_, world) in &resolve.worlds {
        check(world.name.clone(), &world.docs);
    }
    for (_, definition) in &resolve.types {
        // Anonymous types, such as `list<u8>`, have nothing to say, and aliases say it elsewhere.
        let (Some(name), TypeOwner::Interface(_)) = (&definition.name, definition.owner) else {
            continue;
        };
        if matches!(definition.kind, TypeDefKind::Type(Type::Id(_))) {
            continue;
        }
        check(name.clone(), &definition.docs);
        let parts: Vec<(&str, &Docs)> = match &definition.kind {
            TypeDefKind::Record(record) => record
                .fields
                .iter()
                .map(|it| (it.name.as_str(), &it.docs))
                .collect(),
            TypeDefKind::Variant(variant) => variant
                .cases
                .iter()
                .map(|it| (it.name.as_str(), &it.docs))
                .collect(),
            TypeDefKind::Enum(enumeration) => enumeration
                .cases
                .iter()
                .map(|it| (it.name.as_str(), &it.docs))
                .collect(),
            TypeDefKind::Flags(flags) => flags
                .flags
                .iter()
                .map(|it| (it.name.as_str(), &it.docs))
                .collect(),
            _ => Vec::new(),
        };
        for (part, docs) in parts {
            check(format!("{name}.{part}"), docs);
        }
    }
    assert!(bare.is_empty(), "without a full sentence: {bare:?}");
}

#[test]
fn each_interface_has_a_file_of_its_name() {
    for (_, interface) in &contract().interfaces {
        let name = interface.name.clone().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../wit/{name}.wit"));
        assert!(file.is_file(), "{}", file.display());
    }
}

#[tokio::test]
async fn the_embedded_tools_are_what_providers_take() {
    let setup = Setup::new().await;
    let tools = setup.host.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "execute",
            "process_output",
            "process_input",
            "process_list",
            "process_signal",
            "read_file",
            "write_file",
            "edit_files",
            "apply_patch",
            "search_files",
            "find_files",
            "share_file"
        ]
    );
    for tool in setup.host.tools().iter() {
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        assert!(
            tool.input_schema.get("$schema").is_none()
                && !tool.input_schema.to_string().contains("$ref")
        );
        assert!(tool.description.len() > 40, "{}", tool.name);
        // Providers cut or refuse longer ones.
        assert!(
            tool.description.len() <= 1024,
            "{}: {}",
            tool.name,
            tool.description.len()
        );
    }
    let tools = setup.host.tools();
    let execute = &tools[0];
    assert_eq!(
        execute.input_schema["required"],
        serde_json::json!(["command"])
    );
    for &format in Format::ALL {
        let rendered = format.render(&setup.host.tools()).to_string();
        assert!(rendered.contains("process_signal"), "{format}");
    }
}
