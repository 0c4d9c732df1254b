//! Tests of entries in JSON.

use proptest::prelude::*;

use super::super::client::{Client, Format};
use super::super::edit::{add, remove};
use super::super::entry::{EditError, Entry, Removed};

fn entry() -> Entry {
    Entry {
        name: "toolhost".to_owned(),
        command: "/usr/bin/toolhost".to_owned(),
        args: ["mcp", "--workspace", "/p"].map(str::to_owned).to_vec(),
    }
}

/// Adds the entry and checks that removing it gives the earlier bytes.
#[track_caller]
fn added(client: Client, text: &str) -> String {
    let format = client.facts().format;
    let with = add(Some(text), &format, &entry()).unwrap();
    assert_eq!(
        remove(&with, &format, "toolhost"),
        Ok(Removed::Rest(text.to_owned())),
        "{with}"
    );
    let again = add(Some(&with), &format, &entry()).unwrap();
    assert_eq!(again, with, "a second time changes nothing");
    with
}

#[track_caller]
fn refused(client: Client, text: &str) -> String {
    add(Some(text), &client.facts().format, &entry())
        .unwrap_err()
        .to_string()
}

#[test]
fn a_file_is_made_and_removed() {
    for client in [Client::ClaudeDesktop, Client::ClaudeCode, Client::VsCode] {
        let format = client.facts().format;
        let text = add(None, &format, &entry()).unwrap();
        if client == Client::VsCode {
            insta::assert_snapshot!(text, @r#"
            {
              "servers": {
                "toolhost": {
                  "type": "stdio",
                  "command": "/usr/bin/toolhost",
                  "args": ["mcp", "--workspace", "/p"]
                }
              }
            }
            "#);
        }
        assert_eq!(remove(&text, &format, "toolhost"), Ok(Removed::Nothing));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value.as_object().is_some_and(|object| object.len() == 1));
    }
}

