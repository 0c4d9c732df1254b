//! Tests of the environment as a command gets it.

use proptest::prelude::*;

use super::*;

fn host(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let variable = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
    variables.iter().map(variable).collect()
}

fn build(host_has: &[(&str, &str)], own: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    let own: Vec<_> = own
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let environment = Environment::from_host(host(host_has), &Extras::default());
    environment.of_command(&[], &own, Some(&"chat-1".parse().unwrap()))
}

#[test]
fn only_named_variables_are_passed_on() {
    let env = build(
        &[
            ("PATH", "/p"),
            ("LC_ALL", "C"),
            ("CARGO_HOME", "/c"),
            ("OPENAI_API_KEY", "s3cret"),
            ("TOOLHOST_TOKEN", "s3cret"),
            ("HTTPS_PROXY", "http://u:s3cret@proxy"),
        ],
        &[],
    );
    assert_eq!(env.get(OsStr::new("PATH")).unwrap(), "/p");
    assert_eq!(env.get(OsStr::new("LC_ALL")).unwrap(), "C");
    assert_eq!(env.get(OsStr::new("CARGO_HOME")).unwrap(), "/c");
    assert_eq!(env.get(OsStr::new("HTTPS_PROXY")).unwrap(), "http://proxy");
    assert!(!env.values().any(|value| value == "s3cret"));
}

#[test]
fn later_layers_win() {
    let host = [
        ("EDITOR", "vim"),
        ("GIT_ASKPASS", "/helper"),
        ("CODER_CHAT_ID", "other"),
        ("PATH", ""),
    ];
    let env = build(&host, &[("PAGER", "less"), ("CODER_CHAT_ID", "forged")]);
    let get = |name: &str| env.get(OsStr::new(name)).unwrap().to_str().unwrap();
    assert_eq!(get("EDITOR"), "true");
    assert_eq!(get("PAGER"), "less");
    assert_eq!(get("GIT_ASKPASS"), "/helper");
    assert_eq!(get("CODER_CHAT_ID"), "chat-1");
    assert_eq!(get("CODER_CHAT_AGENT"), "true");
    assert_eq!(get("PATH"), DEFAULT_PATH);
}

#[test]
fn a_browser_is_that_of_the_chat_unless_the_command_says_otherwise() {
    let name = "AGENT_BROWSER_SESSION";
    let environment = Environment::from_host(
        host(&[(name, "shared")]),
        &Extras::new(["AGENT_*"]).unwrap(),
    );
    let session = |own: &[(String, String)], chat: Option<&ChatId>| {
        let env = environment.of_command(&[], own, chat);
        env.get(OsStr::new(name)).cloned()
    };
    let chat: ChatId = "chat-1".parse().unwrap();
    assert_eq!(session(&[], Some(&chat)), Some("chat-1".into()));
    assert_eq!(session(&[], None), None);
    let own = [(name.to_owned(), "mine".to_owned())];
    assert_eq!(session(&own, Some(&chat)), Some("mine".into()));
    assert_eq!(session(&own, None), Some("mine".into()));
}

#[test]
fn without_a_chat_there_is_no_chat_id() {
    let variables = host(&[("CODER_CHAT_ID", "other"), ("CODER_WORKSPACE_NAME", "w")]);
    let extras = Extras::new(["CODER_*"]).unwrap();
    let environment = Environment::from_host(variables, &extras);
    let own = [("CODER_CHAT_ID".to_owned(), "forged".to_owned())];
    for own in [&own[..], &[]] {
        let env = environment.of_command(&[], own, None);
        assert_eq!(env.get(OsStr::new("CODER_CHAT_ID")), None);
        assert_eq!(env.get(OsStr::new("GIT_ASKPASS")).unwrap(), "true");
    }
    let names: Vec<_> = environment.names().collect();
    assert_eq!(names, ["CODER_WORKSPACE_NAME"]);
}

#[test]
fn an_operator_decides() {
    let variables = host(&[
        ("EDITOR", "vim"),
        ("GOPATH", "/go"),
        ("HTTPS_PROXY", "http://u:p@proxy"),
        ("HTTP_PROXY", "http://u:p@proxy"),
        ("KUBECONFIG", "/k"),
        ("PATH", "/bin"),
        ("VAULT_ADDR", "v"),
        ("VAULT_TOKEN", "t"),
    ]);
    let extras = Extras::new(["HTTP*", "HTTPS_PROXY", "KUBECONFIG", "VAULT_*", "EDITOR"]).unwrap();
    let environment = Environment::from_host(variables, &extras);
    let names: Vec<_> = environment.names().collect();
    let expected = [
        "GOPATH",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "KUBECONFIG",
        "PATH",
        "VAULT_ADDR",
        "VAULT_TOKEN",
    ];
    assert_eq!(
        names, expected,
        "no GOPATH, and the editor is not the host's"
    );
    assert_eq!(environment.get("HTTPS_PROXY").unwrap(), "http://u:p@proxy");
    assert_eq!(environment.get("HTTP_PROXY").unwrap(), "http://proxy");
    assert_eq!(environment.get("EDITOR").unwrap(), "true");
}

