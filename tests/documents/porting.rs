//! The page about porting: both tools run as a server of MCP and as a plugin, and reply the same.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use toolhost_needs::needs;

use super::blocks::{Block, blocks, sections};
use super::reader::{Reader, answer};
use super::{page, tools};

/// Returns the blocks of the section whose heading begins with this.
fn section(heading: &str) -> Vec<Block> {
    let page = page("porting-mcp.md");
    let sections = sections(&page);
    let found = sections
        .iter()
        .find(|(found, _)| found.starts_with(heading));
    blocks(found.unwrap().1)
}

/// Returns where `tests/clients/prepare` has installed something.
fn client(name: &str) -> PathBuf {
    let clients = std::env::var_os("TOOLHOST_CLIENTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients"),
        PathBuf::from,
    );
    clients.canonicalize().unwrap().join(name)
}

/// Calls a tool of a server over MCP, and returns the JSON value of its reply and whether it reports a failure.
fn called(server: Command, tool: &str, arguments: &Value) -> (Value, bool) {
    let call = json!({
        "jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    let answer: Value =
        serde_json::from_str(&answer(server, tool, Some(&call.to_string()))).unwrap();
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}"));
    let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
    (value, result["isError"] == true)
}

/// A weather service that knows one city. Ends with the process of the tests. Returns its address.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<_> = lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            let has_key = head
                .iter()
                .any(|line| line.eq_ignore_ascii_case("x-api-key: secret"));
            let asks = |city: &str| head.first().is_some_and(|line| line.contains(city));
            let (status, body) = match (has_key, asks("/v1/forecast?city=Ulm&days=2")) {
                (false, _) => ("401 Unauthorized", "{}"),
                (true, true) => ("200 OK", r#"{"days":["sun","rain"]}"#),
                (true, false) => ("404 Not Found", "{}"),
            };
            let length = body.len();
            _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

/// Makes the folder of a plugin with the files of the page, and builds it. Returns the reader, who stands above the folder.
fn built(name: &str, language: &str, steps: &[Block], prepare: impl FnOnce(&Path)) -> Reader {
    let mut reader = Reader::new();
    reader.types(&format!(
        "toolhost plugin new {name} --lang {language} && cd {name}"
    ));
    prepare(&reader.folder());
    for block in steps {
        let file = block.file.as_deref().unwrap();
        match file {
            "server.py" | "server.ts" | "toolhost.toml" => {}
            _ => reader.follows(block),
        }
    }
    reader.types("toolhost plugin build && cd ..");
    reader
}

/// Returns the block of a file.
fn file<'a>(steps: &'a [Block], file: &str) -> &'a Block {
    let found = steps
        .iter()
        .find(|block| block.file.as_deref() == Some(file));
    found.unwrap_or_else(|| panic!("the page has no {file}"))
}

#[needs(client = "frameworks", language = "python")]
#[test]
fn a_tool_in_python_replies_the_same() {
    let steps = section("Python");
    let url = service();
    let mut reader = built("weather", "python", &steps, |folder| {
        std::fs::create_dir(folder.join(".toolhost")).unwrap();
        symlink(tools("python").join("venv"), folder.join(".toolhost/venv")).unwrap();
    });
    reader.follows(file(&steps, "server.py"));
    let home = reader.folder();
    let before = || {
        let mut command = Command::new(client("frameworks").join("bin/python"));
        command.arg(home.join("server.py"));
        command
            .env("WEATHER_URL", &url)
            .env("WEATHER_KEY", "secret");
        command
    };
    let configuration = file(&steps, "toolhost.toml").text.clone();
    let here = configuration.replace("weather.example.com", &url);
    assert_ne!(here, configuration);
    reader.writes(
        "toolhost.toml",
        &format!("{here}settings = {{ url = \"{url}\" }}\n"),
    );
    reader.writes("weather.key", "secret\n");
    std::fs::create_dir(home.join("project")).unwrap();
    let after = || reader.program(&["--config", "toolhost.toml", "mcp", "--workspace", "project"]);

    let ulm = json!({ "city": "Ulm", "days": 2 });
    let expected = (json!({ "city": "Ulm", "days": ["sun", "rain"] }), false);
    assert_eq!(called(before(), "forecast", &ulm), expected);
    assert_eq!(called(after(), "forecast", &ulm), expected);
    let nowhere = json!({ "city": "Nowhere" });
    for server in [before(), after()] {
        let (text, is_error) = called(server, "forecast", &nowhere);
        let text = text.to_string();
        assert!(
            is_error && text.contains("there is no city Nowhere"),
            "{text}"
        );
    }
}

#[needs(client = "node", language = "typescript")]
#[test]
fn a_tool_in_typescript_replies_the_same() {
    let steps = section("TypeScript");
    let mut reader = built("notes", "typescript", &steps, |folder| {
        let packages = tools("typescript").join("node_modules");
        symlink(packages, folder.join("node_modules")).unwrap();
        // The tests of the template are about its tool.
        std::fs::remove_file(folder.join("plugin.test.ts")).unwrap();
    });
    reader.follows(file(&steps, "server.ts"));
    for (name, text) in [
        ("a.md", "apples"),
        ("b.md", "pears"),
        ("c.md", "green apples"),
        ("d.txt", "apples"),
    ] {
        reader.writes(&format!("library/{name}"), text);
    }
    let home = reader.folder();
    symlink(
        client("node").join("node_modules"),
        home.join("node_modules"),
    )
    .unwrap();
    reader.writes("package.json", r#"{"type": "module"}"#);
    let before = || {
        let mut command = Command::new(client("node").join("node_modules/node/bin/node"));
        command.arg(home.join("server.ts"));
        command.env("NOTES", home.join("library"));
        command
    };
    let after = || {
        reader.program(&[
            "mcp",
            "--workspace",
            "library",
            "--plugin",
            "notes/build/notes.wasm",
            "--grant",
            "files=read",
        ])
    };
    let apples = json!({ "text": "apples" });
    let expected = (json!({ "notes": ["a.md", "c.md"] }), false);
    assert_eq!(called(before(), "search_notes", &apples), expected);
    assert_eq!(called(after(), "search_notes", &apples), expected);
    let (_, refused) = called(before(), "search_notes", &json!({ "text": "" }));
    let (text, refuses) = called(after(), "search_notes", &json!({ "text": "" }));
    assert!(refused && refuses, "{text}");
}

/// Every block is one of those that the tests above use.
#[test]
fn every_block_is_a_file() {
    let page = page("porting-mcp.md");
    let files: Vec<_> = blocks(&page)
        .into_iter()
        .map(|block| block.file.unwrap())
        .collect();
    let expected = [
        "server.py",
        "plugin.py",
        "toolhost.toml",
        "plugin.toml",
        "server.ts",
        "plugin.ts",
        "plugin.toml",
    ];
    assert_eq!(files, expected);
}
