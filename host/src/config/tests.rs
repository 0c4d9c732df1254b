//! Configurations that are read, and those that are refused.

use std::time::Duration;

use super::*;
use toolhost_core::Grants;
use toolhost_workspace::files::FilesGrant;

struct File {
    directory: tempfile::TempDir,
}

impl File {
    fn new(text: &str) -> Self {
        let file = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        file.write("toolhost.toml", text);
        file
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        // A secret is for its owner alone.
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
    }

    fn plugins(&self) -> Result<PluginSet, ConfigError> {
        Config::read(&self.directory.path().join("toolhost.toml"))?.plugins()
    }

    /// Returns the problems of the file, or of one plugin, without the name of the directory.
    fn error(&self) -> String {
        let error = match self.plugins() {
            Err(error) => error.to_string(),
            Ok(set) => {
                assert!(set.sources.is_empty(), "{set:?}");
                let mut broken = set.broken.iter();
                let (name, problem) = broken.next().expect("something is wrong");
                format!("{name}: {problem}")
            }
        };
        error.replace(&*self.directory.path().to_string_lossy(), "DIR")
    }
}

fn error(text: &str) -> String {
    File::new(text).error()
}

#[test]
fn images_of_files_have_bounds() {
    let file = File::new(
        r#"
        [plugins.files]
        limits = { reply = "4MiB" }
        settings = { image_max_edge = 2048, image_max_pixels = 4_000_000, image_max_bytes = "3MiB" }
        "#,
    );
    let set = file.plugins().unwrap();
    let files = &set.embedded["files"];
    let all: Vec<_> = files
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        all,
        [
            "image_max_bytes=3145728",
            "image_max_edge=2048",
            "image_max_pixels=4000000"
        ]
    );
    // The other limits are those of the plugin.
    let limits = files.limits.as_ref().unwrap();
    assert_eq!((limits.reply, limits.memory), (4 << 20, 256 << 20));
    let said = |settings: &str| error(&format!("[plugins.files]\nsettings = {{ {settings} }}"));
    for (settings, text) in [
        ("image_max_edge = 0", "it can be 1 to 8000"),
        ("image_max_edge = \"large\"", "a number of pixels"),
        ("image_max_pixels = 64000001", "it can be 1 to 64000000"),
        (
            "image_max_bytes = \"1MiB\"",
            "it can be 983040 bytes at most with a reply of 1048576 bytes: raise `reply` of the limits",
        ),
        ("image_max_bytes = 0", "it can be 1 byte or more"),
        ("units = 1", "plugins.files.settings"),
    ] {
        let said = said(settings);
        assert!(said.contains(text), "{settings}: {said}");
    }
}

#[test]
fn everything_that_can_be_said_of_a_plugin() {
    let file = File::new(
        r#"
        [plugins.weather]
        component = "w.wasm"
        enabled = false
        settings = { units = "metric", days = 3, verbose = true, factor = 1.5 }
        secrets = { key = { file = "keys/weather" } }
        [plugins.weather.grants]
        processes = "own"
        files = { access = "read", roots = ["docs", "/srv"] }
        env = ["WEATHER"]
        preopens = [{ dir = "data", name = "/data" }, { dir = "/x", name = "/y", write = true }]
        [plugins.weather.limits]
        memory = "32MiB"
        guest_time = "500ms"
        deadline = "2h"
        log = 1000
        calls_per_chat = 2
        http_bytes = "1 MB"
        traps = 0
        "#,
    );
    file.write("keys/weather", "the secret\r\n");
    let set = file.plugins().unwrap();
    let [source] = &set.sources[..] else { panic!() };
    let base = file.directory.path();
    assert!(!source.enabled && source.options.name == "weather");
    assert_eq!(
        source.component,
        toolhost_core::Component::File(base.join("w.wasm"))
    );
    let settings = &source.options.settings;
    let all: Vec<_> = settings
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        all,
        ["days=3", "factor=1.5", "units=metric", "verbose=true"]
    );
    assert_eq!(settings.secrets["key"], "the secret");
    assert!(!format!("{set:?}").contains("the secret"));
    let grants = &source.options.grants;
    assert!(grants.processes() && grants.files() == FilesGrant::Read);
    assert_eq!(
        grants.file_roots().unwrap(),
        ["docs", "/srv"].map(PathBuf::from)
    );
    assert_eq!(grants.env, ["WEATHER"]);
    assert_eq!(grants.preopens[0].directory, base.join("data"));
    assert!(!grants.preopens[0].write && grants.preopens[1].write);
    let limits = &source.options.limits;
    assert_eq!(
        (limits.memory, limits.log, limits.traps),
        (32 << 20, 1000, 0)
    );
    assert_eq!((limits.calls_per_chat, limits.http_bytes), (2, 1_000_000));
    assert_eq!(limits.guest_time, Duration::from_millis(500));
    // A longer deadline is not cut by the most that is the default.
    assert_eq!(limits.max_deadline, Duration::from_secs(7200));
}

