//! The cases of `guest-tools/edit/cases.json`, through the component. The crate's own tests run them natively.

use super::*;

#[tokio::test]
async fn every_case_has_its_outcome() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../guest-tools/edit/cases.json"
    );
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let setup = Setup::new().await;
    for case in &cases {
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
