//! The objects that `--json` prints instead of text for people.

use std::os::unix::ffi::OsStrExt as _;

use super::*;

/// Runs the program in a directory, and returns its exit code, its object, and the length of what it said besides.
fn object(directory: &Path, arguments: &[&str]) -> (i32, Value, usize) {
    let mut command = client();
    command.current_dir(directory).args(arguments).arg("--json");
    let output = command
        .env("TOOLHOST_STATE_DIR", shared_state("cli"))
        .output()
        .unwrap();
    let code = output.status.code().unwrap();
    (code, json_of(&output), output.stderr.len())
}

#[test]
fn a_token_stands_beside_its_section_of_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let options = [
        "token", "support", "--chats", "support-", "--tool", "execute",
    ];
    let (code, made, said) = object(directory.path(), &options);
    assert_eq!((code, said, &made["name"]), (0, 0, &json!("support")));
    let file = directory.path().join("toolhost.toml");
    std::fs::write(&file, made["configuration"].as_str().unwrap()).unwrap();
    let check = ["config", "check", file.to_str().unwrap()];
    let (code, checked, _) = object(directory.path(), &check);
    let nothing = json!({ "file": file, "problems": [] });
    assert_eq!((code, checked), (0, nothing));
    let configuration = made["configuration"].as_str().unwrap();
    assert!(configuration.contains(made["sha256"].as_str().unwrap()));
    let token = made["token"].as_str().unwrap();
    assert!(token.len() > 20 && !configuration.contains(token), "{made}");
}

#[test]
fn problems_of_a_configuration_have_places_and_keys() {
    let directory = tempfile::tempdir().unwrap();
    let text = "listen = 7411\n\n[tokens.a]\nfile = 'none'\nscopes = ['call']\n";
    std::fs::write(directory.path().join("a.toml"), text).unwrap();
    let check = ["config", "check", "a.toml"];
    let (code, checked, said) = object(directory.path(), &check);
    assert!(code == 2 && said > 0);
    let problem = &checked["problems"][0];
    assert_eq!(
        (&problem["line"], &problem["column"], &problem["key"]),
        (&json!(1), &json!(1), &json!("listen"))
    );
    assert!(problem["text"].is_string(), "{checked}");
    // These are found once the file itself is valid.
    let (_, text) = text.split_once('\n').unwrap();
    std::fs::write(directory.path().join("a.toml"), text).unwrap();
    let (code, checked, _) = object(directory.path(), &check);
    let keys = checked["problems"].as_array().unwrap().iter();
    let keys: Vec<_> = keys.map(|problem| &problem["key"]).collect();
    assert_eq!((code, keys), (2, vec![&json!("tokens.a.file")]));
}

#[tokio::test]
async fn a_store_is_looked_after() {
    let mut site = Site::new();
    site.process("a", "true").await;
    site.serving.signal(nix::sys::signal::Signal::SIGTERM);
    let state = |arguments: &[&str]| {
        let output = site.run(&[&["state"], arguments, &["--json"]].concat());
        (output.status.code(), json_of(&output))
    };
    let path = json!(site.path(".state"));
    let (code, checked) = state(&["check"]);
    assert_eq!(
        (code, &checked["state_dir"], &checked["problems"]),
        (Some(0), &path, &json!([]))
    );
    assert!(checked["bytes"].as_u64().unwrap() > 0);
    let (code, compacted) = state(&["compact"]);
    assert_eq!((code, &compacted["state_dir"]), (Some(0), &path));
    assert!(compacted["bytes_before"].is_u64() && compacted["bytes"].is_u64());
    let (code, copied) = state(&["backup", "copy.db"]);
    let bytes = site.path("copy.db").metadata().unwrap().len();
    let copy = json!({ "file": "copy.db", "bytes": bytes });
    assert_eq!((code, copied), (Some(0), copy));
    let (_, whole) = state(&["recover"]);
    let nothing = json!({ "state_dir": path, "problems": [], "recovered": null });
    assert_eq!(whole, nothing);

    let store = site.path(".state/store.db");
    let mut bytes = std::fs::read(&store).unwrap();
    // In the header, which says whose file it is.
    bytes[68] ^= 1;
    std::fs::write(&store, bytes).unwrap();
    let (code, checked) = state(&["check"]);
    assert_eq!(code, Some(1), "{checked}");
    assert!(!checked["problems"].as_array().unwrap().is_empty());
    let (code, recovered) = state(&["recover"]);
    assert_eq!(code, Some(0), "{recovered}");
    assert!(!recovered["problems"].as_array().unwrap().is_empty());
    let found = &recovered["recovered"];
    assert!(found["calls"].is_u64() && found["is_complete"].is_boolean());
    assert!(Path::new(found["damaged"].as_str().unwrap()).exists());
}

/// The bytes of a path need not be UTF-8, and those of JSON must be.
#[test]
fn any_folder_can_be_named() {
    let directory = tempfile::tempdir().unwrap();
    let folder = std::ffi::OsStr::from_bytes(b"a\xff");
    for command in [&["new", "first", "--lang", "c", "--dir"][..], &["wit"]] {
        let mut run = client();
        run.current_dir(directory.path())
            .arg("plugin")
            .args(command);
        let output = run.arg(folder).arg("--json").output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut lines = text(&output.stdout).lines();
        let first: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let named = first.get("folder").or(first.get("file"));
        let named = named.unwrap().as_str().unwrap();
        assert!(named.starts_with("a\u{fffd}"), "{first}");
    }
    assert!(directory.path().join(folder).join("world.wit").exists());
}
