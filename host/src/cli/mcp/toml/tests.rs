//! Tests of entries in TOML.

use proptest::prelude::*;

use super::super::client::Format;
use super::super::edit::{add, remove};
use super::super::entry::{EditError, Entry, Removed};

fn entry() -> Entry {
    Entry {
        name: "toolhost".to_owned(),
        command: "/usr/bin/toolhost".to_owned(),
        args: ["mcp", "--workspace", "/a \"b\""]
            .map(str::to_owned)
            .to_vec(),
    }
}

/// Adds the entry and checks that removing it gives the earlier bytes.
#[track_caller]
fn added(text: &str) -> String {
    let with = add(Some(text), &Format::Toml, &entry()).unwrap();
    let rest = Ok(Removed::Rest(text.to_owned()));
    assert_eq!(remove(&with, &Format::Toml, "toolhost"), rest, "{with}");
    let again = add(Some(&with), &Format::Toml, &entry()).unwrap();
    assert_eq!(again, with, "a second time changes nothing");
    with
}

#[test]
fn a_file_is_made_and_removed() {
    let text = add(None, &Format::Toml, &entry()).unwrap();
    insta::assert_snapshot!(text, @r#"
    [mcp_servers.toolhost]
    command = "/usr/bin/toolhost"
    args = ["mcp", "--workspace", "/a \"b\""]
    startup_timeout_sec = 60
    "#);
    assert_eq!(
        remove(&text, &Format::Toml, "toolhost"),
        Ok(Removed::Nothing)
    );
}

#[test]
fn files_of_all_forms_come_back() {
    for text in [
        "",
        "\n",
        "\n\n",
        "# nothing yet",
        "model = 'x'",
        "model = 'x' # c\n\n[mcp_servers.a]\ncommand = 'a'\n\n[[x]]\n# the end\n",
        "model = 'x'\r\n[mcp_servers]\r\n",
        "a = 1\r\nb = 2\n",
        "\u{feff}a = 1\n",
        "\u{feff}",
        "[mcp_servers.a]\ncommand = 'a'\nargs = [\n 'b', # c\n]",
        "mcp_servers.a.command = 'a'\n[x]\n",
    ] {
        // A table cannot be added to one of dotted keys.
        if !text.starts_with("mcp_servers.") {
            added(text);
        }
    }
}

#[test]
fn tables_behind_the_entry_stay() {
    let text = added("a = 1\n") + "# about b\n[b]\nc = 1\n\n[mcp_servers.toolhost.env]\nX = 'y'\n";
    let removed = remove(&text, &Format::Toml, "toolhost");
    assert_eq!(removed, Err(EditError::Inline("mcp_servers")));
    let text = added("a = 1\n") + "env = { X = 'y' } # mine\n\n# about b\n[b]\nc = 1\n";
    let rest = "a = 1\n\n# about b\n[b]\nc = 1\n".to_owned();
    let removed = remove(&text, &Format::Toml, "toolhost");
    assert_eq!(removed, Ok(Removed::Rest(rest)));
}

#[test]
fn broken_syntax_and_other_forms_are_refused() {
    let refused = |text| {
        let refused = add(Some(text), &Format::Toml, &entry());
        refused.unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused("a = 1\nb = \n"), @"line 2, column 5: string values must be quoted, expected literal string; correct it first");
    insta::assert_snapshot!(refused("mcp_servers = 1"), @"`mcp_servers` is not a table: correct it first");
    insta::assert_snapshot!(refused("mcp_servers = { a = { command = 'a' } }"), @"the servers in `mcp_servers` are not tables of their own: edit the entry by hand");
    insta::assert_snapshot!(refused("[mcp_servers.toolhost]\ncommand = 'npx'\n"), @r#"the name "toolhost" belongs to a server that is not this program: choose another with --name"#);
}

#[test]
fn an_entry_of_this_program_is_brought_up_to_date() {
    let old =
        "[mcp_servers.toolhost]\nargs = ['mcp'] # all\ncommand = 'toolhost'\nenabled = false\n";
    let new = add(Some(old), &Format::Toml, &entry()).unwrap();
    insta::assert_snapshot!(new, @r#"
    [mcp_servers.toolhost]
    args = ["mcp", "--workspace", "/a \"b\""] # all
    command = "/usr/bin/toolhost"
    enabled = false
    "#);
}

proptest! {
    #[test]
    fn adding_and_removing_gives_the_same_bytes(
        lines in prop::collection::vec(prop::sample::select(vec![
            "", "# c", "k = 1 # d", "l = '''\n[x]\n'''", "[mcp_servers]", "[mcp_servers.a]", "[t]", "[[s]]", "  ",
        ]), 0..8),
        line in prop::sample::select(vec!["\n", "\r\n"]),
        ends in any::<bool>(),
    ) {
        let mut text = lines.join(line);
        if ends {
            text.push_str(line);
        }
        if text.parse::<::toml::Table>().is_ok() {
            let with = add(Some(&text), &Format::Toml, &entry()).unwrap();
            prop_assert_eq!(remove(&with, &Format::Toml, "toolhost"), Ok(Removed::Rest(text)), "{}", with);
        }
    }
}
