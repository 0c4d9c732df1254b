//! Programs that ask or draw, driven through the tools as a model drives them, each in a real terminal.

use serde_json::{Value, json};
use toolhost_needs::needs;

use crate::harness::Setup;

/// A program in a terminal.
struct Driven {
    setup: Setup,
    id: String,
    /// The reply that came last.
    reply: Value,
}

impl Driven {
    /// Starts a program, and waits until its output matches.
    async fn start(command: &str, until: &str) -> Self {
        Self::start_in(Setup::new().await, command, until).await
    }

    async fn start_in(setup: Setup, command: &str, until: &str) -> Self {
        let arguments = json!({ "command": command, "terminal": true, "timeout": "1m" });
        let reply = setup.call("execute", arguments).await;
        let id = reply["background_process_id"].as_str();
        let id = id.unwrap_or_else(|| panic!("{reply}")).to_owned();
        assert_eq!(
            (&reply["success"], &reply["running"]),
            (&json!(true), &json!(true)),
            "{reply}"
        );
        let mut driven = Self { setup, id, reply };
        driven.until(until).await;
        driven
    }

    /// Waits until the output, from its beginning on, matches.
    async fn until(&mut self, until: &str) {
        let arguments = json!({ "process_id": self.id, "until": until, "wait_timeout": "5m" });
        self.reply = self.setup.call("process_output", arguments).await;
        assert!(self.reply["match_end"].is_u64(), "{until}: {}", self.reply);
    }

    /// Types, and waits until the output after that matches.
    async fn types(&mut self, mut input: Value, until: &str) -> &Value {
        input["process_id"] = self.id.as_str().into();
        input["until"] = until.into();
        input["wait_timeout"] = "5m".into();
        self.reply = self.setup.call("process_input", input).await;
        assert!(self.reply["match_end"].is_u64(), "{until}: {}", self.reply);
        &self.reply
    }

    /// Types, and waits for nothing.
    async fn only_types(&mut self, mut input: Value) {
        input["process_id"] = self.id.as_str().into();
        input["wait_timeout"] = "0s".into();
        let typed = self.setup.call("process_input", input).await;
        assert_eq!(typed["success"], true, "{typed}");
    }

    /// Types, and waits for the end of the program.
    async fn ends(&mut self, input: Value) -> &Value {
        self.only_types(input).await;
        let arguments = json!({ "process_id": self.id, "wait_timeout": "5m" });
        self.reply = self.setup.call("process_output", arguments).await;
        assert_eq!(self.reply["status"], "exited", "{}", self.reply);
        &self.reply
    }

    /// Waits until the screen is so: a program that draws gives no line to wait for.
    async fn shows(&mut self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let mut since = 0;
        loop {
            let arguments = json!({ "process_id": self.id, "wait_timeout": "0s" });
            self.reply = self.setup.call("process_output", arguments).await;
            let screen = self.reply["screen"]["text"].as_str().unwrap_or_default();
            if is(screen) {
                return screen.to_owned();
            }
            let more = json!({ "process_id": self.id, "since": since, "wait_timeout": "1m", "max_bytes": 131_072 });
            let more = self.setup.call("process_output", more).await;
            let cursor = more["cursor"].as_u64().unwrap();
            assert!(
                cursor > since && more["running"] == true,
                "{what}: {screen}"
            );
            since = cursor;
        }
    }

    fn screen(&self) -> &str {
        self.reply["screen"]["text"].as_str().unwrap()
    }

    async fn over(self) {
        self.setup.host.shutdown().await;
    }
}

fn line(text: &str) -> Value {
    json!({ "text": format!("{text}\n") })
}

fn keys(keys: &[&str]) -> Value {
    json!({ "keys": keys })
}

#[needs(program = "python3")]
#[tokio::test]
async fn python() {
    let mut python = Driven::start("python3 -q", ">>> $").await;
    python.types(line("6 * 7"), "42\r\n.*>>> $").await;
    python.types(line("input('name? ')"), r"name\? $").await;
    python.types(line("Ada"), r"'Ada'\r\n.*>>> $").await;
    python
        .types(line("import time; time.sleep(600)"), "600")
        .await;
    python
        .types(keys(&["ctrl-c"]), "KeyboardInterrupt(?s:.*)>>> $")
        .await;
    // The first line again: the answer is a line as well.
    python
        .types(keys(&["up", "up", "up", "up", "enter"]), "42\r\n.*>>> $")
        .await;
    let ended = python.ends(keys(&["ctrl-d"])).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    python.over().await;
}

