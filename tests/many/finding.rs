//! `find_tools`: what a model finds, what it may call then, and hostile queries.

use toolhost_call::tool::ErrorKind;

use super::*;

/// A scripted model: it gets a task, looks for a tool with the words of the task, and calls the tool that fits.
#[tokio::test]
async fn a_model_finds_the_right_tool_for_twenty_tasks() {
    let setup = setup().await;
    let mut places = Vec::new();
    for (number, (task, wanted, argument)) in catalogue::TASKS.into_iter().enumerate() {
        let chat = format!("task-{number}");
        assert!(
            !offered(&setup, &chat).await.contains(&wanted.to_owned()),
            "{wanted}"
        );
        let found = find(&setup, &chat, task).await;
        let names = names(&found);
        let place = names.iter().position(|name| *name == wanted);
        let place = place.unwrap_or_else(|| panic!("{task}: {wanted} is not among {names:?}"));
        assert!(names.len() <= 5, "{names:?}");
        places.push(place + 1);
        // The model calls what it was offered, as its schema says.
        let offered = setup
            .host
            .offered_in(&actor(), &super::chat(&chat), Format::OpenAi)
            .await
            .unwrap();
        let tool = offered.iter().find(|tool| tool.name == wanted).unwrap();
        let shown = &found["tools"][place];
        assert_eq!(shown["input_schema"], tool.input_schema, "{wanted}");
        assert_eq!(shown["description"], tool.description.as_str(), "{wanted}");
        assert!(
            tool.input_schema["properties"].get(argument).is_some(),
            "{wanted}"
        );
        let value = match argument {
            "page_size" => json!(10),
            _ => json!(task),
        };
        let arguments = json!({ argument: value });
        let called = call(&setup.host, request(&chat, wanted, &arguments))
            .await
            .unwrap();
        let reply: Value =
            serde_json::from_str(called.result.as_ref().unwrap().structured().unwrap().get())
                .unwrap();
        assert_eq!(reply["arguments"], arguments, "{wanted}");
        assert!(wanted.ends_with(reply["tool"].as_str().unwrap()), "{reply}");
    }
    println!("the right tool was at {places:?}");
}

#[tokio::test]
async fn no_other_chat_sees_what_was_found() {
    let setup = setup().await;
    let before = offered(&setup, "one").await;
    find(&setup, "one", "select:get_pod").await;
    assert_eq!(offered(&setup, "one").await.len(), before.len() + 1);
    assert_eq!(offered(&setup, "other").await, before);
    assert_eq!(
        setup.host.offered(&actor(), Format::OpenAi).len(),
        before.len()
    );
    // The offer takes no right away.
    let called = call(
        &setup.host,
        request("other", "get_pod", &json!({ "id": "1" })),
    )
    .await
    .unwrap();
    assert!(called.result.is_ok(), "{called:?}");
}

#[tokio::test]
async fn a_token_finds_and_is_offered_only_its_tools() {
    let offer = Offer {
        budget: 0,
        ..search()
    };
    let setup = Setup::with(|builder| many(builder, offer)).await;
    let bounded =
        |tools: &[&str]| actor().with_tools(tools.iter().map(|&tool| tool.to_owned()).collect());
    let few = bounded(&[FIND_TOOLS, "get_pod", "list_pod"]);
    assert_eq!(offered_to(&setup, &few, "bounded").await, [FIND_TOOLS]);
    let description = setup
        .host
        .offered(&few, Format::OpenAi)
        .swap_remove(0)
        .description;
    assert!(
        description.contains("\nkubernetes: list_pod, get_pod"),
        "{description}"
    );
    assert!(!description.contains("stripe"), "{description}");
    // Another token has found more in the same chat.
    find(&setup, "bounded", "select:create_refund,list_pod").await;
    assert_eq!(
        offered_to(&setup, &few, "bounded").await,
        [FIND_TOOLS, "list_pod"]
    );
    for query in [
        "pay money back to a buyer",
        "/refund/",
        "select:create_refund",
    ] {
        let found = find_as(&setup, &few, "bounded", query).await;
        assert!(
            !names(&found).iter().any(|name| name.contains("refund")),
            "{query}: {found}"
        );
    }
    let found = find_as(&setup, &few, "bounded", "select:create_refund,get_pod").await;
    assert_eq!(
        (names(&found), &found["unknown"]),
        (vec!["get_pod"], &json!(["create_refund"]))
    );
    // A token that may find nothing is offered its tools directly.
    let without = bounded(&["get_pod", "create_refund"]);
    assert_eq!(
        offered_to(&setup, &without, "bounded").await,
        ["create_refund", "get_pod"]
    );
}

#[tokio::test]
async fn a_grant_bounds_what_is_found() {
    let finder = Options {
        grants: Grants::default().with_calls(["list_*"]),
        ..Options::new(FIND_TOOLS)
    };
    let offer = Offer {
        budget: 0,
        always: Some(Vec::new()),
        ..search()
    };
    let setup = Setup::with(|builder| builder.offer(offer).plugin(FIND, finder)).await;
    // No tool that can be found is hidden, so the list is whole.
    assert!(
        offered(&setup, "granted")
            .await
            .contains(&"execute".to_owned())
    );
    let found = find(&setup, "granted", "run a command").await;
    assert!(names(&found).is_empty(), "{found}");
}

#[tokio::test]
async fn hostile_queries_end_with_advice() {
    let setup = setup().await;
    for query in [
        String::new(),
        " \u{0}\n".to_owned(),
        "a ".repeat(50_000),
        "/(/".to_owned(),
        "/((((a{100}){100}){100}){100})/".to_owned(),
        format!("/{}/", "(a|".repeat(300)),
        "select:".to_owned(),
    ] {
        let outcome = outcome(&setup, &actor(), "hostile", &json!({ "query": query })).await;
        let error = outcome.result.as_ref().unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArguments, "{error:?}");
        assert!(error.message.len() < 1_000, "{error:?}");
    }
    for query in [
        "/^(([a-z])+.)+[A-Z]([a-z])+$/",
        "\u{202e}𝒳 ß",
        "select:../../etc/passwd",
    ] {
        find(&setup, "hostile", query).await;
    }
    // OpenAI's strict mode sends null.
    let nulls = json!({ "query": "book a train", "limit": null });
    assert!(
        outcome(&setup, &actor(), "hostile", &nulls)
            .await
            .result
            .is_ok()
    );
}
