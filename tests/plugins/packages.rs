//! Packages: written, pushed to a registry, pulled, pinned and compared. The registry is Debian's `docker-registry`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use toolhost_needs::needs;

use super::*;
use crate::harness::{program, with_code};

/// A registry that keeps everything in a directory, until this is dropped.
pub(crate) struct Registry {
    child: Child,
    pub(crate) address: String,
}

impl Registry {
    /// Starts one. With `password`, it lets in `ada` alone, whose password is `pass word`.
    pub(crate) fn start(directory: &Path, password: bool) -> Self {
        let file = directory.join("registry.yml");
        let mut text = format!(
            "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:0\n",
            directory.join("registry").display()
        );
        if password {
            let passwords = directory.join("htpasswd");
            let hash = "$2y$05$abcdefghijklmnopqrstuuIt/9/tGzLcigNq/.RWIDjeEVR30RSf.";
            std::fs::write(&passwords, format!("ada:{hash}\n")).unwrap();
            text += &format!(
                "auth:\n  htpasswd:\n    realm: test\n    path: {}\n",
                passwords.display()
            );
        }
        std::fs::write(&file, text).unwrap();
        let mut child = Command::new("docker-registry")
            .arg("serve")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("listening on ")?;
            let end = rest.find(|c: char| c != '.' && c != ':' && !c.is_ascii_digit());
            Some(rest[..end.unwrap_or(rest.len())].to_owned())
        });
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self {
            child,
            address: address.expect("it says where it listens"),
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A home with a plugin's folder, in which the program is run.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        with_code(home.path("state"), None);
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    /// Writes the folder of a plugin with this version, whose tool says this text of five bytes.
    fn plugin(&self, version: &str, text: &str) {
        std::fs::create_dir_all(self.path("plugin/build")).unwrap();
        let manifest = format!(
            "name = 'greeter'\nversion = '{version}'\ndescription = 'Greets.'\nlicense = 'MIT'\nlanguage = 'c'\n\
             [grants]\nfiles = 'reads greetings'\n"
        );
        std::fs::write(self.path("plugin/plugin.toml"), manifest).unwrap();
        std::fs::write(self.path("plugin/build/greeter.wasm"), greeting(text)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(program())
            .args(["--state-dir", "state"])
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.0.path())
            .env("TOOLHOST_WORKSPACE_ANYWAY", "1")
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    /// Runs what must succeed, and returns what it prints.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs what must fail, and returns why it did.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Packs a version, signs it with the key of this name if there is one, and pushes it under this tag.
    fn publish(&self, version: &str, text: &str, key: Option<&str>, reference: &str) -> String {
        self.plugin(version, text);
        self.done(&["plugin", "pack", "plugin"]);
        let file = format!("plugin/build/greeter-{version}.wasm");
        if let Some(key) = key {
            let mut sign = self.minisign();
            sign.args(["-S", "-s"]).arg(self.path(key));
            sign.arg("-m").arg(self.path(&file));
            assert!(sign.status().unwrap().success());
        }
        self.done(&["plugin", "push", &file, reference])
    }

    fn minisign(&self) -> Command {
        let mut command = Command::new("minisign");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Makes a key of minisign without a password, and returns its public half.
    fn key(&self, name: &str) -> String {
        let public = self.path(&format!("{name}.pub"));
        let mut make = self.minisign();
        make.args(["-G", "-W", "-s"]).arg(self.path(name));
        make.arg("-p").arg(&public);
        assert!(make.status().unwrap().success());
        let text = std::fs::read_to_string(public).unwrap();
        text.lines().last().unwrap().to_owned()
    }

    /// Writes a configuration whose plugin is this package, and returns what its tool says.
    fn configure(&self, reference: &str, more: &str) {
        let text = format!("[plugins.greeter]\ncomponent = \"{reference}\"\n{more}");
        std::fs::write(self.path("toolhost.toml"), text).unwrap();
        set_mode(&self.path("toolhost.toml"), 0o600);
    }

    fn pull(&self, more: &[&str]) -> String {
        self.done(&[&["--config", "toolhost.toml", "plugin", "pull"], more].concat())
    }

    fn says(&self) -> String {
        let told = self.done(&["--config", "toolhost.toml", "call", "t", "--text", "{}"]);
        told.trim().to_owned()
    }
}

#[needs(program = "docker-registry")]
#[tokio::test]
async fn a_package_is_the_same_wherever_it_is() {
    let home = Home::new();
    let registry = Registry::start(home.0.path(), false);
    let reference = format!("oci://{}/acme/greeter:1", registry.address);
    let pushed = home.publish("1.0.0", "first", None, &reference);
    assert!(pushed.contains("@sha256:"), "{pushed}");
    assert_eq!(pushed, home.publish("1.0.0", "first", None, &reference));

    home.done(&["plugin", "pull", &reference, "-o", "pulled.wasm"]);
    let packed = std::fs::read(home.path("plugin/build/greeter-1.0.0.wasm")).unwrap();
    assert_eq!(std::fs::read(home.path("pulled.wasm")).unwrap(), packed);
    let pinned = pushed.trim().to_owned();
    home.done(&["plugin", "pull", &pinned, "-o", "pinned.wasm"]);
    assert_eq!(std::fs::read(home.path("pinned.wasm")).unwrap(), packed);

    // What other tools find there: the CNCF's "Wasm OCI artifact".
    let base = format!("http://{}/v2/acme/greeter", registry.address);
    let get = async |path: String, kind: &str| -> Value {
        let request = crate::harness::http_client().build().unwrap().get(path);
        let answer = request.header("accept", kind).send().await.unwrap();
        answer.json().await.unwrap()
    };
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = get(format!("{base}/manifests/1"), kind).await;
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    let config = &manifest["config"];
    assert_eq!(config["mediaType"], "application/vnd.wasm.config.v0+json");
    let annotations = &manifest["annotations"];
    assert_eq!(annotations["org.opencontainers.image.version"], "1.0.0");
    let digest = config["digest"].as_str().unwrap();
    let config = get(format!("{base}/blobs/{digest}"), "*/*").await;
    assert_eq!(config["os"], "wasip2");
    assert_eq!(config["layerDigests"][0], manifest["layers"][0]["digest"]);
    let exports = config["component"]["exports"].to_string();
    assert!(exports.contains("toolhost:plugin/tools"), "{exports}");
}

#[needs(program = "docker-registry")]
#[test]
fn a_configuration_keeps_what_was_pulled() {
    let home = Home::new();
    let registry = Registry::start(home.0.path(), false);
    let reference = format!("oci://{}/acme/greeter:1", registry.address);
    home.publish("1.0.0", "first", None, &reference);
    home.configure(&reference, "");
    let error = home.fails(&["--config", "toolhost.toml", "config", "check"]);
    assert!(error.contains("toolhost plugin pull"), "{error}");
    assert!(home.pull(&[]).contains("pulled"));
    assert!(home.pull(&[]).contains("is there"));
    assert_eq!(home.says(), "first");

    // The tag means another package now, and the configuration does not.
    home.publish("1.0.1", "other", None, &reference);
    assert!(home.pull(&[]).contains("is there"));
    std::fs::remove_dir_all(home.path(".cache/toolhost/components")).unwrap();
    let error = home.fails(&["--config", "toolhost.toml", "config", "check"]);
    assert!(error.contains("no copy"), "{error}");
    assert!(home.pull(&[]).contains("pulled"));
    assert_eq!(home.says(), "first");
    home.pull(&["--update"]);
    drop(registry);
    assert_eq!(home.says(), "other", "no registry is needed any more");
    assert!(home.pull(&[]).contains("is there"));

    // A copy that somebody changed is not loaded.
    let copies = std::fs::read_dir(home.path(".cache/toolhost/components")).unwrap();
    for copy in copies {
        std::fs::write(copy.unwrap().path(), greeting("false")).unwrap();
    }
    let error = home.fails(&["--config", "toolhost.toml", "call", "t", "{}"]);
    assert!(error.contains("sha256"), "{error}");
}

#[needs(program = "docker-registry", program = "minisign")]
#[test]
fn a_signature_is_asked_for() {
    let home = Home::new();
    let registry = Registry::start(home.0.path(), false);
    let reference = format!("oci://{}/acme/greeter:1", registry.address);
    let (key, other) = (home.key("key"), home.key("other"));
    let asks = |key: &str| format!("signed_by = \"{key}\"\n");
    let pull = ["--config", "toolhost.toml", "plugin", "pull"];

    home.publish("1.0.0", "first", None, &reference);
    home.configure(&reference, &asks(&key));
    let error = home.fails(&pull);
    assert!(error.contains("has no signature"), "{error}");
    home.publish("1.0.1", "first", Some("other"), &reference);
    let error = home.fails(&pull);
    assert!(
        error.contains("not one of these bytes by the key"),
        "{error}"
    );
    assert!(!home.path("toolhost.lock").exists(), "nothing is locked");

    home.publish("1.0.2", "third", Some("key"), &reference);
    home.pull(&[]);
    assert_eq!(home.says(), "third");
    home.configure(&reference, &asks(&other));
    let error = home.fails(&["--config", "toolhost.toml", "config", "check"]);
    assert!(error.contains("another key"), "{error}");

    let file = "plugin/build/greeter-1.0.2.wasm";
    let said = home.done(&["plugin", "verify", file, "--signed-by", &key]);
    assert!(said.contains("the signature is right"), "{said}");
    let wrong = home.run(&["plugin", "verify", file, "--signed-by", &other]);
    assert_eq!(wrong.status.code(), Some(1));
    let error = home.fails(&["plugin", "verify", file, "--signed-by", "RWnokey"]);
    assert!(error.contains("no public key of minisign"), "{error}");
}

#[needs(program = "docker-registry", program = "minisign")]
#[test]
fn each_step_prints_an_object() {
    let home = Home::new();
    let registry = Registry::start(home.0.path(), false);
    let reference = format!("oci://{}/acme/greeter:1", registry.address);
    let (key, other) = (home.key("key"), home.key("other"));
    let object = |arguments: &[&str]| -> Value {
        let output = home.run(&[&["plugin"], arguments, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let pushed = home.publish("1.0.0", "first", Some("key"), &reference);
    let (pinned, _) = pushed.split_once(", with its signature").unwrap();
    let file = "plugin/build/greeter-1.0.0.wasm";
    let packed = object(&["pack", "plugin"]);
    let size = home.path(file).metadata().unwrap().len();
    assert_eq!(
        (&packed["file"], &packed["size"]),
        (&json!(file), &json!(size))
    );
    let sha256 = &packed["sha256"];
    assert_eq!(sha256.as_str().unwrap().len(), 64);

    let pushed = object(&["push", file, &reference]);
    assert_eq!(pushed, json!({ "reference": pinned, "is_signed": true }));
    let pulled = object(&["pull", &reference, "-o", "pulled.wasm"]);
    let expected = json!({ "file": "pulled.wasm", "reference": pinned, "sha256": sha256 });
    assert_eq!(pulled, expected);
    let verified = object(&["verify", "pulled.wasm", "--signed-by", &key]);
    assert_eq!(
        (&verified["file"], &verified["is_valid"]),
        (&json!("pulled.wasm"), &json!(true))
    );
    assert!(verified["comment"].is_string(), "{verified}");
    let refused = object(&["verify", "pulled.wasm", "--signed-by", &other]);
    assert_eq!(refused, json!({ "file": "pulled.wasm", "is_valid": false }));

    home.configure(&reference, "");
    for is_new in [true, false] {
        let pulled = object(&["pull", "--config", "toolhost.toml"]);
        let expected = json!({ "plugin": "greeter", "reference": pinned, "is_new": is_new });
        assert_eq!(pulled, expected);
    }
}

#[needs(program = "docker-registry")]
#[test]
fn a_registry_that_refuses_says_so() {
    let home = Home::new();
    let registry = Registry::start(home.0.path(), true);
    let reference = format!("oci://{}/acme/greeter:1", registry.address);
    home.plugin("1.0.0", "first");
    home.done(&["plugin", "pack", "plugin"]);
    let push = [
        "plugin",
        "push",
        "plugin/build/greeter-1.0.0.wasm",
        &reference,
    ];
    let error = home.fails(&push);
    assert!(error.contains("--password-file"), "{error}");
    std::fs::write(home.path("password"), "pass word\n").unwrap();
    set_mode(&home.path("password"), 0o600);
    let ada = ["--username", "ada", "--password-file", "password"];
    home.done(&[&push[..], &ada].concat());

    // The same as `docker login` leaves it.
    std::fs::create_dir(home.path(".docker")).unwrap();
    let login = json!({ "auths": { &registry.address: { "auth": "YWRhOnBhc3Mgd29yZA==" } } });
    std::fs::write(home.path(".docker/config.json"), login.to_string()).unwrap();
    home.done(&["plugin", "pull", &reference, "-o", "pulled.wasm"]);
    let missing = format!("{reference}.9");
    let error = home.fails(&["plugin", "pull", &missing]);
    assert!(error.contains("there is no oci://"), "{error}");
    let address = registry.address.clone();
    drop(registry);
    let error = home.fails(&["plugin", "pull", &reference]);
    assert!(
        error.contains(&address) && error.contains("refused"),
        "{error}"
    );
}

#[test]
fn versions_are_compared() {
    let home = Home::new();
    home.plugin("1.0.0", "first");
    home.done(&["plugin", "pack", "plugin"]);
    home.plugin("1.1.0", "other");
    home.done(&["plugin", "pack", "plugin"]);
    let [old, new] =
        ["1.0.0", "1.1.0"].map(|version| format!("plugin/build/greeter-{version}.wasm"));
    assert!(
        home.done(&["plugin", "diff", &old, &old])
            .contains("the same")
    );
    let differ = home.run(&["plugin", "diff", &old, &new]);
    assert_eq!(differ.status.code(), Some(1));
    let text = String::from_utf8(differ.stdout).unwrap();
    assert!(
        text.contains("~ says version  \"1.0.0\" -> \"1.1.0\""),
        "{text}"
    );

    std::fs::write(home.path("processes.wasm"), guest("process_user")).unwrap();
    let differ = home.run(&["plugin", "diff", &old, "processes.wasm"]);
    let text = String::from_utf8(differ.stdout).unwrap();
    assert!(
        text.lines().any(|line| line == "+ needs processes"),
        "{text}"
    );
    let is_import = |line: &&str| line.starts_with("+ imports ");
    let mut imports = text.lines().filter(is_import).peekable();
    assert!(
        imports.peek().is_some() && !imports.any(|line| line.ends_with("true")),
        "{text}"
    );
    let differ = home.run(&["plugin", "diff", &old, "processes.wasm", "--json"]);
    let shown: Value = serde_json::from_slice(&differ.stdout).unwrap();
    let paths = shown["changes"].as_array().unwrap().iter();
    let paths: Vec<_> = paths
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&"needs processes"), "{paths:?}");
    let again = home.fails(&["plugin", "pack", "plugin", "-o", "/nowhere/x.wasm"]);
    assert!(again.contains("/nowhere/x.wasm"), "{again}");
}
