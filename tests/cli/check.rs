//! `toolhost config check`, and what all commands say of a file that is not valid.

use super::*;

/// A directory with a configuration.
struct Configured(tempfile::TempDir);

impl Configured {
    fn new(text: &str) -> Self {
        let configured = Self(tempfile::tempdir().unwrap());
        std::fs::write(configured.path(), text).unwrap();
        configured
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("toolhost.toml")
    }

    /// Looks for all that is wrong. Returns the exit code, and what was said.
    fn check(&self) -> (Option<i32>, String) {
        let mut command = client();
        command.args(["config", "check"]).arg(self.path());
        command.env("TOOLHOST_STATE_DIR", shared_state("cli"));
        self.said(&mut command)
    }

    fn said(&self, command: &mut Command) -> (Option<i32>, String) {
        let output = command.current_dir(self.0.path()).output().unwrap();
        let all = [text(&output.stdout), text(&output.stderr)].concat();
        let directory = self.0.path().to_str().unwrap();
        (output.status.code(), all.replace(directory, "DIR"))
    }
}

#[test]
fn keys_in_the_wrong_place_and_of_the_wrong_kind_say_what_is_right() {
    for (written, said) in [
        (
            "keep = 5",
            "keep: it must be true, false, or a time in quotes",
        ),
        ("keep = \"soon\"", "write a time as 30s"),
        (
            "[plugins.script]\ntool_mode = \"both\"",
            "plugins.script.tool_mode: there is no such key in [plugins.script]; `tool_mode` is a key of the top level: write it above \
             the first section",
        ),
        (
            "[workspace]\nlisten = \"127.0.0.1:1\"",
            "`listen` is a key of the top level",
        ),
        ("[sandbox]\nkeep = true", "`keep` is a key of the top level"),
        (
            "[tokens.a]\nfile = \"a\"\nscopes = [\"call\"]\nmax_live = 3",
            "`max_live` is a key of the top level",
        ),
        (
            "mode = \"off\"",
            "at the top level; it is one of the section [sandbox]",
        ),
        (
            "scopes = [\"call\"]",
            "it is one of the section [tokens.NAME]",
        ),
        ("dir = \".\"", "it is one of the section [workspace]"),
    ] {
        let (code, all) = Configured::new(written).check();
        assert!(code == Some(2) && all.contains(said), "{written}: {all}");
    }
    // No key is offered twice.
    let (_, all) = Configured::new("[plugins.script]\nzzz = 1").check();
    let (_, known) = all
        .split_once("there are ")
        .unwrap_or_else(|| panic!("{all}"));
    let known: Vec<_> = known
        .split([',', '\n'])
        .map(str::trim)
        .take_while(|key| !key.is_empty())
        .collect();
    let mut once = known.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), known.len(), "{known:?}");
    for kept in [
        "keep = true",
        "keep = false",
        "keep = \"30s\"",
        "keep = \"no\"",
    ] {
        let (code, all) = Configured::new(kept).check();
        assert_eq!(code, Some(0), "{kept}: {all}");
    }
}

