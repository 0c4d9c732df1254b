//! Grants, settings and limits of plugins in a configuration.

use std::task::Poll;

use super::*;
use crate::harness::{Server, file};
use toolhost_core::PluginSet;
use toolhost_needs::needs;
use toolhost_sandbox::Policy;
use toolhost_workspace::files::FilesGrant;

#[tokio::test]
async fn what_does_not_load_is_listed_and_the_others_work() {
    let text = "[plugins.good]\ncomponent = 'good.wasm'\n[plugins.bad]\ncomponent = 'bad.wasm'\n\
                [plugins.gone]\ncomponent = 'gone.wasm'\n[plugins.off]\ncomponent = 'gone.wasm'\nenabled = false\n";
    let configured = Configured::new(text);
    configured.write("good.wasm", greeting("works"));
    configured.write("bad.wasm", guest("process_user"));
    let setup = configured.host().await;
    assert_eq!(said(&setup.host).await, "works");
    is(&setup.host, "off", PluginState::Disabled);
    is(&setup.host, "bad", PluginState::Failed);
    let error = state(&setup.host, "bad").error.unwrap();
    assert!(error.contains("toolhost:plugin/processes"), "{error}");
    let error = state(&setup.host, "gone").error.unwrap();
    assert!(error.contains("gone.wasm cannot be read"), "{error}");
}

/// Loading one of many plugins can take half a minute; an operator who looks meanwhile sees that the others are still to come.
#[tokio::test]
async fn what_is_not_loaded_yet_is_listed() {
    let text = "[plugins.first]\ncomponent = 'a.wasm'\n[plugins.second]\ncomponent = 'a.wasm'\n";
    let configured = Configured::new(text);
    configured.write("a.wasm", greeting("works"));
    let setup = Configured::new("").host().await;
    let set = configured.read().plugins().unwrap();
    let mut applying = std::pin::pin!(setup.host.apply(set));
    let polled = std::future::poll_fn(|context| Poll::Ready(applying.as_mut().poll(context)));
    assert!(polled.await.is_pending());
    is(&setup.host, "first", PluginState::Loading);
    is(&setup.host, "second", PluginState::Loading);
    assert_eq!(state(&setup.host, "second").error, None);
    // Meanwhile calls of their tools are for later, and the server is not ready.
    let server = Server::start(setup.host.clone()).await;
    let call = async || server.put("chat", "1", json!({ "tool": "first__t" })).await;
    let ready = async || {
        let request = server.request(reqwest::Method::GET, "/readyz");
        let response = request.send().await.unwrap();
        let after = response.headers().get("retry-after").is_some();
        (response.status().as_u16(), after)
    };
    let (status, refused) = call().await;
    assert_eq!(
        (status, &refused["code"]),
        (503, &json!("loading")),
        "{refused}"
    );
    assert_eq!(ready().await, (503, true));
    applying.await;
    assert_eq!(ready().await, (200, false));
    let (status, outcome) = call().await;
    assert_eq!(
        (status, &outcome["is_error"]),
        (200, &json!(false)),
        "{outcome}"
    );
    is(&setup.host, "first", PluginState::Active);
    is(&setup.host, "second", PluginState::Active);
}

#[tokio::test]
async fn limits_and_grants_are_those_of_the_plugin() {
    let text = "[plugins.small]\ncomponent = 'bomb.wasm'\nlimits = { memory = '1MiB' }\n\
                [plugins.runs]\ncomponent = 'runs.wasm'\ngrants = { processes = 'own' }\n";
    let configured = Configured::new(text);
    configured.write("bomb.wasm", guest("memory_bomb"));
    configured.write("runs.wasm", guest("process_user"));
    let setup = configured.host().await;
    let outcome = setup.outcome("small__t", json!({})).await;
    let error = outcome.result.as_ref().unwrap_err().to_string();
    assert!(error.contains("memory limit of 1 MiB"), "{error}");
    assert!(!setup.outcome("runs__t", json!({})).await.is_error());
}

#[tokio::test]
async fn embedded_plugins_can_be_turned_off() {
    let configured = Configured::new("[plugins.shell]\nenabled = false\n");
    let set = configured.read().plugins().unwrap();
    let setup = Setup::with(|builder| builder.configured(set)).await;
    let names = |host: &Host| {
        let tools = host.tools();
        tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&setup.host),
        [
            "read_file",
            "write_file",
            "edit_files",
            "apply_patch",
            "search_files",
            "find_files",
            "share_file"
        ]
    );
    setup.host.apply(PluginSet::default()).await;
    assert!(names(&setup.host).contains(&"execute".to_owned()));
    setup.execute("echo works > made").await;
    assert_eq!(setup.file("made").await, "works\n");
}

