//! The list of tools that clients are offered: tools, scripts, or both.

use super::*;
use toolhost_core::{Format, Offer, PluginSet, ToolMode};

use crate::harness;

async fn offering(mode: ToolMode, only: &[&str]) -> Setup {
    let offer = Offer {
        mode,
        only_in_scripts: only.iter().map(|&tool| tool.to_owned()).collect(),
        ..Offer::default()
    };
    changed(|builder| builder.offer(offer)).await
}

fn names(setup: &Setup, actor: &Actor) -> Vec<String> {
    let offered = setup.host.offered(actor, Format::Json);
    offered.into_iter().map(|tool| tool.name).collect()
}

#[tokio::test]
async fn tools_are_offered_directly_in_scripts_or_both() {
    let all = actor("all");
    let direct = offering(ToolMode::Direct, &[]).await;
    let everything = names(&direct, &all);
    assert!(
        everything.contains(&"run_script".to_owned()) && everything.len() > 7,
        "{everything:?}"
    );
    let scripts = offering(ToolMode::Script, &[]).await;
    assert_eq!(names(&scripts, &all), ["run_script"]);
    // An actor that may run no script is offered its tools directly.
    let bounded = actor("bounded").with_tools(["read_file".to_owned()].into());
    assert_eq!(names(&scripts, &bounded), ["read_file"]);
    let both = offering(ToolMode::Both, &["process_*", "read_file"]).await;
    assert_eq!(
        names(&both, &all),
        [
            "execute",
            "write_file",
            "edit_files",
            "search_files",
            "find_files",
            "share_file",
            "run_script"
        ]
    );
    // What is not offered can be called.
    let listed = both.call("process_list", json!({})).await;
    assert_eq!(listed["success"], true, "{listed}");
}

#[tokio::test]
async fn a_name_that_no_tool_has_is_logged() {
    let setup = offering(ToolMode::Both, &["read_flie", "read_*", "unknown__*"]).await;
    let log = harness::logged(setup.host.apply(PluginSet::default())).await;
    let mut warned = log.lines().filter(|line| line.contains("tools_in_script"));
    let names = |line: &str, pattern: &str| line.contains(&format!("pattern=\"{pattern}\""));
    assert!(warned.clone().any(|line| names(line, "read_flie")), "{log}");
    assert!(
        warned.clone().any(|line| names(line, "unknown__*")),
        "{log}"
    );
    assert!(!warned.any(|line| names(line, "read_*")), "{log}");
}

#[tokio::test]
async fn the_description_declares_what_the_caller_can_call() {
    let setup = offering(ToolMode::Script, &[]).await;
    let description = |actor: &Actor| {
        setup
            .host
            .offered(actor, Format::Json)
            .swap_remove(0)
            .description
    };
    let all = description(&actor("all"));
    assert!(!all.contains("{{"), "{all}");
    assert!(all.contains("read_file(args: { /** "), "{all}");
    assert!(
        all.contains("execute(args: ") && !all.contains("run_script(args"),
        "{all}"
    );
    assert!(all.len() < 20 << 10, "{}", all.len());
    let bounded =
        actor("bounded").with_tools(["run_script", "process_list"].map(str::to_owned).into());
    let bounded = description(&bounded);
    assert!(
        bounded.contains("process_list(args?: {") && !bounded.contains("execute(args"),
        "{bounded}"
    );
}