/// Names of all kinds: known, secret, nearly known, and any.
fn some_names() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "PATH",
            "HOME",
            "GOPATH",
            "GOPROXY",
            "https_proxy",
            "EDITOR",
            "GIT_ASKPASS",
            "KUBECONFIG",
        ])
        .prop_map(String::from),
        prop::sample::select(vec![
            "TOOLHOST_TOKEN",
            "CODER_CHAT_ID",
            "OPENAI_API_KEY",
            "NPM_TOKEN",
            "GIT_CONFIG_COUNT",
            "SSH_AUTH_SOCK",
            "path",
            "LD_PRELOAD",
            "BASH_ENV",
            "PGPASSWORD",
        ])
        .prop_map(String::from),
        "(PATH|GO|XDG|XDG_|LC_|CARGO_|AWS|AWS_|CARGO_REGISTRIES_)[A-Z_]{0,6}(_TOKEN|_INDEX|_KEY)?",
        "[A-Za-z_]{1,8}",
    ]
}

proptest! {
    #[test]
    fn nothing_outside_of_the_rules_is_ever_passed_on(
        names in prop::collection::btree_set(some_names(), 0..24),
        configured in any::<bool>(),
    ) {
        let patterns: &[&str] = if configured { &["KUBECONFIG", "AWS_*"] } else { &[] };
        let extras = Extras::new(patterns).unwrap();
        let variables = names.iter().map(|name| (name.into(), "http://u:of-the-host@h".into()));
        let environment = Environment::from_host(variables, &extras);
        for (name, value) in environment.of_command(&[], &[], None) {
            let name = name.to_str().unwrap();
            let of_host = value.to_str().unwrap().starts_with("http://");
            prop_assert_eq!(of_host, environment.names().any(|known| known == name));
            if !of_host {
                let set = NON_INTERACTIVE.iter().any(|(known, _)| *known == name);
                prop_assert!(set || name == "PATH" || name == "GIT_ASKPASS", "{}", name);
                continue;
            }
            let asked = configured && (name == "KUBECONFIG" || name.starts_with("AWS_"));
            prop_assert!(asked || names::rule(name).is_some(), "{}", name);
            prop_assert!(name != "TOOLHOST_TOKEN" && name != "CODER_CHAT_ID");
            let secret = ["TOKEN", "KEY", "AUTH", "PASSWORD"].iter().any(|part| {
                name.ends_with(&format!("_{part}")) || name.contains("GIT_CONFIG")
            });
            prop_assert!(asked || !secret, "{}", name);
            let url = name == "GOPROXY" || name == "https_proxy" || name.starts_with("CARGO_REGISTRIES_");
            prop_assert!(!url || value == "http://h", "{}", name);
        }
    }
}

#[test]
fn the_variables_of_a_command_replace_those_of_its_trace() {
    let environment = Environment::from_host(host(&[("TRACEPARENT", "host")]), &Extras::default());
    let variable = |value: &str| vec![("TRACEPARENT".to_owned(), value.to_owned())];
    let of = |trace: &[_], own: &[_]| {
        let env = environment.of_command(trace, own, None);
        env.get(OsStr::new("TRACEPARENT")).cloned()
    };
    assert_eq!(
        of(&[], &[]),
        None,
        "the trace of the host is not that of the command"
    );
    assert_eq!(of(&variable("call"), &[]).unwrap(), "call");
    assert_eq!(of(&variable("call"), &variable("own")).unwrap(), "own");
}

/// The documentation has each variable that Toolhost sets, by name and value.
#[test]
fn every_variable_of_its_own_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let documented = std::fs::read_to_string(path).unwrap();
    for name in Environment::from_host([], &Extras::default()).own_names() {
        assert!(documented.contains(&format!("`{name}`")), "{name}");
    }
    for (name, value) in NON_INTERACTIVE {
        let mut lines = documented.lines();
        let line = lines.find(|line| line.starts_with("| ") && line.contains(&format!("`{name}`")));
        let value = match *value {
            "" => "empty".to_owned(),
            value => format!("`{value}`"),
        };
        assert!(line.is_some_and(|line| line.contains(&value)), "{name}");
    }
}
