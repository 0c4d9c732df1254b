//! The cases of `guest-tools/edit/cases.json` and `guest-tools/files/cases.json`, through the component. The crates' own tests run
//! them natively.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::*;

#[tokio::test]
async fn every_edit_has_its_outcome() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../guest-tools/edit/cases.json"
    );
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let setup = Setup::new().await;
    // The tool refuses an empty file before.
    for case in cases.iter().filter(|case| case["content"] != "") {
        let content = case["content"].as_str().unwrap();
        setup.make("file", content);
        let files = json!([{ "path": "file", "edits": [case["edit"]] }]);
        let reply = setup
            .try_call("edit_files", json!({ "files": files }))
            .await;
        let now = String::from_utf8(setup.content("file")).unwrap();
        match (&reply, case["result"].as_str()) {
            (Ok(reply), Some(expected)) => {
                assert_eq!(now, expected, "{}", case["name"]);
                let diff = reply["files"][0]["diff"].as_str().unwrap();
                assert_eq!(diff.is_empty(), expected == content, "{}", case["name"]);
            }
            (Err(text), None) => {
                let expected = format!("edit file: {}", case["error"].as_str().unwrap());
                assert_eq!(*text, expected, "{}", case["name"]);
                assert_eq!(now, content, "{}", case["name"]);
            }
            _ => panic!("{}: {reply:?}, {now:?}", case["name"]),
        }
    }
    assert!(cases.len() > 150);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn arguments_are_taken_as_models_write_them() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../guest-tools/files/cases.json"
    );
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let setup = Setup::new().await;
    setup.host.set_public_address(toolhost_core::PublicAddress {
        origin: "https://toolhost.example".to_owned(),
        ports: None,
    });
    for case in &cases {
        for name in setup.names() {
            std::fs::remove_file(setup.root().join(name)).unwrap();
        }
        let before = case["files"].as_object().unwrap();
        for (path, content) in before {
            setup.make(path, content.as_str().unwrap());
        }
        // Bytes that are no text.
        let empty = serde_json::Map::new();
        let binary = case["base64"].as_object().unwrap_or(&empty);
        for (path, content) in binary {
            setup.make(path, BASE64.decode(content.as_str().unwrap()).unwrap());
        }
        let tool = case["tool"].as_str().unwrap();
        let mut seen = serde_json::Map::new();
        match setup
            .try_call_with_images(tool, case["arguments"].clone())
            .await
        {
            Ok((mut reply, images)) => {
                let reply_fields = reply.as_object_mut().unwrap();
                // The texts that are others at each host and at each time.
                for field in ["version", "url", "expires"] {
                    reply_fields.shift_remove(field);
                }
                if let Some(path) = reply_fields.get_mut("path") {
                    let root = setup.root().display().to_string();
                    *path = path.as_str().unwrap().replace(&root, "/workspace").into();
                }
                seen.insert("reply".to_owned(), reply);
                if !images.is_empty() {
                    let types: Vec<_> = images.iter().map(|(media_type, _)| media_type).collect();
                    seen.insert("images".to_owned(), json!(types));
                }
            }
            Err(text) => _ = seen.insert("refusal".to_owned(), text.into()),
        }
        for name in setup.names() {
            if binary.contains_key(&name) {
                continue;
            }
            let now = String::from_utf8(setup.content(&name)).unwrap();
            if before.get(&name).and_then(Value::as_str) != Some(&now) {
                seen.insert(name, now.into());
            }
        }
        let names = setup.names();
        let gone = before.keys().filter(|name| !names.contains(name));
        seen.extend(gone.map(|name| (name.clone(), Value::Null)));
        assert_eq!(Some(&seen), case["outcome"].as_object(), "{}", case["name"]);
    }
    assert!(cases.len() > 80);
    setup.host.shutdown().await;
}
