//! The cases of `cases.json`, natively: arguments as models write them. The host's tests put the same cases through the component.
//!
//! To write down the replies of today, to be looked at in the diff: `WRITE_CASES=1 cargo test -p toolhost-files cases`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::{Map, Value, json};
use toolhost_sdk::testing::{self, FakeFiles};
use toolhost_sdk::{Tool, ToolError};

use crate::apply_patch::{self, ApplyPatch};
use crate::edit_files::{self, EditFiles};
use crate::find_files::{self, FindFiles};
use crate::read_file::{self, ReadFile};
use crate::refusal::Refusal;
use crate::search_files::{self, SearchFiles};
use crate::share_file::{self, ShareFile};
use crate::write_file::{self, WriteFile};

fn reply(result: Result<impl Serialize, Refusal>) -> Result<Value, String> {
    result
        .map(|reply| json!(reply))
        .map_err(|refusal| match refusal {
            Refusal::Report(text) => text,
            Refusal::Error(error) => error.to_string(),
        })
}

/// Returns what the model reads, without versions, and what the files have afterwards.
fn outcome(case: &Value) -> Map<String, Value> {
    let before = case["files"].as_object().unwrap();
    let files = before
        .iter()
        .fold(FakeFiles::new(), |files, (path, content)| {
            files.with(path, content.as_str().unwrap())
        });
    // Bytes that are no text.
    let binary = case["base64"].as_object().into_iter().flatten();
    let files = binary.fold(files, |files, (path, content)| {
        files.with(path, BASE64.decode(content.as_str().unwrap()).unwrap())
    });
    let mut images = Vec::new();
    let text = case["arguments"].to_string();
    let refused = |error: ToolError| error.to_string();
    let result = match case["tool"].as_str().unwrap() {
        ReadFile::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| {
                let page = read_file::run(&files, &arguments, read_file::Reader::Model);
                images.extend(page.iter().flat_map(read_file::Page::media_types));
                reply(page)
            }),
        WriteFile::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| reply(write_file::run(&files, arguments))),
        EditFiles::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| reply(edit_files::run(&files, &arguments))),
        ApplyPatch::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| reply(apply_patch::run(&files, &arguments))),
        SearchFiles::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| {
                reply(search_files::run(
                    &files,
                    &arguments,
                    read_file::Reader::Model,
                ))
            }),
        FindFiles::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| reply(find_files::run(&files, &arguments, 2_000_000))),
        ShareFile::NAME => testing::arguments(&text)
            .map_err(refused)
            .and_then(|arguments| reply(share_file::run(&files, &arguments))),
        other => panic!("{other}"),
    };
    let mut outcome = Map::new();
    match result {
        Ok(mut reply) => {
            // The texts that are others at each host and at each time.
            for field in ["version", "url", "expires"] {
                reply.as_object_mut().unwrap().shift_remove(field);
            }
            outcome.insert("reply".to_owned(), reply);
        }
        Err(text) => _ = outcome.insert("refusal".to_owned(), text.into()),
    }
    if !images.is_empty() {
        outcome.insert("images".to_owned(), json!(images));
    }
    for path in ["f", "g"] {
        if !case["base64"][path].is_null() {
            continue;
        }
        let text = files.text(path);
        if text.as_deref() != before.get(path).and_then(Value::as_str) {
            outcome.insert(path.to_owned(), json!(text));
        }
    }
    outcome
}

#[test]
fn every_case_has_its_outcome() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/cases.json");
    toolhost_sdk::testing::check_cases(path, outcome).unwrap();
}