#[test]
fn nothing_is_granted_that_is_not_said() {
    let set = File::new("[plugins.a]\ncomponent = 'a.wasm'")
        .plugins()
        .unwrap();
    let options = &set.sources[0].options;
    assert_eq!(options, &toolhost_core::Options::new("a"));
}

#[test]
fn what_is_not_known_is_refused_with_its_line() {
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nenabeld = true"), @r#"the configuration DIR/toolhost.toml is not valid: line 3, column 1: plugins.a.enabeld: there is no such key; did you mean "enabled"?"#);
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\ngrants = { sockets = true }"), @"the configuration DIR/toolhost.toml is not valid: line 3, column 12: plugins.a.grants.sockets: there is no such key; there are processes, files, http, calls, env, preopens");
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\ngrants = { files = 'all' }"), @r#"the configuration DIR/toolhost.toml is not valid: line 3, column 12: plugins.a.grants.files: it must be "none", "read" or "write", or a table such as { access = "read", roots = ["docs"] }"#);
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nlimits = { memory = 'much' }"), @r#"the configuration DIR/toolhost.toml is not valid: line 3, column 12: plugins.a.limits.memory: "much" is no size; write it as "64KiB" or "1.5MiB""#);
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nlimits = { memory = -1 }"), @"the configuration DIR/toolhost.toml is not valid: line 3, column 12: plugins.a.limits.memory: a size cannot be negative");
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nlimits = { deadline = '5 parsecs' }"), @r#"the configuration DIR/toolhost.toml is not valid: line 3, column 12: plugins.a.limits.deadline: "5 parsecs" is no time (unknown time unit "parsecs", supported units: ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations)); write it as "250ms", "30s" or "1h 30m""#);
    insta::assert_snapshot!(error("listen = "), @"the configuration DIR/toolhost.toml is not valid: line 1, column 10: string values must be quoted, expected literal string");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_key() {
    insta::assert_snapshot!(error("[plugins.a]"), @r#"a: `component = "FILE.wasm"` is missing, and there is no such file in `plugin_dir`"#);
    insta::assert_snapshot!(error("[plugins.shell]\ncomponent = 'a.wasm'"), @"the configuration DIR/toolhost.toml is not valid: line 2, column 1: plugins.shell.component: shell is an embedded plugin, of which only `enabled` and `limits` can be set; choose another name");
    insta::assert_snapshot!(error("[plugins.files]\ngrants = { files = 'read' }"), @"the configuration DIR/toolhost.toml is not valid: line 2, column 1: plugins.files.grants: files is an embedded plugin, of which only `enabled`, `limits` and `settings` can be set; choose another name");
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nlimits = { instances = 65 }"), @"the configuration DIR/toolhost.toml is not valid: line 3, column 12: plugins.a.limits.instances: it can be 64 at most");
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nsecrets = { k = { file = 'none' } }"), @"a: secrets.k: DIR/none cannot be read: No such file or directory (os error 2)");
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\nsecrets = { k = { env = 'TOOLHOST_NO_SUCH' } }"), @"a: secrets.k: the variable TOOLHOST_NO_SUCH is not set");
    insta::assert_snapshot!(error("[plugins.a]\ncomponent = 'a.wasm'\ngrants = { env = ['A=B'] }"), @r#"the configuration DIR/toolhost.toml is not valid: line 3, column 19: plugins.a.grants.env[0]: "A=B" cannot be the name of a variable"#);
    insta::assert_snapshot!(error("plugin_dir = 'none'"), @"the configuration DIR/toolhost.toml is not valid: line 1, column 1: plugin_dir: the plugin_dir cannot be used: DIR/none cannot be read: No such file or directory (os error 2)");
    let twice = File::new("plugin_dir = 'p'");
    twice.write("p/a-b.wasm", "");
    twice.write("p/A_b.wasm", "");
    insta::assert_snapshot!(twice.error(), @"a_b: DIR/p/A_b.wasm and DIR/p/a-b.wasm are both named like it: rename one");
}

#[test]
fn no_error_shows_a_secret() {
    for text in [
        "[plugins.a]\ncomponent = 'a.wasm'\nsecrets = { k = 'hunter22' }",
        "[plugins.a]\ncomponent = 'a.wasm'\nsecrets = { k = { value = 'hunter22' } }",
        "[plugins.a]\ncomponent = 'a.wasm'\nsecrets = { k = { file = ['hunter22'] } }",
        "[plugins.a]\ncomponent = 'a.wasm'\nsecrets = 'hunter22'",
        "[plugins.a]\ntypo = 'hunter22'",
    ] {
        let error = error(text);
        assert!(!error.contains("hunter22"), "{error}");
        assert!(error.contains("line "), "{error}");
    }
}

#[test]
fn a_file_that_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let error = |path: &Path| {
        let error = Config::read(path).unwrap_err().to_string();
        error.replace(&*directory.path().to_string_lossy(), "DIR")
    };
    insta::assert_snapshot!(error(&directory.path().join("none")), @"the configuration DIR/none cannot be read: No such file or directory (os error 2)");
    insta::assert_snapshot!(error(directory.path()), @"the configuration DIR cannot be read: it is no file");
    let large = directory.path().join("large");
    std::fs::write(&large, " ".repeat((1 << 20) + 1)).unwrap();
    insta::assert_snapshot!(error(&large), @"the configuration DIR/large cannot be read: it is larger than 1 MiB");
}

#[test]
fn plugins_that_are_added_keep_what_the_file_says_of_them() {
    let file = File::new("[plugins.a]\ncomponent = 'a.wasm'\ngrants = { processes = 'own' }");
    let config = Config::read(&file.directory.path().join("toolhost.toml")).unwrap();
    let added = |component: &str| Added {
        component: component.into(),
        ..Added::default()
    };
    let reads = Added {
        grants: Grants::default().with_files(FilesGrant::Read),
        settings: [("units".into(), "metric".into())].into(),
        ..added("/new.wasm")
    };
    let set = config
        .with_plugin("a", reads)
        .with_plugin("b", added("b.wasm"))
        .reread()
        .unwrap()
        .plugins()
        .unwrap();
    let [a, b] = &set.sources[..] else { panic!() };
    assert!(a.options.grants.processes() && !b.options.grants.processes());
    assert!(a.options.grants.get("files").is_some() && b.options.grants.get("files").is_none());
    assert_eq!(a.options.settings.settings["units"], "metric");
    assert_eq!(
        a.component,
        toolhost_core::Component::File("/new.wasm".into())
    );
    assert_eq!(
        b.component,
        toolhost_core::Component::File(file.directory.path().join("b.wasm"))
    );
}

#[test]
fn names_of_files_become_names_of_plugins() {
    for (stem, name) in [
        ("weather", "weather"),
        ("Word-Count.v2", "word_count_v2"),
        ("_a__b_", "a_b"),
        ("é", ""),
    ] {
        assert_eq!(name_of(stem), name);
    }
}

#[test]
fn a_store_is_shared_by_hosts() {
    let file = File::new(
        r#"
        [store]
        url = "postgres://toolhost@db.example.com/toolhost?sslmode=require"
        password_file = "db.password"
        ca = "ca.pem"
        connections = 8
        lease = "15s"
        name = "tools-1"
        address = "https://tools-1.example.com"
        "#,
    );
    file.write("db.password", "secret with a space \n");
    let config = Config::read(&file.directory.path().join("toolhost.toml")).unwrap();
    let store = config.store().unwrap();
    assert_eq!(
        store.password.as_ref().unwrap().reveal(),
        "secret with a space "
    );
    assert_eq!(store.connections, Some(8));
    assert_eq!(store.lease, Some(Duration::from_secs(15)));
    assert!(store.ca.as_ref().unwrap().is_absolute());
    let private = config.private_files();
    assert!(private.contains(&file.directory.path().join("db.password")));
    assert!(
        !format!("{store:?}").contains("db.example.com"),
        "an address may have a password"
    );
    insta::assert_snapshot!(error("[store]\nconnections = 0\nlease = \"1s\"\n[workspaces]\nroot = \"w\"\n"), @"
    the configuration DIR/toolhost.toml is not valid, for 4 reasons:
      line 1, column 2: store: hosts that share a store have no directories in common: leave out `root` of [workspaces], and name agents
      line 1, column 2: store: url is missing; it is the address of a database, such as \"postgres://toolhost@db.example.com/toolhost\"
      line 2, column 1: store.connections: at least 1 is needed
      line 3, column 1: store.lease: it is at least \"2s\"
    ");
    insta::assert_snapshot!(error("[store]\nurl = \"mysql://x\"\npassword_file = \"none\"\n"), @"
    the configuration DIR/toolhost.toml is not valid, for 2 reasons:
      line 2, column 1: store.url: it begins with postgres:// or host=, as PostgreSQL's own programs take it
      line 3, column 1: store.password_file: DIR/none: No such file or directory (os error 2)
    ");
}

#[test]
fn hosts_of_a_store_may_forward_requests() {
    let store =
        "[store]\nurl = \"host=/run\"\naddress = \"https://tools-1.example.com\"\n[cluster]\n";
    let read = |text: &str| {
        let file = File::new(&format!("{store}{text}"));
        let config = Config::read(&file.directory.path().join("toolhost.toml"));
        config.unwrap().cluster().clone()
    };
    assert_eq!(read(""), Cluster::default());
    let cluster = read("forward = true\nca = \"hosts.pem\"\n");
    assert!(cluster.forward && cluster.ca.unwrap().is_absolute());
    insta::assert_snapshot!(error("[cluster]\nforward = true\n"), @"the configuration DIR/toolhost.toml is not valid: line 1, column 2: cluster: there are no other hosts without [store]: name the database that they share there");
    insta::assert_snapshot!(error("[store]\nurl = \"host=/run\"\naddress = \"tools-1\"\n[cluster]\nforward = true\nforwards = 1\n"), @"
    the configuration DIR/toolhost.toml is not valid, for 2 reasons:
      line 5, column 1: cluster.forward: the other hosts need `address` of [store]: the URL of this host, such as \"https://tools-1.example.com\"
      line 6, column 1: cluster.forwards: there is no such key; did you mean \"forward\"?
    ");
    insta::assert_snapshot!(error("[store]\nurl = \"host=/run\"\n[cluster]\nca = \"a\"\n"), @"the configuration DIR/toolhost.toml is not valid: line 4, column 1: cluster.ca: without `forward = true` nothing is sent to other hosts");
}
