//! The list of tools: its size before and after, its order, and the tools that are in it in any case.

use super::*;

/// Returns the parts of a list that a provider gets, one for each tool.
fn parts(format: Format, list: &Value) -> Vec<Value> {
    let parts = match format {
        Format::Gemini => &list[0]["functionDeclarations"],
        Format::Json | Format::Mcp => &list["tools"],
        _ => list,
    };
    parts.as_array().unwrap().clone()
}

#[tokio::test]
async fn the_definitions_of_three_hundred_tools_are_left_out() {
    let setup = setup().await;
    let all = setup.host.offered_without_chat(&actor(), Format::OpenAi);
    let few = setup.host.offered(&actor(), Format::OpenAi);
    assert!(
        all.len() >= 300 && few.len() < 20,
        "{} {}",
        all.len(),
        few.len()
    );
    for &format in Format::ALL {
        let bytes = |tools| format.render(tools).to_string().len();
        let (before, after) = (bytes(&all), bytes(&few));
        println!(
            "{format}: {before} bytes of {} tools before, {after} bytes of {} tools after",
            all.len(),
            few.len()
        );
        // Of `json` and `mcp`, the embedded tools have the schemas of their replies as well.
        let least = match format {
            Format::Json | Format::Mcp => 4,
            _ => 7,
        };
        assert!(
            after * least < before,
            "{format}: {before} before, {after} after"
        );
    }
    let finder = few.iter().find(|tool| tool.name == FIND_TOOLS).unwrap();
    assert!(!finder.description.contains("{{"), "{}", finder.description);
    for (plugin, tools) in catalogue::plugins() {
        assert!(
            finder.description.contains(&format!("\n{plugin}: ")),
            "{plugin}"
        );
        for tool in tools.as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            assert!(finder.description.contains(name), "{name}");
        }
    }
    // The model has the definitions of the embedded tools, and needs no names of them.
    assert!(
        !finder.description.contains("read_file"),
        "{}",
        finder.description
    );
    println!(
        "find_tools: {} bytes of description",
        finder.description.len()
    );
}

#[tokio::test]
async fn what_was_found_follows_in_its_order_in_every_format() {
    let setup = setup().await;
    let base = setup.host.offered(&actor(), Format::OpenAi);
    let wanted = ["list_train", "get_pod", "list_coupon", "create_deal"];
    let mut before = base.clone();
    for (count, name) in wanted.iter().enumerate() {
        let found = find(&setup, "order", &format!("select:{name}")).await;
        assert_eq!(names(&found), [*name]);
        // To find a tool again changes nothing.
        find(&setup, "order", "select:list_train").await;
        let after = setup
            .host
            .offered_in(&actor(), &chat("order"), Format::OpenAi)
            .await
            .unwrap();
        assert_eq!(after.len(), base.len() + count + 1);
        assert_eq!(after.last().unwrap().name, *name);
        for &format in Format::ALL {
            for strict in [false, true] {
                let render = |tools| match strict {
                    true => format.render_strict(tools),
                    false => format.render(tools),
                };
                let (earlier, later) = (
                    parts(format, &render(&before)),
                    parts(format, &render(&after)),
                );
                assert_eq!(earlier[..], later[..earlier.len()], "{format}");
                assert_eq!(later.len(), after.len(), "{format}");
                assert!(later.last().unwrap().to_string().contains(name), "{format}");
            }
        }
        before = after;
    }
}

#[tokio::test]
async fn definitions_within_the_budget_are_all_offered() {
    let offer = Offer {
        budget: 1_000_000,
        ..search()
    };
    let setup = Setup::with(|builder| many(builder, offer)).await;
    let names = offered(&setup, "small").await;
    assert!(
        names.len() >= 300 && !names.contains(&FIND_TOOLS.to_owned()),
        "{names:?}"
    );
    // A token of few tools is within the budget.
    let setup = self::setup().await;
    let few = actor().with_tools(
        [FIND_TOOLS, "create_refund", "list_room"]
            .map(str::to_owned)
            .into(),
    );
    assert_eq!(
        offered_to(&setup, &few, "few").await,
        ["list_room", "create_refund"]
    );
}

#[tokio::test]
async fn the_operator_says_which_tools_need_not_be_found() {
    let offer = Offer {
        always: Some(vec!["read_file".to_owned(), "github__*".to_owned()]),
        ..search()
    };
    let setup = Setup::with(|builder| many(builder, offer)).await;
    let mut names = offered(&setup, "always").await;
    names.sort();
    assert_eq!(
        names,
        [
            "find_tools",
            "github__create_issue",
            "github__delete_issue",
            "github__get_issue",
            "github__list_issue",
            "github__update_issue",
            "read_file",
        ]
    );
    // The embedded tools can be found as well then.
    let found = find(&setup, "always", "select:execute").await;
    assert_eq!(self::names(&found), ["execute"]);
    assert!(
        offered(&setup, "always")
            .await
            .contains(&"execute".to_owned())
    );
}

#[tokio::test]
async fn no_other_mode_changes() {
    for mode in [ToolMode::Direct, ToolMode::Both] {
        let offer = Offer {
            mode,
            ..Offer::default()
        };
        let setup = Setup::with(|builder| many(builder, offer)).await;
        let before = offered(&setup, "other").await;
        assert!(before.len() >= 300, "{mode}");
        find(&setup, "other", "select:list_train").await;
        assert_eq!(offered(&setup, "other").await, before, "{mode}");
    }
}
