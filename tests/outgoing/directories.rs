//! Directories that are granted to a plugin.

use std::path::Path;

use toolhost_core::{Grants, Options, Preopen};
use toolhost_plugin::{Engine, Limits, LoadError, Plugin};
use toolhost_state::closed::Closed;

use super::guests::{host, reply, visitor};

fn preopen(directory: &Path, write: bool) -> Grants {
    let mut grants = Grants::default();
    grants.preopens = vec![Preopen {
        directory: directory.into(),
        name: "/data".into(),
        write,
    }];
    grants
}

#[tokio::test]
async fn a_directory_is_read_and_written_as_it_was_granted() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("file"), "text").unwrap();
    let reader = host("directory", preopen(&inner, false), Limits::default()).await;
    assert_eq!(reply(&reader, "rfile").await, "text");
    for refused in ["wfile", "wnew", "slink"] {
        let got = reply(&reader, refused).await;
        assert!(got.starts_with("error "), "{refused}: {got}");
    }
    assert_eq!(std::fs::read_to_string(inner.join("file")).unwrap(), "text");
    assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 1);
    let writer = host("directory", preopen(&inner, true), Limits::default()).await;
    assert_eq!(reply(&writer, "wfile").await, "done");
    assert_eq!(
        std::fs::read_to_string(inner.join("file")).unwrap(),
        "written"
    );
    // The directory is the one that was granted, whatever takes its name.
    std::fs::rename(&inner, directory.path().join("moved")).unwrap();
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("file"), "another").unwrap();
    assert_eq!(reply(&reader, "rfile").await, "written");
    let nothing = host("directory", Grants::default(), Limits::default()).await;
    assert_eq!(reply(&nothing, "rfile").await, "none");
}

#[tokio::test]
async fn nothing_leads_out_of_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir_all(inner.join("below")).unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::os::unix::fs::symlink(&secret, inner.join("absolute")).unwrap();
    std::os::unix::fs::symlink("../secret", inner.join("relative")).unwrap();
    std::os::unix::fs::symlink("..", inner.join("up")).unwrap();
    let setup = host("directory", preopen(&inner, true), Limits::default()).await;
    for path in [
        "../secret",
        "below/../../secret",
        "absolute",
        "relative",
        "up/secret",
        secret.to_str().unwrap(),
        "/secret",
        "/etc/passwd",
        "./../secret",
        "below/../up/secret",
    ] {
        for what in ["r", "w"] {
            let got = reply(&setup, &format!("{what}{path}")).await;
            assert!(got.starts_with("error "), "{what}{path}: {got}");
        }
    }
    // A link of its own leads no further.
    reply(&setup, "sown").await;
    assert!(reply(&setup, "rown/secret").await.starts_with("error "));
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
}

#[tokio::test]
async fn directories_that_cannot_be_granted_keep_a_plugin_from_loading() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    std::fs::create_dir_all(state.join("cache")).unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink(&state, directory.path().join("link")).unwrap();
    let engine = Engine::new(None).unwrap().closing(Closed::new([state]));
    let refused = async |name: &str| {
        let options = Options {
            grants: preopen(&directory.path().join(name), false),
            ..Options::new("visitor")
        };
        match Plugin::load(&engine, &visitor("directory"), options).await {
            Err(LoadError::Preopen { problem, .. }) => problem,
            other => panic!("{name}: {other:?}"),
        }
    };
    for state in [
        "state",
        "state/cache",
        "link",
        "link/cache",
        ".",
        "state/..",
        "link/../state",
    ] {
        assert!(
            refused(state)
                .await
                .contains("closed to tools and commands"),
            "{state}"
        );
    }
    assert!(refused("missing").await.contains("No such file"));
    assert!(refused("file").await.contains("Not a directory"));
}
