//! Tests of the engine that runs the programs of the operator.

use std::path::Path;

use serde_json::{Value, json};
use toolhost_state::workspace_name::WorkspaceName;

use super::*;
use crate::{Connect, Keys};

fn machine() -> Machine {
    let (keys, workspace) = (Keys::new(&[1; 32]), "team/a".parse::<WorkspaceName>());
    let workspace = workspace.unwrap();
    Machine {
        id: keys.id(&workspace),
        template: "vm".to_owned(),
        parameters: [("size".to_owned(), json!(2))].into_iter().collect(),
        connect: Connect {
            socket: "/run/host.sock".into(),
            token: keys.token(&workspace),
        },
        workspace,
    }
}

/// Programs that keep the state of a machine as a file, and note what they got.
fn engine(directory: &Path) -> Commands {
    let program = |script: &str| {
        let script = format!("cd '{}'; {script}", directory.display());
        ["sh", "-c", &script].map(str::to_owned).to_vec()
    };
    let status = r#"[ -e made ] && { [ -e runs ] && echo '{"state":"running","since":"1"}' || echo '{"state":"stopped"}'; } || echo '{"state":"missing"}'"#;
    Commands::new(Programs {
        create: program("cat > made; echo made"),
        start: program("touch runs; echo starts >&2"),
        stop: program("rm -f runs"),
        remove: program("rm -f made runs"),
        status: program(status),
        program_seconds: 600,
    })
}

#[tokio::test]
async fn the_programs_get_the_machine_and_say_how_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, machine, log) = (engine(directory.path()), machine(), Log::default());
    let status = async || engine.status(&machine, &log).await.unwrap();
    assert_eq!(status().await, Standing::Missing);
    engine.create(&machine, &log).await.unwrap();
    assert_eq!(status().await, Standing::Stopped);
    engine.start(&machine, &log).await.unwrap();
    let since = "1".to_owned();
    assert_eq!(status().await, Standing::Running { since });
    let got = std::fs::read(directory.path().join("made")).unwrap();
    let got: Value = serde_json::from_slice(&got).unwrap();
    let token = machine.connect.token.reveal();
    assert_eq!(
        got,
        json!({
            "id": machine.id, "workspace": "team/a", "template": "vm", "parameters": { "size": 2 },
            "connect": { "url": "unix:/run/host.sock", "name": "team/a", "token": token },
        })
    );
    for _ in 0..2 {
        engine.stop(&machine, &log).await.unwrap();
        assert_eq!(status().await, Standing::Stopped);
    }
    engine.remove(&machine, &log).await.unwrap();
    assert_eq!(status().await, Standing::Missing);
    assert_eq!(log.text(), "made\nstarts\n");
}

#[tokio::test]
async fn a_status_that_is_none_is_an_error() {
    for (answer, said) in [
        ("", "EOF"),
        ("running", "expected"),
        (r#"{"state":"paused"}"#, "unknown variant `paused`"),
    ] {
        let mut programs = engine(Path::new("/")).0;
        programs.status = ["printf", "%s", answer].map(str::to_owned).to_vec();
        let (engine, log) = (Commands::new(programs), Log::default());
        let error = engine.status(&machine(), &log).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("printf answered") && text.contains(said),
            "{text}"
        );
        assert_eq!(log.last(), text);
    }
}

#[tokio::test]
async fn a_program_that_is_missing_is_named() {
    let mut programs = engine(Path::new("/")).0;
    programs.start = vec!["/nowhere/start".to_owned()];
    let (engine, log) = (Commands::new(programs), Log::default());
    let error = engine.start(&machine(), &log).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/start cannot be run: "),
        "{error}"
    );
}