#[test]
fn everything_in_a_file_is_found_at_once() {
    let configured = Configured::new(
        r#"lisen = "127.0.0.1:1"
listen = 7411
max_live = "many"
nice = 99
log_format = "xml"
socket_mode = 660
agent_api = "yes"
allow_origin = ["https://chat.example.com", "foo"]
tls_cert = "cert.pem"
approval_timeout = "soon"
approval_url = "ftp://approve.example.com"
log = "toolhost=debug=x"
guest_memory = "1"

[workspace]
root = "."

[plugin.weather]
component = "weather.wasm"

[plugins.weather]
component = 7
enabeld = true
grants = { http = ["*", "a b"], files = "all", proceses = "own" }
limits = { memory = "much", traps = -1, instances = 65 }
secrets = { key = "hunter22" }

[plugins.shell]
component = "shell.wasm"

[tokens.a]
sha256 = "abc"
scope = ["call"]
scopes = ["cal"]
tools = "execute"

[tokens.local]
file = "x"
scopes = ["call"]
"#,
    );
    let (code, said) = configured.check();
    assert_eq!(code, Some(2), "{said}");
    assert!(!said.contains("hunter22"), "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn mistakes_of_syntax_are_found_at_once() {
    let configured = Configured::new("listen = \n[plugins.a]\nenabled = maybe\nenabled = true\n");
    let (code, said) = configured.check();
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(said);
}

#[test]
fn what_the_file_names_is_looked_for() {
    use std::os::unix::fs::PermissionsExt;
    let configured = Configured::new(
        r#"tls_cert = "cert.pem"
tls_key = "key.pem"
approval_command = ["/nonexistent/hook", "x"]

[plugins.missing]
component = "missing.wasm"

[plugins.one]
component = "one.wasm"

[plugins.other]
component = "other.wasm"
secrets = { key = { file = "no.key" }, other = { env = "TOOLHOST_NO_SUCH" } }

[plugins.same]
component = "one.wasm"

[plugins.none]

[tokens.file]
file = "no.token"
scopes = ["call"]

[tokens.empty]
file = "empty.token"
scopes = ["call"]

[tokens.tools]
sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
scopes = ["call"]
tools = ["execute", "t", "excute", "one__t"]
"#,
    );
    let write = |name: &str, bytes: &[u8]| {
        let path = configured.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    };
    write("one.wasm", &crate::guest::guest("well_behaved"));
    write("empty.token", b"");
    let (code, said) = configured.check();
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(said);
}

#[test]
fn a_library_of_scripts_is_looked_for() {
    let configured = Configured::new("[plugins.script]\nsettings = { library = 'scripts' }\n");
    let (code, said) = configured.check();
    assert_eq!(code, Some(2), "{said}");
    let problem = "plugins.script.settings.library: the library cannot be used: ";
    assert!(said.contains(problem), "{said}");
    // A call of `run_script` loads the scripts, whatever `tool_mode` says.
    let scripts = configured.0.path().join("scripts");
    std::fs::create_dir(&scripts).unwrap();
    std::fs::write(scripts.join("bad.js"), "return 1;\n").unwrap();
    let (code, said) = configured.check();
    assert_eq!(code, Some(2), "{said}");
    let problem = "plugins.script.settings.library: the script bad cannot be a tool";
    assert!(said.contains(problem), "{said}");
    std::fs::write(scripts.join("bad.js"), "/** Returns one. */\nreturn 1;\n").unwrap();
    let (code, said) = configured.check();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn the_search_for_tools_is_checked() {
    let configured = Configured::new(
        "tool_mode = 'search'\ntool_budget = 5000\ntools_always = ['read_*']\n[plugins.find_tools]\ngrants = { calls = ['*'] }\n",
    );
    let (code, said) = configured.check();
    assert_eq!(code, Some(0), "{said}");
    for (written, problem) in [
        ("tool_budget = -1", "tool_budget: "),
        ("tools_always = ['*_file']", "tools_always[0]: "),
        (
            "[plugins.find_tools]\ngrants = { files = 'read' }",
            "find_tools can be granted `calls` only",
        ),
        (
            "[plugins.find_tools]\nsettings = { a = 'b' }",
            "of which only `enabled`, `limits` and `grants` can be set",
        ),
    ] {
        let (code, said) = Configured::new(written).check();
        assert_eq!(code, Some(2), "{written}: {said}");
        assert!(said.contains(problem), "{written}: {said}");
    }
}

/// Everything for which `serve` would not start, or would refuse calls.
#[test]
fn what_keeps_a_server_from_starting_is_found() {
    use std::os::unix::fs::PermissionsExt;
    let configured = Configured::new(
        r#"tls_cert = "cert.pem"
tls_key = "key.pem"
token_file = "open.token"
approval_command = ["./hook"]

[workspaces]
root = "shared"
templates = { none = "none" }

[workspaces.agents.a]
url = "ftp://127.0.0.1"
token = "x"

[plugins.digest]
component = "one.wasm"
sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

[plugins.roots]
component = "one.wasm"
grants = { files = { access = "read", roots = ["nowhere"] } }
"#,
    );
    let write = |name: &str, bytes: &[u8], mode| {
        let path = configured.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    write("cert.pem", b"no certificate", 0o600);
    write("key.pem", b"no key", 0o600);
    write("open.token", b"secret", 0o644);
    write("one.wasm", &crate::guest::guest("well_behaved"), 0o600);
    let shared = configured.0.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(shared, PermissionsExt::from_mode(0o777)).unwrap();
    let (code, said) = configured.check();
    assert_eq!(code, Some(2), "{said}");
    // The digest of the guest is its own.
    let lines = said
        .lines()
        .filter_map(|line| line.split(": its sha256").next());
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_file_with_nothing_wrong_is_said_to_have_nothing_wrong() {
    let configured = Configured::new(
        "listen = '127.0.0.1:1'\n[tokens.a]\nsha256 = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'\nscopes = ['call']\ntools = ['execute']\n",
    );
    assert_eq!(
        configured.check(),
        (Some(0), "DIR/toolhost.toml: nothing is wrong\n".into())
    );
}

/// No command begins with a file that is not valid.
#[test]
fn every_command_refuses_a_file_that_is_not_valid() {
    let configured = Configured::new("lisen = 'x'\n[tokens.a]\nscopes = ['cal']\n");
    for arguments in [
        &["tools"][..],
        &["doctor"],
        &["serve"],
        &["mcp"],
        &["agent"],
        &["call", "process_list"],
        &["call", "process_list", "--server", "http://127.0.0.1:1"],
        &["plugin", "list"],
        &["plugin", "inspect", "x.wasm"],
        &["plugin", "check", "x.wasm"],
    ] {
        let mut command = client();
        command.arg("--config").arg(configured.path());
        let (code, said) = configured.said(command.args(arguments));
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("line 1, column 1: lisen: ")
                && said.contains("line 3, column 11: tokens.a.scopes[0]: "),
            "{arguments:?}: {said}"
        );
    }
}

/// Only what the file says is checked: that what it names is missing now is no reason to refuse it.
#[test]
fn the_doctor_looks_at_what_the_configuration_names() {
    let configured = Configured::new("[plugins.a]\ncomponent = 'a.wasm'\n");
    let mut command = with_state(configured.0.path(), &shared_state("cli"));
    command.arg("--config").arg(configured.path());
    let (code, said) = configured.said(command.arg("doctor"));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("FAIL  configuration") && said.contains("line 1, column 10: plugins.a: "),
        "{said}"
    );
}

/// The keys that are commented out are right as well.
#[test]
fn the_example_is_valid_with_everything_that_it_shows() {
    let output = run(&["config", "example"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let example = text(&output.stdout);
    let (code, all) = Configured::new(example).check();
    assert_eq!(code, Some(0), "{all}");
    let shown = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => format!("{key}\n"),
        _ => format!("{line}\n"),
    };
    let everything: String = example.lines().map(shown).collect();
    let ground = tempfile::tempdir().unwrap();
    std::fs::create_dir(ground.path().join("workspace")).unwrap();
    let everything = everything.replace("/srv/toolhost", ground.path().to_str().unwrap());
    let (code, all) = Configured::new(&everything).check();
    // The component is not there.
    assert_eq!(code, Some(2), "{all}");
    let others: Vec<_> = all
        .lines()
        .filter(|line| line.contains("line ") && !line.contains("weather"))
        .collect();
    assert!(
        all.contains("weather") && others.is_empty(),
        "{all}\n{everything}"
    );
}
