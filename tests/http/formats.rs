//! `GET /v1/tools`: the formats of models, and lists that a client has.

use super::calls::send;
use super::*;
use toolhost_call::call::Actor;

#[tokio::test]
async fn tools_in_every_format() {
    let (setup, server) = server().await;
    for &format in toolhost_core::Format::ALL {
        let response = server
            .request(Method::GET, &format!("/v1/tools?format={format}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(
            response.json::<Value>().await.unwrap(),
            format.render(&setup.host.offered(&Actor::default(), format)),
            "{format}"
        );
    }
    for bad in ["format=nope", "fromat=json"] {
        let response = server
            .request(Method::GET, &format!("/v1/tools?{bad}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 400, "{bad}");
    }
}

/// The arguments of a model that fills in a schema: null wherever the schema allows it.
fn least(schema: &Value) -> Value {
    let kinds = &schema["type"];
    if kinds
        .as_array()
        .is_some_and(|kinds| kinds.contains(&json!("null")))
    {
        return Value::Null;
    }
    match kinds.as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().unwrap().iter();
            let properties = properties.map(|(name, property)| (name.clone(), least(property)));
            Value::Object(properties.collect())
        }
        Some("array") => json!([least(&schema["items"])]),
        Some("string") => schema["enum"].get(0).cloned().unwrap_or(json!("x")),
        _ => panic!("{schema}"),
    }
}

#[tokio::test]
async fn strict_models_send_null_for_what_they_leave_out() {
    let (_setup, server) = server().await;
    let list = server.request(Method::GET, "/v1/tools?format=openai&strict=true");
    let list: Value = list.send().await.unwrap().json().await.unwrap();
    let mut nulls = 0;
    for tool in list.as_array().unwrap() {
        let function = &tool["function"];
        let mut arguments = least(&function["parameters"]);
        // A look needs one of two: a process, or several.
        if function["name"] == "process_output" {
            arguments["process_id"] = "x".into();
        }
        if let Some(patch) = arguments.get_mut("patch") {
            *patch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch".into();
        }
        nulls += arguments.to_string().matches("null").count();
        let body = json!({ "tool": function["name"], "arguments": arguments });
        let (status, outcome) = server
            .put("a", function["name"].as_str().unwrap(), body)
            .await;
        assert_eq!(
            (status, &outcome["state"]),
            (200, &json!("finished")),
            "{outcome}"
        );
        assert_eq!(outcome["error"], Value::Null, "{arguments}: {outcome}");
    }
    assert!(nulls > 10, "{list}");
}

#[tokio::test]
async fn lists_of_tools_are_sent_when_they_are_new() {
    let (_setup, server) = server().await;
    let ask = |format: &str| server.request(Method::GET, &format!("/v1/tools?format={format}"));
    let (_, tag, _) = send(ask("openai"), "etag").await;
    let tag = tag.unwrap();
    let again = ask("openai").header("if-none-match", &tag);
    assert_eq!(
        send(again, "etag").await,
        (304, Some(tag.clone()), String::new())
    );
    let other = ask("anthropic").header("if-none-match", &tag);
    let (status, other, _) = send(other, "etag").await;
    assert_eq!(status, 200);
    assert_ne!(other.unwrap(), tag);
}
