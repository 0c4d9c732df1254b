//! The documents that a tool returns by their address, as its `extra` declares them.

use super::{MAX_DESCRIPTION, MAX_TITLE, check_text};
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use toolhost_call::tool::Resource;

/// The name in `extra`.
const NAME: &str = "resources";

/// The most entries of one tool, and the longest name of one, in bytes.
const MAX_RESOURCES: usize = 64;
const MAX_NAME: usize = 128;

/// Returns the documents, or the problem of the plugin's declaration.
pub(super) fn of(tool: &wit::Tool) -> Result<Vec<Resource>, String> {
    let mut said = tool.extra.iter().filter(|(name, _)| name == NAME);
    let Some((_, json)) = said.next() else {
        return Ok(Vec::new());
    };
    if said.next().is_some() {
        return Err("its extra \"resources\" is there twice".into());
    }
    let resources: Vec<Resource> = serde_json::from_str(json)
        .map_err(|error| format!("its extra \"resources\" is not a list of them: {error}"))?;
    if resources.len() > MAX_RESOURCES {
        return Err(format!(
            "it has {} resources, the most is {MAX_RESOURCES}",
            resources.len()
        ));
    }
    // Clients read resources without an approval.
    if !resources.is_empty() && !tool.hints.contains(wit::Hints::READ_ONLY) {
        return Err("it has resources and does not promise to be read-only".into());
    }
    for resource in &resources {
        let text = |what, text: &Option<String>, most, lines| match text {
            Some(text) => check_text(what, text, most, lines),
            None => Ok(()),
        };
        if resource.name.is_empty() {
            return Err("its resource has an empty name".into());
        }
        check_text("resource's name", &resource.name, MAX_NAME, false)?;
        text("resource's title", &resource.title, MAX_TITLE, false)?;
        let description = &resource.description;
        text("resource's description", description, MAX_DESCRIPTION, true)?;
        let media_type = &resource.media_type;
        text("resource's media type", media_type, MAX_NAME, false)?;
    }
    Ok(resources)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(hints: wit::Hints, extra: &[&str]) -> wit::Tool {
        let extra = extra
            .iter()
            .map(|json| (NAME.to_owned(), (*json).to_owned()));
        wit::Tool {
            name: "t".into(),
            title: None,
            description: String::new(),
            input_schema: "{}".into(),
            output_schema: None,
            hints,
            max_duration_ms: None,
            examples: Vec::new(),
            extra: [("other".to_owned(), "no JSON".to_owned())]
                .into_iter()
                .chain(extra)
                .collect(),
        }
    }

    #[test]
    fn they_are_read_from_extra() {
        let json = r#"[{"uri":"docs:{page}","name":"page","media_type":"text/plain","new":1}]"#;
        let resources = of(&tool(wit::Hints::READ_ONLY, &[json])).unwrap();
        assert!(resources[0].uri.matches("docs:a") && resources[0].name == "page");
        assert_eq!(of(&tool(wit::Hints::empty(), &[])), Ok(Vec::new()));
        assert_eq!(of(&tool(wit::Hints::empty(), &["[]"])), Ok(Vec::new()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let one = r#"[{"uri":"a:b","name":"n"}]"#;
        let many = serde_json::json!([{ "uri": "a:b", "name": "n" }]);
        let many = serde_json::Value::Array(vec![many[0].clone(); 65]).to_string();
        let read_only = wit::Hints::READ_ONLY;
        for (hints, extra, problem) in [
            (wit::Hints::empty(), vec![one], "read-only"),
            (read_only, vec![one, one], "twice"),
            (read_only, vec!["{}"], "not a list"),
            (read_only, vec![r#"[{"uri":"a:b"}]"#], "name"),
            (read_only, vec![r#"[{"uri":"a:b","name":""}]"#], "empty"),
            (
                read_only,
                vec![r#"[{"uri":"toolhost:x","name":"n"}]"#],
                "host's",
            ),
            (
                read_only,
                vec![r#"[{"uri":"a:b","name":"n\u202e"}]"#],
                "character",
            ),
            (read_only, vec![many.as_str()], "65"),
        ] {
            let error = of(&tool(hints, &extra)).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
