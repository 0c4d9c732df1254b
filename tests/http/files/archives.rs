//! Archives of directories, unpacked by the programs that people have.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

/// Makes a tree with files of all kinds. Returns the files that an archive of it has: path, content, and whether it can be run.
fn tree(root: &Path) -> Vec<(String, Vec<u8>, bool)> {
    let long = "n".repeat(120);
    let deep = format!("{long}/{long}/{long}");
    let files = vec![
        ("a.txt".to_owned(), b"text".to_vec(), false),
        ("empty".to_owned(), Vec::new(), false),
        ("run.sh".to_owned(), b"#!/bin/sh\n".to_vec(), true),
        ("sub/large".to_owned(), bytes((6 << 20) + 1), false),
        (format!("{deep}/ä ö"), bytes(512), false),
    ];
    for (path, content, is_executable) in &files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let mode = if *is_executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    std::fs::create_dir(root.join("nothing")).unwrap();
    std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
    files
}

#[tokio::test]
async fn an_archive_has_all_of_a_directory() {
    let (setup, server) = server().await;
    let made = setup.root().join("made");
    std::fs::create_dir(&made).unwrap();
    let files = tree(&made);
    let python = ["python3", "-m", "zipfile", "-e"];
    for (query, accept, kind, unpack) in [
        (
            "?archive=tar",
            "*/*",
            "application/x-tar",
            &["tar", "-xf"][..],
        ),
        (
            "",
            "application/x-tar",
            "application/x-tar",
            &["tar", "-xf"],
        ),
        (
            "?archive=tar.gz",
            "*/*",
            "application/gzip",
            &["tar", "-xzf"],
        ),
        ("?archive=zip", "*/*", "application/zip", &python),
    ] {
        let answer = get(&server, &format!("/made{query}"), &[("accept", accept)]).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, kind));
        let disposition = answer.header("content-disposition");
        assert!(disposition.starts_with("attachment; filename=\"made."));
        let directory = tempfile::tempdir().unwrap();
        let (archive, out) = (
            directory.path().join("archive"),
            directory.path().join("out"),
        );
        std::fs::write(&archive, &answer.body).unwrap();
        std::fs::create_dir(&out).unwrap();
        let is_zip = kind == "application/zip";
        let mut command = Command::new(unpack[0]);
        command.args(&unpack[1..]).arg(&archive);
        if !is_zip {
            command.arg("-C");
        }
        let Ok(output) = command.arg(&out).output() else {
            assert!(is_zip, "there is always a tar");
            continue;
        };
        assert!(output.status.success(), "{kind}: {output:?}");
        for (path, content, is_executable) in &files {
            let path = out.join("made").join(path);
            let unpacked = std::fs::read(&path).unwrap();
            assert!(unpacked == *content, "{kind}: {}", path.display());
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            // Python's module keeps no modes.
            let is_kept = (mode & 0o100 != 0) == *is_executable;
            assert!(is_zip || is_kept, "{}", path.display());
        }
        assert!(out.join("made/nothing").is_dir());
        for link in ["link", "out"] {
            let found = out.join("made").join(link).symlink_metadata();
            assert!(found.is_err(), "{link}");
        }
    }
    let of_file = get(&server, "/made/a.txt?archive=tar", &[]).await;
    assert_eq!(of_file.code(), (409, "file_conflict".into()));
}

/// Windows takes a backslash for a separator.
#[tokio::test]
async fn a_zip_archive_has_no_names_that_lead_out() {
    let (setup, server) = server().await;
    let made = setup.root().join("made");
    std::fs::create_dir(&made).unwrap();
    std::fs::write(made.join("b\\..\\..\\c"), "").unwrap();
    let archive = get(&server, "/made?archive=zip", &[]).await.body;
    let has = |name: &[u8]| archive.windows(name.len()).any(|found| found == name);
    assert!(has(b"b_.._.._c") && !has(b"b\\"));
}

/// The state of the host is in no archive and no list, and cannot be removed with what is around it.
#[tokio::test]
async fn closed_paths_are_left_out() {
    let base = tempfile::tempdir().unwrap();
    let state = crate::harness::with_code(base.path().join("in/state"), None);
    let host = toolhost_core::Host::builder(base.path()).state_dir(&state);
    let setup = Setup::of(host.start().await.unwrap(), base);
    let server = Server::start(setup.host.clone()).await;
    std::fs::write(setup.root().join("in/file"), "x").unwrap();
    for path in ["/in/state", "/in/state/cache.key", "/in/state/new"] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let answer = send(&server, method.clone(), path, &[], "x").await;
            let expected = (403, "file_refused".into());
            assert_eq!(answer.code(), expected, "{method} {path}");
        }
    }
    let listed = get(&server, "/in", &[]).await.json();
    let seen = (&listed["total"], &listed["entries"][0]["name"]);
    assert_eq!(seen, (&json!(1), &json!("file")));
    let archive = get(&server, "?archive=tar", &[]).await;
    let text = String::from_utf8_lossy(&archive.body).into_owned();
    assert!(text.contains("in/file") && !text.contains("cache.key"));
    let removed = send(&server, Method::DELETE, "/in?recursive", &[], "").await;
    assert_eq!(removed.code(), (409, "file_conflict".into()));
    let detail = removed.json()["detail"].to_string();
    assert!(detail.contains("closed to tools"), "{detail}");
    assert!(state.join("cache.key").exists());
    assert!(!setup.root().join("in/file").exists());
    server.stop().await;
}
