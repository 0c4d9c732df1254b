//! The formats of lists of tools, checked with the types of the SDKs that take them.

use toolhost_needs::needs;

use super::*;

#[needs(client = "formats")]
#[tokio::test]
async fn every_format_is_what_its_sdk_takes() {
    let installed = prepared("formats");
    let workspace = tempfile::tempdir().unwrap();
    let serving = serving(workspace.path(), &[]);
    let client = crate::harness::http_client().build().unwrap();
    for (format, strict) in [
        ("openai", false),
        ("openai", true),
        ("openai-responses", false),
        ("openai-responses", true),
        ("anthropic", false),
        ("gemini", false),
        ("bedrock", false),
    ] {
        let url = format!("{}/v1/tools?format={format}&strict={strict}", serving.url);
        let tools = client.get(&url).bearer_auth(TOKEN).send().await.unwrap();
        let tools = tools.error_for_status().unwrap().text().await.unwrap();
        assert_eq!(tools.contains("\"strict\":true"), strict, "{tools}");
        let file = workspace.path().join("tools.json");
        std::fs::write(&file, tools).unwrap();
        let mut check = clean(installed.join("bin/python"));
        check.arg(root().join("tests/clients/formats/check.py"));
        check.arg(format).arg(file);
        let names: Vec<String> = serde_json::from_str(printed(&run(check).await)).unwrap();
        assert_eq!(names.len(), 7, "{format}: {names:?}");
    }
}