#[needs(program = "node")]
#[tokio::test]
async fn node() {
    let mut node = Driven::start("node", "> ").await;
    node.types(line("[1, 2].map(x => x * 2)"), r"\[ 2, 4 \]|2.*,.*4")
        .await;
    let ended = node.ends(line(".exit")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    node.over().await;
}

#[needs(program = "gdb")]
#[tokio::test]
async fn gdb() {
    let mut gdb = Driven::start("gdb -q -nx", r"\(gdb\) ").await;
    gdb.types(line("print 6 * 7"), r"\$1 = 42(?s:.*)\(gdb\) ")
        .await;
    let ended = gdb.ends(line("quit")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    gdb.over().await;
}

#[needs(program = "vim")]
#[tokio::test]
async fn vim_edits_and_saves() {
    let setup = Setup::new().await;
    std::fs::write(setup.root().join("notes.txt"), "one\ntwo\n").unwrap();
    let mut vim = Driven::start_in(setup, "vim -u NONE -i NONE -n notes.txt", "notes.txt").await;
    vim.shows("the file", |screen| screen.starts_with("one\ntwo\n~"))
        .await;
    assert_eq!(vim.reply["screen"]["full"], true, "{}", vim.reply);
    // Down with the sequence that vim has asked for, and a new line below.
    vim.only_types(keys(&["down", "o"])).await;
    let input = json!({ "text": "three", "keys": ["esc"] });
    vim.only_types(input).await;
    vim.shows("the new line", |screen| {
        screen.starts_with("one\ntwo\nthree\n~")
    })
    .await;
    let ended = vim.ends(line(":wq")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let file = std::fs::read_to_string(vim.setup.root().join("notes.txt")).unwrap();
    assert_eq!(file, "one\ntwo\nthree\n");
    vim.over().await;
}

#[needs(program = "less")]
#[tokio::test]
async fn less_shows_pages() {
    let mut less = Driven::start("seq 1 1000 > n; less n", "23").await;
    less.shows("the first page", |screen| screen.starts_with("1\n2\n"))
        .await;
    less.only_types(keys(&["page-down"])).await;
    less.shows("the next page", |screen| screen.starts_with("24\n"))
        .await;
    less.only_types(json!({ "text": "/^777\n" })).await;
    less.shows("what is searched for", |screen| screen.starts_with("777\n"))
        .await;
    let ended = less.ends(keys(&["q"])).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    less.over().await;
}

#[needs(program = "top")]
#[tokio::test]
async fn top() {
    let mut top = Driven::start("top -d 1", "PID").await;
    let screen = top
        .shows("the processes", |screen| {
            screen.contains("PID") && screen.contains("top")
        })
        .await;
    assert!(screen.lines().count() <= 24, "{screen}");
    let ended = top.ends(keys(&["q"])).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    top.over().await;
}

#[needs(program = "git")]
#[tokio::test]
async fn git_adds_a_part() {
    let setup = Setup::new().await;
    let begun = "git init -q && git config user.email a@b && git config user.name a && seq 30 > n && git add n && git commit -qm n && \
                 sed -i 's/^1$/first/; s/^30$/last/' n";
    assert_eq!(setup.execute(begun).await["exit_code"], 0);
    let mut git = Driven::start_in(setup, "git add -p", r"\(1/2\).*\? ").await;
    git.types(line("y"), r"\(2/2\).*\? ").await;
    let ended = git.ends(line("n")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let staged = git
        .setup
        .execute("git diff --cached --stat=80; git diff --cached")
        .await;
    let staged = staged["output"].as_str().unwrap();
    assert!(
        staged.contains("+first") && !staged.contains("+last"),
        "{staged}"
    );
    git.over().await;
}

#[needs(program = "npm")]
#[tokio::test]
async fn npm_init_asks_for_everything() {
    let setup = Setup::new().await;
    let mut npm =
        Driven::start_in(setup, "mkdir demo && cd demo && npm init", "package name: ").await;
    for (answer, next) in [
        ("", "version: "),
        ("2.0.0", "description: "),
        ("a demo", "entry point: "),
        ("", "test command: "),
        ("", "git repository: "),
        ("", "keywords: "),
        ("", "author: "),
        ("Ada", "license: "),
    ] {
        npm.types(line(answer), next).await;
    }
    // Some versions ask for the kind of modules as well.
    npm.types(line(""), r"Is this OK\?|type: ").await;
    while npm
        .screen()
        .trim_end()
        .lines()
        .last()
        .is_some_and(|last| last.starts_with("type:"))
    {
        npm.types(line(""), r"Is this OK\?").await;
    }
    let ended = npm.ends(line("yes")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let package = std::fs::read_to_string(npm.setup.root().join("demo/package.json")).unwrap();
    let package: Value = serde_json::from_str(&package).unwrap();
    assert_eq!(
        (&package["version"], &package["author"]),
        (&json!("2.0.0"), &json!("Ada"))
    );
    npm.over().await;
}

#[needs(program = "ssh-keygen")]
#[tokio::test]
async fn ssh_keygen_asks_for_a_passphrase() {
    let mut keygen = Driven::start("ssh-keygen -t ed25519 -f key", "passphrase").await;
    keygen.types(line("open sesame"), "same passphrase").await;
    let ended = keygen.ends(line("open sesame")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    assert!(!ended.to_string().contains("sesame"), "{ended}");
    let opened = keygen
        .setup
        .execute("ssh-keygen -y -P 'open sesame' -f key")
        .await;
    assert_eq!(opened["exit_code"], 0, "{opened}");
    keygen.over().await;
}

#[tokio::test]
async fn a_password_is_asked_for_without_echo() {
    let command = "stty -echo; printf '[sudo] password for ada: '; read -r word; stty echo; echo; test \"$word\" = open && echo granted";
    let mut sudo = Driven::start(command, "password for ada: ").await;
    assert!(sudo.reply["note"].is_string(), "{}", sudo.reply);
    let ended = sudo.ends(line("open")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let output = ended["output"].as_str().unwrap();
    assert_eq!(output, "[sudo] password for ada: \ngranted\n");
    sudo.over().await;
}

#[needs(postgres)]
#[tokio::test]
async fn psql() {
    let command = format!("psql -X '{}'", crate::harness::postgres::database());
    let mut psql = Driven::start(&command, "=[#>] $").await;
    psql.types(line("select 6 * 7 as answer;"), "42(?s:.*)=[#>] $")
        .await;
    psql.types(line("\\pset pager off"), "Pager usage is off(?s:.*)=[#>] $")
        .await;
    let ended = psql.ends(line("\\q")).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    psql.over().await;
}

/// The reply comes when the program waits, not when the timeout is over.
#[tokio::test]
async fn a_program_that_waits_is_not_waited_for() {
    let setup = Setup::new().await;
    let begun = std::time::Instant::now();
    let arguments = json!({ "command": "cat", "keep_input_open": true, "run_in_background": true });
    let started = setup.call("execute", arguments).await;
    let id = started["background_process_id"].as_str().unwrap();
    let asked = json!({ "process_id": id, "text": "one\n", "wait_timeout": "1h" });
    let reply = setup.call("process_input", asked).await;
    assert_eq!(
        (&reply["output"], &reply["running"]),
        (&json!("one\n"), &json!(true)),
        "{reply}"
    );
    assert!(reply.get("screen").is_none() && begun.elapsed().as_secs() < 1800);
    let asked = json!({ "process_id": id, "text": "two\n", "close": true, "wait_timeout": "1h" });
    let reply = setup.call("process_input", asked).await;
    assert_eq!(
        (&reply["output"], &reply["exit_code"]),
        (&json!("two\n"), &json!(0)),
        "{reply}"
    );
    let late = setup
        .call("process_input", json!({ "process_id": id, "text": "x" }))
        .await;
    assert_eq!(late["success"], false, "{late}");
    setup.host.shutdown().await;
}

/// An input is a call: a repeat of it types nothing.
#[tokio::test]
async fn a_repeat_of_a_call_types_nothing() {
    let setup = Setup::new().await;
    let arguments = json!({ "command": "cat", "keep_input_open": true, "run_in_background": true });
    let started = setup.call("execute", arguments).await;
    let id = started["background_process_id"].as_str().unwrap();
    let typed = json!({ "process_id": id, "text": "once\n", "until": "once" });
    let request = crate::harness::request("chat", "process_input", &typed);
    let first = setup.host.call(request.clone()).await;
    let again = setup.host.call(request).await;
    let reply = |outcome: Result<std::sync::Arc<toolhost_core::Outcome>, _>| {
        let outcome: Result<_, toolhost_core::CallError> = outcome;
        format!("{:?}", outcome.unwrap().result)
    };
    assert_eq!(reply(first), reply(again));
    let close = setup
        .call(
            "process_input",
            json!({ "process_id": id, "close": true, "wait_timeout": "1h" }),
        )
        .await;
    assert_eq!(close["exit_code"], 0, "{close}");
    let all = setup
        .call("process_output", json!({ "process_id": id, "since": 0 }))
        .await;
    assert_eq!(all["output"], "once\n", "{all}");
    setup.host.shutdown().await;
}