/// The embedded component with the commands, under other names and with less.
#[needs(program = "curl")]
#[tokio::test]
async fn commands_of_some_plugins_may_do_less() {
    let text = "[plugins.reader]\ncomponent = 'shell.wasm'\n\
                grants = { processes = { mode = 'read-only' } }\n\
                [plugins.hermit]\ncomponent = 'shell.wasm'\n\
                grants = { processes = { network = 'none' } }\n";
    let configured = Configured::new(text);
    configured.write("shell.wasm", toolhost_artifacts::SHELL);
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    // The kernel connects what nobody has accepted yet.
    let connect =
        format!("curl --noproxy '*' --max-time 1 telnet://127.0.0.1:{port}; test $? = 28");
    // Without a sandbox, commands have no directory for temporary files of their own.
    let outside = "echo x > ${TMPDIR:-.}/mine && echo x > made";
    for mode in ["workspace", "off"] {
        let set = configured.read().plugins().unwrap();
        let policy = Policy {
            mode: mode.parse().unwrap(),
            ..harness::without_namespaces()
        };
        let setup = Setup::with(|builder| builder.sandbox(policy).configured(set)).await;
        let works = async |tool: &str, command: &str| {
            let reply = setup.call(tool, json!({ "command": command })).await;
            reply["exit_code"] == 0
        };
        assert!(!works("reader__execute", outside).await, "{mode}");
        assert!(!setup.root().join("made").exists());
        assert!(works("hermit__execute", outside).await, "{mode}");
        assert!(works("reader__execute", &connect).await, "{mode}");
        assert!(!works("hermit__execute", &connect).await, "{mode}");
        assert!(works("shell__execute", &format!("{outside} && {connect}")).await);
    }
}

/// The embedded component with the file tools, under another name and with less.
#[tokio::test]
async fn files_of_some_directories_alone() {
    let text = "[plugins.docs]\ncomponent = 'files.wasm'\n\
                grants = { files = { access = 'write', roots = ['docs', '@'] } }\n";
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().to_str().unwrap();
    let configured = Configured::new(&text.replace('@', path));
    configured.write("files.wasm", toolhost_artifacts::FILES);
    let set = configured.read().plugins().unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let at = |name: &str| workspace.path().join(name);
    std::fs::create_dir(at("docs")).unwrap();
    std::fs::write(at("docs/a"), "in docs\n").unwrap();
    std::fs::write(at("secret"), "a secret\n").unwrap();
    std::os::unix::fs::symlink("../secret", at("docs/link")).unwrap();
    let host = Host::builder(workspace.path())
        .without_shell()
        .files(FilesGrant::None)
        .state_dir(harness::shared_state("state"))
        .shared_code(harness::shared_code().join("toolhost"))
        .configured(set);
    let setup = Setup::of(host.start().await.unwrap(), workspace);
    let read = async |path: &str| {
        let outcome = setup.outcome("read_file", json!({ "path": path })).await;
        serde_json::to_string(outcome.as_ref()).unwrap()
    };
    for path in [
        "docs/a",
        "./docs/../docs/a",
        &format!("{}/docs/a", setup.root().display()),
    ] {
        let reply = read(path).await;
        assert!(reply.contains("in docs"), "{path}: {reply}");
    }
    for path in [
        "secret",
        "docs/../secret",
        "docs/link",
        ".",
        "",
        &format!("{}/secret", setup.root().display()),
    ] {
        let reply = read(path).await;
        assert!(
            reply.contains("\"is_error\":true") && !reply.contains("a secret"),
            "{path}: {reply}"
        );
    }
    let written = json!({ "path": format!("{path}/new"), "content": "made\n" });
    assert!(!setup.outcome("write_file", written).await.is_error());
    assert_eq!(file(&elsewhere.path().join("new")).await, "made\n");
    let written = json!({ "path": "new", "content": "made\n" });
    assert!(setup.outcome("write_file", written).await.is_error());
    assert!(!setup.root().join("new").exists());
}

#[test]
fn files_that_others_can_change_are_refused() {
    let text = "plugin_dir = 'plugins'\n[plugins.one]\ncomponent = 'one.wasm'\nsecrets = { key = { file = 'key' } }\n";
    let configured = Configured::new(text);
    configured.write("plugins/notes.txt", "");
    configured.write("key", "s3cr3t");
    let set_mode = |name: &str, mode| set_mode(&configured.path(name), mode);
    let others_may = |what: &str, name: &str, mode: u32| {
        format!(
            "others may {what} {} (mode {mode:o})",
            configured.path(name).display()
        )
    };
    // A secret that others can read is none.
    set_mode("key", 0o644);
    let set = configured.read().plugins().unwrap();
    let problem = &set.broken["one"];
    let expected = format!(
        "secrets.key: {}: run `chmod 600` on it",
        others_may("use", "key", 0o644)
    );
    assert_eq!(problem, &expected);
    set_mode("key", 0o600);
    assert!(configured.read().plugins().unwrap().broken.is_empty());
    set_mode("plugins", 0o775);
    let error = configured.read().plugins().unwrap_err().to_string();
    assert!(
        error.contains(&others_may("change", "plugins", 0o775)),
        "{error}"
    );
    set_mode("plugins", 0o755);
    for (name, mode, good) in [("toolhost.toml", 0o666, 0o644), ("", 0o777, 0o700)] {
        set_mode(name, mode);
        let error = Config::read(&configured.path("toolhost.toml")).unwrap_err();
        let expected = format!(
            "{}: run `chmod go-w` on it",
            others_may("change", name, mode)
        );
        assert!(
            error.to_string().ends_with(&expected.replace("/ (", " (")),
            "{error}"
        );
        set_mode(name, good);
    }
    configured.read();
}

#[test]
fn settings_hide_nothing() {
    let configured = Configured::new(
        "[plugins.one]\ncomponent = 'one.wasm'\nsettings = { note = \"a\\u200bb\" }\n",
    );
    let refused = toolhost::config::Config::read(&configured.path("toolhost.toml"));
    let error = refused.unwrap_err().to_string();
    assert!(
        error.ends_with(
            "line 3, column 14: plugins.one.settings: note has the character \\u{200b}, which a model reads and a person does not see: remove it"
        ),
        "{error}"
    );
}
