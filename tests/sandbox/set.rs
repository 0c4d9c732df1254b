//! The set of hostile guests that is part of the program, and `toolhost plugin attack`, which runs and writes it.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use serde_json::{Value, json};

use super::expected;
use crate::guest::{component, guest};
use crate::harness::{program, shared_state};

/// What the first line of a guest says about it.
fn tries(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests");
    let text = std::fs::read_to_string(directory.join(format!("{name}.wat"))).unwrap();
    let line = text.lines().next().unwrap();
    line.strip_prefix(";; ").unwrap().to_owned()
}

/// A line of JSON with all cases, and then their components.
fn set() -> Vec<u8> {
    let table: Vec<Value> = serde_json::from_str(include_str!("../guests/expected.json")).unwrap();
    let (mut index, mut components) = (Vec::new(), Vec::new());
    for mut case in table {
        let name = case["name"].as_str().unwrap().to_owned();
        let component = guest(&name);
        case["tries"] = tries(&name).into();
        case["size"] = component.len().into();
        index.push(case);
        components.extend(component);
    }
    let mut set = Value::from(index).to_string().into_bytes();
    set.push(b'\n');
    set.extend(components);
    set
}

/// `UPDATE_GUESTS=1` makes it anew.
#[test]
fn the_set_in_the_program_has_the_guests_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/set.gz");
    let made = set();
    if std::env::var_os("UPDATE_GUESTS").is_some() {
        let mut compressed = Vec::new();
        let mut encoder = GzEncoder::new(made.as_slice(), Compression::best());
        encoder.read_to_end(&mut compressed).unwrap();
        std::fs::write(&path, compressed).unwrap();
    }
    let mut kept = Vec::new();
    let file = std::fs::File::open(&path).unwrap();
    GzDecoder::new(file).read_to_end(&mut kept).unwrap();
    assert!(
        kept == made,
        "tests/guests/set.gz is not made of the guests: run this test with UPDATE_GUESTS=1, and build again"
    );
}

#[test]
fn every_guest_that_can_attack_alone_is_in_the_set() {
    // These need another chat with a process, and an approval hook.
    let others = ["attack", "prelude", "chat_spy", "false_promise"];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests");
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|extension| extension == "wat") && !others.contains(&name) {
            assert_eq!(expected::of(name).name, name);
        }
    }
}

fn attack(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(directory)
        .arg("--state-dir")
        .arg(shared_state("cli"))
        .args(["--log", "off", "plugin", "attack"])
        .args(arguments);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// One guest for each way to end, and the limit that each of them must reach. The other tests here run all guests.
#[test]
fn guests_of_the_set_end_as_they_must() {
    let directory = tempfile::tempdir().unwrap();
    let names = [
        "well_behaved",
        "giant_error",
        "endless_loop",
        "handle_hoard",
        "endless_sleep",
        "trap",
        "giant_memory",
        "orphan_maker",
    ];
    let only: Vec<String> = names.iter().map(|name| format!("--only={name}")).collect();
    let mut arguments: Vec<&str> = only.iter().map(String::as_str).collect();
    let output = attack(directory.path(), &arguments);
    let table = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{table}{}",
        text(&output.stderr)
    );
    insta::assert_snapshot!(table);
    arguments.extend(["--json"]);
    let output = attack(directory.path(), &arguments);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], true, "{report}");
    let guests = report["guests"].as_array().unwrap();
    assert_eq!(guests.len(), names.len());
    for guest in guests {
        assert_eq!(guest["host"]["came_back"], true, "{guest}");
        assert_eq!(
            guest["attempts"][0]["ended"]["ends"], guest["expected"]["ends"],
            "{guest}"
        );
    }
}

#[test]
fn the_set_can_be_written_for_other_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let output = attack(directory.path(), &["--write", "guests"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read(directory.path().join("guests").join(name)).unwrap();
    let expected: Value = serde_json::from_slice(&read("expected.json")).unwrap();
    let guests = expected["guests"].as_array().unwrap();
    assert_eq!(guests.len(), expected::all().len());
    for case in guests {
        let name = case["name"].as_str().unwrap();
        assert!(read(&format!("{name}.wasm")) == guest(name), "{name}");
        assert!(
            case["tries"].is_string() && case.get("size").is_none(),
            "{case}"
        );
    }
    let looping = guests.iter().find(|case| case["name"] == "endless_loop");
    assert_eq!(
        looping.unwrap(),
        &json!({ "name": "endless_loop", "tries": tries("endless_loop"), "ends": "limit", "limit": "guest_time" })
    );
}

/// A component of the user: its examples and hostile arguments, and the limits that stop some of them.
#[test]
fn a_component_is_attacked_with_its_tools() {
    let directory = tempfile::tempdir().unwrap();
    let memory = ";; Takes memory.\n(func $attack (result i32)\n(loop $more (drop (memory.grow (i32.const 1000))) (br $more)) i32.const 288)";
    let bytes = component("mine", memory.into());
    std::fs::write(directory.path().join("mine.wasm"), bytes).unwrap();
    let output = attack(directory.path(), &["mine.wasm"]);
    let table = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{table}{}",
        text(&output.stderr)
    );
    let stopped = table.lines().filter(|line| line.starts_with("limit "));
    assert_eq!(stopped.count(), 2, "{table}");
    assert!(table.contains("mine.wasm: 2 limit\n"), "{table}");
}

#[test]
fn bad_usage_exits_with_2() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["none.wasm"][..],
        &["--only", "nobody"],
        &["--write"],
        &["--set", "x.wasm"],
    ] {
        let output = attack(directory.path(), arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}