#[test]
fn other_servers_comments_and_order_stay() {
    let text = "// Settings.\n{\n    \"theme\": \"One\", // mine\n    \"context_servers\": {\n        \"other\": { \"command\": \"x\" } // keep\n    },\n    \"last\": [1,2]\n}\n";
    insta::assert_snapshot!(added(Client::Zed, text), @r#"
    // Settings.
    {
        "theme": "One", // mine
        "context_servers": {
            "other": { "command": "x" }, // keep
            "toolhost": {
                "command": "/usr/bin/toolhost",
                "args": ["mcp", "--workspace", "/p"]
            }
        },
        "last": [1,2]
    }
    "#);
}

#[test]
fn a_trailing_comma_stays_one() {
    let text = "{\n\t\"servers\": {\n\t\t\"a\": {}, /* a */ // b\n\t},\n}";
    insta::assert_snapshot!(added(Client::VsCode, text).replace('\t', "→"), @r#"
    {
    →"servers": {
    →→"a": {}, /* a */ // b
    →→"toolhost": {
    →→→"type": "stdio",
    →→→"command": "/usr/bin/toolhost",
    →→→"args": ["mcp", "--workspace", "/p"]
    →→},
    →},
    }
    "#);
}

#[test]
fn files_of_all_forms_come_back() {
    let servers = Client::Zed;
    for text in [
        "",
        "\n",
        "// nothing yet",
        "// nothing yet\r\n",
        "{}",
        "{}\n",
        "{\n}\n",
        "{ /* empty */ }",
        "{\n  // empty\n}\n",
        r#"{"a":1}"#,
        r#"{"context_servers":{}}"#,
        r#"{"context_servers": { }, "b": {}}"#,
        r#"{"context_servers":{"a":{"command":"x"}}}"#,
        "{\n  \"context_servers\": {}\n}\n",
        "{\n  \"context_servers\": {\n    // none\n  }\n}\n",
        "{\n  \"context_servers\": { \"a\": {} }\n}\n",
        "{\n  \"context_servers\": { \"a\": {}, }\n}\n",
        "{\r\n  \"a\": 1 // one\r\n}\r\n",
        "{\r\n  \"context_servers\": {\r\n    \"a\": {}, // one\r\n  },\r\n}\r\n",
        "\u{feff}{\n  \"a\": \"ü\"\n}\n",
        "\u{feff}",
        "  {\n  \"a\": 1\n  }",
    ] {
        added(servers, text);
    }
}

#[test]
fn broken_syntax_is_refused_with_its_place() {
    assert_eq!(
        refused(Client::ClaudeDesktop, "{\n  \"a\": 1,\n}"),
        "line 2, column 9: Trailing commas are not allowed; correct it first"
    );
    for (client, text, place) in [
        (Client::Zed, "{\n  \"a\" 1\n}", "line 2, column 7: "),
        (Client::Gemini, "{ \"a\": 1, }", "line 1, column 9: "),
        (Client::ClaudeCode, "{ // c\n}", "line 1, column 3: "),
        (Client::VsCode, "{ \"a\": tru }", "line 1, column 8: "),
        (Client::VsCode, "{} {}", "line 1, column 4: "),
        (Client::Cursor, "{\"a\": {}", "line 1, column 1: "),
    ] {
        let said = refused(client, text);
        assert!(said.starts_with(place), "{text}: {said}");
    }
}

#[test]
fn shapes_and_names_of_others_are_refused() {
    let client = Client::ClaudeDesktop;
    insta::assert_snapshot!(refused(client, "[]"), @"the file is not an object: correct it first");
    insta::assert_snapshot!(refused(client, r#"{"mcpServers": []}"#), @"`mcpServers` is not an object: correct it first");
    insta::assert_snapshot!(refused(client, r#"{"mcpServers": {}, "mcpServers": {}}"#), @r#""mcpServers" is there twice: remove one of them first"#);
    let taken = r#"{"mcpServers": {"toolhost": {"command": "npx", "args": ["mcp"]}}}"#;
    insta::assert_snapshot!(refused(client, taken), @r#"the name "toolhost" belongs to a server that is not this program: choose another with --name"#);
    assert!(matches!(
        remove(taken, &client.facts().format, "toolhost"),
        Err(EditError::Taken(_))
    ));
    let remote = r#"{"mcpServers": {"toolhost": {"url": "http://x"}}}"#;
    assert!(refused(client, remote).contains("not this program"));
}

#[test]
fn an_entry_of_this_program_is_brought_up_to_date() {
    let old = "{\"mcpServers\": {\"toolhost\": {\n  \"args\": [\"mcp\", \"--workspace\", \"/old\"], \"env\": {\"A\": \"b\"},\n  \"command\": \"/old/toolhost\" /* c */ }}}";
    let format = Client::Cursor.facts().format;
    let new = add(Some(old), &format, &entry()).unwrap();
    let expected = old
        .replace("\"/old\"", "\"/p\"")
        .replace("/old/toolhost", "/usr/bin/toolhost");
    assert_eq!(new, expected);
}

#[test]
fn an_entry_that_a_client_has_moved_is_removed_alone() {
    let text = "{\n  \"mcpServers\": {\n    \"toolhost\": {\"command\": \"toolhost\", \"args\": [\"mcp\"]},\n    \"b\": {}\n  }\n}\n";
    let removed = remove(text, &Client::ClaudeCode.facts().format, "toolhost").unwrap();
    let rest = "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n".to_owned();
    assert_eq!(removed, Removed::Rest(rest));
    let absent = remove("{}", &Client::ClaudeCode.facts().format, "toolhost");
    assert_eq!(absent, Ok(Removed::Absent));
}

/// Blanks and comments between tokens.
fn gap() -> impl Strategy<Value = String> {
    let parts = [
        "", "", " ", "\n", "\n  ", "\t", "\r\n", "/* c */", "// d\n", "// e\r\n",
    ];
    let parts = prop::collection::vec(prop::sample::select(parts.to_vec()), 0..3);
    parts.prop_map(|parts| parts.concat())
}

/// An object with properties of these values, with gaps and perhaps a trailing comma.
fn object(
    keys: &'static [&'static str],
    value: BoxedStrategy<String>,
) -> impl Strategy<Value = String> {
    let property = (gap(), gap(), value, gap());
    let properties = prop::collection::vec(property, 0..=keys.len());
    (properties, any::<bool>(), gap()).prop_map(|(properties, trailing, end)| {
        let trailing = trailing && !properties.is_empty();
        let properties = keys.iter().zip(properties);
        let properties =
            properties.map(|(key, (a, b, value, c))| format!("{a}\"{key}\":{b}{value}{c}"));
        let properties: Vec<_> = properties.collect();
        let comma = if trailing { "," } else { "" };
        format!("{{{}{comma}{end}}}", properties.join(","))
    })
}

fn file() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["1", "\"a, }\"", "[]", "{}", "{\"b\": [null,]}"]);
    let leaf = leaf.prop_map(str::to_owned).boxed();
    let servers = object(&["x", "y"], leaf).boxed();
    let root = object(&["a", "context_servers", "z"], servers);
    (prop::bool::ANY, gap(), root, gap())
        .prop_map(|(bom, a, root, b)| format!("{}{a}{root}{b}", if bom { "\u{feff}" } else { "" }))
}

proptest! {
    #[test]
    fn adding_and_removing_gives_the_same_bytes(text in file()) {
        let format = Client::Zed.facts().format;
        let Format::Json(_) = format else { panic!() };
        let with = add(Some(&text), &format, &entry()).unwrap();
        prop_assert_eq!(remove(&with, &format, "toolhost"), Ok(Removed::Rest(text)), "{}", with);
        let again = add(Some(&with), &format, &entry()).unwrap();
        prop_assert_eq!(again, with);
    }
}
