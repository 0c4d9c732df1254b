//! A host that is killed while a call makes calls: a repeat runs the call again, and none of its calls twice. The calls are those of a
//! plan, or of a script.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::*;
use crate::harness::serving::{Serving, server};
use crate::harness::{PATIENCE, TOKEN};

/// How many calls a call makes.
const CALLS: usize = 20;

/// A server with the plugin that may run commands through `execute`, in a workspace that keeps its state.
fn start(workspace: &Path, more: &str) -> Serving {
    start_in(workspace, more, "direct")
}

/// The same, with tools offered in this mode.
fn start_in(workspace: &Path, more: &str, mode: &str) -> Serving {
    let config = workspace.join("toolhost.toml");
    let component = workspace.join("caller.wasm");
    if !component.exists() {
        std::fs::write(&component, CALLER).unwrap();
    }
    let text = format!(
        "[plugins.caller]\ncomponent = {component:?}\ngrants = {{ calls = [\"execute\"]{more} }}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut command = server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.arg("--config").arg(config);
    command.args(["serve", "--tool-mode", mode]);
    Serving::of(command)
}

/// Calls `call_tools` until a server answers. `None`: the server is gone.
async fn call_once(serving: &Serving, id: &str, plan: &Value) -> Option<Value> {
    let body = json!({ "tool": "call_tools", "arguments": plan });
    put(serving, id, &body).await
}

/// Makes a call until a server answers. `None`: the server is gone.
async fn put(serving: &Serving, id: &str, body: &Value) -> Option<Value> {
    loop {
        let request = serving
            .client
            .put(format!("{}/v1/chats/chat/calls/{id}", serving.url))
            .bearer_auth(TOKEN)
            .json(body);
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        let body = response.json::<Value>().await.ok()?;
        match status {
            200 => return Some(body),
            // The plugin is still being loaded, or there is no place for the call.
            404 | 429 | 503 => crate::harness::a_moment().await,
            _ => panic!("{status} {body}"),
        }
    }
}

/// How often the command of each call ran.
fn runs(workspace: &Path) -> HashMap<String, usize> {
    let counter = std::fs::read_to_string(workspace.join("counter")).unwrap_or_default();
    let mut runs = HashMap::new();
    for line in counter.lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    runs
}

/// A plan of calls, each with an effect. Some are equal.
fn effects(round: usize, together: bool) -> Value {
    let name = |number: usize| match number {
        3 | 11 => format!("{round}-same"),
        number => format!("{round}-{number}"),
    };
    let command = |number: usize| execute(&format!("echo {} >> counter", name(number)));
    let calls: Vec<_> = (0..CALLS).map(command).collect();
    json!({ "calls": calls, "together": together })
}

/// Who makes the calls of a plan.
#[derive(Clone, Copy)]
enum Maker {
    /// The plugin of tests.
    Plugin,
    /// A script.
    Script,
}

impl Maker {
    fn start(self, workspace: &Path) -> Serving {
        let mode = match self {
            Self::Plugin => "direct",
            Self::Script => "both",
        };
        start_in(workspace, "", mode)
    }

    /// The call that makes the calls of a plan.
    fn call(self, plan: &Value) -> Value {
        let script = format!(
            "const plan = {plan};
            const run = async ({{ tool, arguments: args }}) => {{
                try {{ await tools.call(tool, args); return {{}} }} catch ({{ kind }}) {{ return {{ error: kind }} }}
            }};
            if (plan.together) return await Promise.all(plan.calls.map(run));
            const ends = [];
            for (const call of plan.calls) ends.push(await run(call));
            return ends;"
        );
        match self {
            Self::Plugin => json!({ "tool": "call_tools", "arguments": plan }),
            Self::Script => json!({ "tool": "run_script", "arguments": { "code": script } }),
        }
    }

    /// How each call of the plan ended.
    fn ends(self, answer: &Value) -> &Value {
        match self {
            Self::Plugin => &answer["structured"]["ends"],
            Self::Script => &answer["structured"]["result"],
        }
    }
}

/// Kills the host while calls make calls with effects, repeats each call, and returns how many nested calls were unknown.
async fn killed(maker: Maker, rounds: usize) -> usize {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = maker.start(workspace.path());
    let mut unknown = 0;
    for round in 0..rounds {
        let (id, plan) = (format!("outer_{round}"), effects(round, round % 2 == 0));
        let body = maker.call(&plan);
        let random = uuid::Uuid::new_v4().as_u128();
        // In the midst of the calls: the moment is what is random here, nothing waits for it.
        let at = (random % CALLS as u128) as usize;
        let moment = Duration::from_micros((random >> 64) as u64 % 20_000);
        let begun = runs(workspace.path()).values().sum::<usize>();
        let killing = async {
            crate::harness::until("calls have effects", || {
                let now = runs(workspace.path()).values().sum::<usize>();
                (now >= begun + at).then_some(())
            })
            .await;
            tokio::time::sleep(moment).await;
        };
        let answered = tokio::select! {
            answer = put(&serving, &id, &body) => answer,
            () = killing => None,
        };
        serving.signal(Signal::SIGKILL);
        drop(serving);
        serving = maker.start(workspace.path());
        let again = tokio::time::timeout(PATIENCE, put(&serving, &id, &body));
        let again = again.await.expect("the repeat is answered").unwrap();
        assert_eq!(again["state"], "finished", "{again}");
        let ends = maker.ends(&again).as_array().unwrap();
        if let Some(answer) = answered {
            assert_eq!(again, answer, "a call that has ended does not run again");
        }
        let runs = runs(workspace.path());
        let mut expected = HashMap::<_, (usize, usize)>::new();
        for (end, call) in ends.iter().zip(plan["calls"].as_array().unwrap()) {
            let command = call["arguments"]["command"].as_str().unwrap();
            let name = command.split(' ').nth(1).unwrap().to_owned();
            let (certain, possible) = expected.entry(name).or_default();
            match end["error"].as_str() {
                None => *certain += 1,
                Some("unknown_outcome") => *possible += 1,
                Some(_) => panic!("{end}"),
            }
        }
        for (name, (certain, possible)) in expected {
            let count = runs.get(&name).copied().unwrap_or_default();
            unknown += possible;
            assert!(
                (certain..=certain + possible).contains(&count),
                "{name} ran {count} times: {certain} certainly and {possible} perhaps"
            );
        }
        // The repeat of the repeat changes nothing.
        let third = put(&serving, &id, &body).await.unwrap();
        assert_eq!(third, again);
        assert_eq!(self::runs(workspace.path()), runs);
    }
    unknown
}

#[tokio::test(flavor = "multi_thread")]
async fn no_effect_happens_twice_though_the_host_is_killed() {
    let rounds = rounds();
    let unknown = killed(Maker::Plugin, rounds).await;
    // At most the calls that ran at the same time.
    assert!(unknown <= rounds * 8, "{unknown} of {rounds} times {CALLS}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_effect_of_a_script_happens_twice_though_the_host_is_killed() {
    let rounds = rounds();
    let unknown = killed(Maker::Script, rounds).await;
    assert!(unknown <= rounds * 8, "{unknown} of {rounds} times {CALLS}");
}

/// How often the host is killed; 200 times where somebody wants to be sure.
fn rounds() -> usize {
    std::env::var("TOOLHOST_NESTED_KILLS").map_or(6, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_finds_the_scratch_directory_of_the_run_that_was_killed() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = Maker::Script.start(workspace.path());
    // The second command begins when the reply of the first one is saved.
    let code = "
        const workdir = scratch();
        await tools.execute({ command: 'echo kept > made; echo first >> \"ROOT/counter\"', workdir });
        await tools.execute({ command: 'echo second >> \"ROOT/counter\"; exec sleep 1000', timeout: '1h' }).catch(() => {});
        const { output } = await tools.execute({ command: 'cat made', workdir });
        return [workdir, output];";
    let code = code.replace("ROOT", &workspace.path().to_string_lossy());
    let body = json!({ "tool": "run_script", "arguments": { "code": code } });
    let begun = crate::harness::until("the second command runs", || {
        runs(workspace.path()).contains_key("second").then_some(())
    });
    tokio::select! {
        answer = put(&serving, "outer", &body) => panic!("{answer:?}"),
        () = begun => {}
    }
    serving.signal(Signal::SIGKILL);
    drop(serving);
    serving = Maker::Script.start(workspace.path());
    let answer = put(&serving, "outer", &body).await.unwrap();
    let result = &answer["structured"]["result"];
    assert_eq!(result[1], "kept\n", "{answer}");
    let directory = Path::new(result[0].as_str().unwrap());
    assert!(!directory.exists(), "{answer}");
    assert!(runs(workspace.path()).values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_with_effects_of_its_own_does_not_run_again() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = start(workspace.path(), ", files = \"read\"");
    let plan = json!({ "calls": [execute("echo ran >> counter; exec sleep 1000")] });
    let calling = async { call_once(&serving, "outer", &plan).await };
    let begun = crate::harness::until("the command runs", || {
        (!runs(workspace.path()).is_empty()).then_some(())
    });
    tokio::select! {
        answer = calling => panic!("{answer:?}"),
        () = begun => {}
    }
    serving.signal(Signal::SIGKILL);
    drop(serving);
    let serving = start(workspace.path(), ", files = \"read\"");
    let again = call_once(&serving, "outer", &plan).await.unwrap();
    assert_eq!(again["state"], "unknown", "{again}");
    // Nor if the grant was taken back since: what the call did by itself before is not known.
    drop(serving);
    let serving = start(workspace.path(), "");
    let third = call_once(&serving, "outer", &plan).await.unwrap();
    assert_eq!(third, again);
    assert_eq!(runs(workspace.path())["ran"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_with_other_arguments_is_refused() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = start(workspace.path(), "");
    let plan = json!({ "calls": [execute("echo ran >> counter; exec sleep 1000")] });
    let begun = crate::harness::until("the command runs", || {
        (!runs(workspace.path()).is_empty()).then_some(())
    });
    tokio::select! {
        answer = call_once(&serving, "outer", &plan) => panic!("{answer:?}"),
        () = begun => {}
    }
    serving.signal(Signal::SIGKILL);
    drop(serving);
    let serving = start(workspace.path(), "");
    let again = call_once(&serving, "other", &json!({ "calls": [] })).await;
    assert_eq!(again.unwrap()["state"], "finished");
    let other = json!({ "tool": "call_tools", "arguments": { "calls": [] } });
    let request = serving
        .client
        .put(format!("{}/v1/chats/chat/calls/outer", serving.url))
        .bearer_auth(TOKEN)
        .json(&other);
    assert_eq!(request.send().await.unwrap().status(), 409);
    let again = call_once(&serving, "outer", &plan).await.unwrap();
    let end = &again["structured"]["ends"][0];
    assert_eq!(end["error"], "unknown_outcome", "{again}");
    assert_eq!(runs(workspace.path())["ran"], 1);
}
