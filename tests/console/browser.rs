//! The pages in Chromium: `tests/clients/console` has what it does there, one file for each test.

mod chats;
mod docs;
mod quickstart;
mod vite;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolhost_needs::needs;

use crate::clients::{clean, prepared, root, scripts};
use crate::harness::serving::{Serving, server};
use crate::harness::{PATIENCE, TOKEN};

/// A server with a console, and a link that logs in.
struct Console {
    serving: Serving,
    link: String,
    workspace: tempfile::TempDir,
}

impl Console {
    /// Starts a server with these arguments, in a workspace of its own.
    fn start(arguments: &[&str]) -> Self {
        // The pictures show its name.
        let workspace = tempfile::Builder::new().prefix("project-").tempdir();
        let workspace = workspace.unwrap();
        let (serving, link) = start(workspace.path(), "127.0.0.1:0", arguments);
        Self {
            serving,
            link,
            workspace,
        }
    }

    /// Runs a scenario with the token of the server.
    async fn run(&self, name: &str, more: Value) -> Value {
        let mut options = json!({ "token": TOKEN, "link": self.link });
        options
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap_or_default());
        scenario(name, &self.serving.url, &options).await
    }
}

/// Starts a server, and reads the link that it prints.
fn start(workspace: &Path, address: &str, arguments: &[&str]) -> (Serving, String) {
    let mut command = server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    command.args(arguments).args(["--listen", address]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (mut url, mut said) = (None, String::new());
    let link = loop {
        let Some(Ok(line)) = lines.next() else {
            panic!("it prints no link, {:?}: {said}", child.wait());
        };
        said.push_str(&line);
        said.push('\n');
        url = url.or_else(|| line.strip_prefix("listening on ").map(str::to_owned));
        if let Some(link) = line.strip_prefix("console: ") {
            break link.to_owned();
        }
    };
    // The server must find room for what it says later.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    (Serving::started(child, url.unwrap()), link)
}

/// Returns the command that runs a scenario, and the directory of its files.
fn browser(name: &str, url: &str, options: &Value) -> (Command, tempfile::TempDir) {
    let modules = prepared("console").join("node_modules");
    let copy = scripts(&modules, "tests/clients/console");
    let mut command = clean(modules.join("node/bin/node"));
    command
        // Browsers write to the home.
        .env("HOME", copy.path())
        .arg(copy.path().join("browser.mjs"))
        .args([name, url, &options.to_string()]);
    (command, copy)
}

/// Runs a scenario, and returns what it saw. Whatever it does, no script fails, the policy stops nothing, and all requests go to
/// the server.
async fn scenario(name: &str, url: &str, options: &Value) -> Value {
    let (command, _files) = browser(name, url, options);
    outcome(name, command).await
}

/// Runs the command of a scenario, and returns what it saw.
async fn outcome(name: &str, command: Command) -> Value {
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(6 * PATIENCE, command.output()).await;
    let output = output.expect("the browser does not end").unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{name}: {stdout}{stderr}");
    seen(&stdout)
}

fn seen(stdout: &str) -> Value {
    let seen: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    for kind in ["foreign", "errors", "stopped", "dialogs"] {
        assert_eq!(seen["seen"][kind], json!([]), "{kind}");
    }
    seen
}

fn texts(value: &Value) -> Vec<&str> {
    let all = value.as_array().unwrap().iter();
    all.map(|text| text.as_str().unwrap()).collect()
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_browser_logs_in_by_a_link_once_and_by_the_form() {
    let console = Console::start(&[]);
    let seen = console.run("login", json!({})).await;
    assert_eq!(
        (&seen["byLink"], &seen["root"]),
        (&json!("/console/"), &json!("/console/"))
    );
    let cookie =
        json!({ "name": "toolhost-console", "httpOnly": true, "sameSite": "Strict", "path": "/" });
    assert_eq!(seen["cookie"], cookie);
    assert_eq!(
        (&seen["isHidden"], &seen["hasCode"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&seen["left"], &seen["keepsToken"]),
        (&json!(0), &json!(false))
    );
    assert!(seen["again"].as_str().unwrap().contains("link"), "{seen}");
    assert_eq!(
        seen["refused"],
        "The token is not valid: ask the operator for one (`toolhost token`)."
    );
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn fifty_megabytes_of_output_leave_the_page_responsive() {
    let console = Console::start(&[]);
    let seen = console.run("flood", json!({})).await;
    let (idle, live) = (&seen["idle"], &seen["live"]);
    println!(
        "50 MB in {} ms; idle {idle}; live {live}; scrolling {}",
        seen["took"], seen["scrolling"]
    );
    // Every row that was looked at is the one of its number.
    assert_eq!(seen["wrong"], json!([0, 0, 0, 0, 0]), "{seen}");
    assert_eq!(seen["lines"], 1_000_001);
    // The page is as large as for a short output.
    assert!(
        seen["elements"].as_u64().unwrap() < 600,
        "{}",
        seen["elements"]
    );
    assert!(seen["most"].as_u64().unwrap() < 120, "{}", seen["most"]);
    // It drew all the time: a page that reads or shows all of the output at once stands still for many seconds. On a machine
    // with nothing else to do, 95 of 100 frames take less than 100 ms.
    let p95 = |of: &Value| of["p95"].as_f64().unwrap();
    let bound = f64::max(1000.0, 50.0 * p95(idle));
    for of in [live, &seen["scrolling"]] {
        assert!(p95(of) < bound, "{of}, while idle {idle}");
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_process_and_a_call_are_ended_from_the_page() {
    let console = Console::start(&[]);
    let seen = console.run("kill", json!({})).await;
    let question = seen["question"].as_str().unwrap();
    for part in [
        "exec sleep 1000",
        "everything that it started",
        "kill-me",
        "SIGTERM",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    // The answer that ends nothing is the first.
    assert_eq!(
        (&seen["focused"], &seen["kept"]),
        (&json!("Keep it running"), &json!(1))
    );
    let cancelling = seen["cancelling"].as_str().unwrap();
    assert!(
        cancelling.contains("echo waiting; sleep 1000"),
        "{cancelling}"
    );
    let serving = &console.serving;
    let call = serving.request(reqwest::Method::GET, "/v1/chats/kill-me/calls/2");
    let call: Value = call.send().await.unwrap().json().await.unwrap();
    assert_eq!(call["state"], "cancelled");
    let processes = serving.request(reqwest::Method::GET, "/v1/chats/kill-me/processes");
    let processes: Value = processes.send().await.unwrap().json().await.unwrap();
    for process in processes["processes"].as_array().unwrap() {
        assert_eq!(process["status"], "exited", "{process}");
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_tool_is_called_from_the_form_of_its_schema() {
    let console = Console::start(&[]);
    let seen = console.run("form", json!({})).await;
    assert_eq!(seen["missing"], "This argument is required.");
    let first = seen["first"].as_str().unwrap();
    assert!(
        first.contains("from-the-form") && first.contains("finished with an error"),
        "{first}"
    );
    assert_eq!(
        seen["json"],
        json!({ "command": "echo from-the-form; exit 3", "timeout": "30s" })
    );
    assert!(
        seen["chat"].as_str().unwrap().starts_with("console-token-"),
        "{seen}"
    );
    assert!(texts(&seen["signals"]).contains(&"terminate"));
    let formats = &seen["formats"];
    assert_eq!(formats.as_object().unwrap().len(), 7);
    for (format, key) in [
        ("json", "input_schema"),
        ("openai", "function"),
        ("openai-responses", "parameters"),
        ("anthropic", "input_schema"),
        ("gemini", "name"),
        ("bedrock", "toolSpec"),
        ("mcp", "inputSchema"),
    ] {
        assert!(
            texts(&formats[format]).contains(&key),
            "{format}: {formats}"
        );
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_link_of_a_reply_opens_outside_of_the_console() {
    let console = Console::start(&[]);
    std::fs::write(console.workspace.path().join("report.txt"), "shared").unwrap();
    let seen = console.run("shared", json!({})).await;
    assert_eq!(
        (&seen["target"], &seen["rel"]),
        (&json!("_blank"), &json!("noopener noreferrer"))
    );
    let href = seen["href"].as_str().unwrap();
    let opened = crate::harness::client().get(href).send().await.unwrap();
    assert_eq!(opened.text().await.unwrap(), "shared");
}

#[needs(client = "console", program = "chromium")]
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_followed_through_a_restart_of_the_server() {
    let Console {
        serving, workspace, ..
    } = Console::start(&[]);
    let url = serving.url.clone();
    let address = url.trim_start_matches("http://").to_owned();
    let (mut command, _files) = browser("restart", &url, &json!({ "token": TOKEN }));
    let path = workspace.path().to_owned();
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut servers = vec![serving];
        let mut last = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            last = line.unwrap();
            match last.as_str() {
                "stop" => drop(servers.pop()),
                "start" => servers.push(start(&path, &address, &[]).0),
                _ => continue,
            }
            stdin.write_all(b"done\n").unwrap();
        }
        assert!(child.wait().unwrap().success(), "{last}");
        last
    });
    let seen = seen(&ended.await.unwrap());
    assert!(seen["lost"].as_str().unwrap().contains("lost"), "{seen}");
    assert_eq!(seen["kept"], 1);
    assert_eq!(seen["states"], json!(["finished", "finished"]));
    let old = seen["old"].as_str().unwrap();
    assert!(
        old.contains("before-the-restart") && old.contains("guest "),
        "{seen}"
    );
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn the_calls_of_a_script_stand_below_it() {
    let console = Console::start(&["--tool-mode", "both"]);
    let seen = console.run("nested", json!({})).await;
    let tools = [
        "process_list",
        "run_script",
        "execute",
        "execute",
        "execute",
    ];
    assert_eq!(seen["tools"], json!(tools), "{seen}");
    assert_eq!(
        seen["nested"],
        json!([false, false, true, true, true]),
        "{seen}"
    );
    for number in 1..=3 {
        let text = seen["texts"][number + 1].as_str().unwrap();
        assert!(text.contains(&format!("echo call-{number}")), "{seen}");
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn payloads_run_no_script_and_break_no_layout() {
    let console = Console::start(&["--keep-arguments"]);
    let seen = console.run("payloads", json!({})).await;
    assert_eq!(seen["payloads"], 60);
    assert_eq!(seen["calls"], 181);
    let measured = seen["measured"].as_array().unwrap();
    assert!(measured.len() > 200, "{}", measured.len());
    for kind in ["wide", "phone"] {
        let of_kind = measured.iter().filter(|one| one["kind"] == kind);
        let mut of_kind = of_kind.peekable();
        let plain = *of_kind.peek().unwrap();
        for one in of_kind {
            assert_eq!(one["ran"], Value::Null, "a script ran: {one}");
            assert_eq!(one["intruders"], json!([]), "{one}");
            assert_eq!(one["overflow"], 0, "{one}");
            assert_eq!(
                (&one["bar"], &one["main"]),
                (&plain["bar"], &plain["main"]),
                "{one}"
            );
            assert_eq!(one["direction"], "ltr");
        }
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_token_for_some_chats_sees_no_others_on_any_view() {
    let directory = tempfile::tempdir().unwrap();
    let config = configuration(directory.path());
    let console = Console::start(&["--config", config.to_str().unwrap()]);
    let serving = &console.serving;
    for chat in ["own-1", "other-1"] {
        let name = chat.trim_end_matches("-1");
        for (call, command, background) in [
            ("1", format!("echo {name}-output"), false),
            ("2", format!("echo {name}-command; exec sleep 1000"), true),
        ] {
            let path = format!("/v1/chats/{chat}/calls/{call}");
            let arguments = json!({ "command": command, "run_in_background": background });
            let body = json!({ "tool": "execute", "arguments": arguments });
            let called = serving.request(reqwest::Method::PUT, &path).json(&body);
            assert_eq!(called.send().await.unwrap().status(), 200);
        }
    }
    let options = json!({ "token": BOUNDED, "keepAnswers": true });
    let seen = console.run("bounded", options).await;
    assert_eq!(
        seen["views"],
        json!(["Now", "Chats", "Tools", "Workspaces"])
    );
    let foreign = ["other-1", "other-output", "other-command"];
    for text in texts(&seen["texts"]) {
        // An address that somebody typed in is shown as it is.
        let shown = text.replace("Chats / other-1", "");
        assert!(!foreign.iter().any(|word| shown.contains(word)), "{text}");
    }
    let own = seen["own"].as_array().unwrap();
    assert!(own.len() >= 8, "{own:?}");
    for answer in own {
        let is_given = [200, 204].iter().any(|status| answer[1] == *status);
        assert!(is_given, "the page asks for what it does not get: {answer}");
    }
    let answers = seen["seen"]["answers"].as_array().unwrap();
    for answer in answers {
        let body = answer["body"].as_str().unwrap();
        let said = body.replace("\"other-1\"", "");
        let is_refusal = answer["status"].as_u64().unwrap() >= 400;
        let body = if is_refusal { &said } else { body };
        assert!(!foreign.iter().any(|word| body.contains(word)), "{answer}");
    }
    let stream = seen["stream"].as_str().unwrap();
    assert!(
        stream.contains("own-command") && !stream.contains("other"),
        "{stream}"
    );
    for (path, status) in seen["refused"].as_object().unwrap() {
        assert_eq!(status, 403, "{path}");
    }
}

/// The token of `customer`.
const BOUNDED: &str = "a-token-for-the-chats-of-a-customer";

/// Writes a configuration with a token for the chats that begin with `own-`.
fn configuration(directory: &Path) -> PathBuf {
    let path = directory.join("toolhost.toml");
    let token = directory.join("customer.token");
    std::fs::write(&token, BOUNDED).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token, mode).unwrap();
    let text =
        format!("[tokens.customer]\nfile = {token:?}\nscopes = [\"call\"]\nchats = \"own-\"\n");
    std::fs::write(&path, text).unwrap();
    path
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn every_view_is_accessible_in_light_and_dark() {
    let console = Console::start(&[]);
    let seen = console.run("accessible", json!({})).await;
    assert_eq!(seen["looked"], 4 * 14);
    let found = seen["found"].as_array().unwrap().iter();
    let serious = found.filter(|one| one["impact"] == "serious" || one["impact"] == "critical");
    let serious: Vec<_> = serious.collect();
    assert!(serious.is_empty(), "{serious:#?}");
    assert!(
        seen["presses"].as_u64().unwrap() < 60,
        "the keyboard does not reach the button"
    );
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn pictures_show_the_console_at_work() {
    let console = Console::start(&[]);
    // `TOOLHOST_PICTURES=docs/images` replaces those of the documentation.
    let wanted = std::env::var_os("TOOLHOST_PICTURES").map(|path| root().join(path));
    let images = wanted.unwrap_or_else(|| console.workspace.path().join("images"));
    std::fs::create_dir_all(&images).unwrap();
    let options = json!({ "images": images, "workspace": console.workspace.path() });
    let seen = console.run("pictures", options).await;
    let taken = seen["taken"].as_object().unwrap();
    assert_eq!(taken.len(), 6);
    for (name, size) in taken {
        let size = size.as_u64().unwrap();
        assert!(
            (5 << 10..80 << 10).contains(&size),
            "{name} has {size} bytes"
        );
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn output_is_shown_as_a_terminal_shows_it() {
    let console = Console::start(&[]);
    let seen = console.run("terminal", json!({})).await;
    assert_eq!(seen["wrong"], json!([]));
    assert_eq!((&seen["cases"], &seen["copies"]), (&json!(32), &json!(200)));
}

#[needs(client = "console")]
#[test]
fn vendored_libraries_are_those_of_their_packages() {
    let modules = prepared("console").join("node_modules");
    let vendored = root().join("host/console/page/vendor");
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    for (file, published) in [
        ("preact.js", "preact/dist/preact.mjs"),
        ("hooks.js", "preact/hooks/dist/hooks.mjs"),
        ("htm.js", "htm/dist/htm.mjs"),
        ("LICENSE-preact", "preact/LICENSE"),
        ("LICENSE-htm", "htm/LICENSE"),
    ] {
        let published =
            read(modules.join(published)).replace("from\"preact\"", "from\"./preact.js\"");
        let lines = published
            .lines()
            .filter(|line| !line.starts_with("//# sourceMappingURL="));
        let expected: Vec<_> = lines.collect();
        let found = read(vendored.join(file));
        assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{file}");
    }
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_person_types_into_a_terminal_and_an_open_input() {
    let console = Console::start(&[]);
    let seen = console.run("typing", json!({})).await;
    let shown = seen["shown"].as_str().unwrap();
    // An arrow, Alt-x and a part of F1.
    assert!(shown.contains("033   [   A 033   x 033"), "{shown}");
    assert_ne!(seen["left"], "typing-screen");
    let processes = console
        .serving
        .request(reqwest::Method::GET, "/v1/chats/typing/processes");
    let processes: Value = processes.send().await.unwrap().json().await.unwrap();
    let ended = processes["processes"].as_array().unwrap();
    let ends: Vec<_> = ended
        .iter()
        .map(|one| (&one["exit_code"], &one["signal"]))
        .collect();
    assert_eq!(ends[0], (&json!(0), &Value::Null), "{processes}");
}
