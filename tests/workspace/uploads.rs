//! Files that come in parts, and removals.

use toolhost_workspace::Context;
use toolhost_workspace::files::{Error as FileError, MAX_PART, MAX_READ, Precondition};
use toolhost_workspace::operation::{
    AppendUpload, BeginUpload, CommitUpload, DropUpload, RemoveFile,
};

use super::*;

fn begin(path: &str, when: Precondition) -> BeginUpload {
    BeginUpload {
        upload: "an-id".into(),
        path: path.into(),
        when,
    }
}

#[tokio::test]
async fn parts_become_a_file() {
    let place = Place::new().await;
    let (workspace, context) = (&place.workspace, Context::default());
    let part = vec![b'x'; MAX_PART];
    workspace
        .run(&context, begin("deep/file", Precondition::Absent))
        .await
        .unwrap();
    // Every part twice, as if an answer had been lost.
    for number in (0..6_u64).flat_map(|number| [number, number]) {
        let append = AppendUpload {
            upload: "an-id".into(),
            offset: number * MAX_PART as u64,
            data: part.clone(),
        };
        workspace.run(&context, append).await.unwrap();
    }
    let size = 6 * MAX_PART as u64;
    let commit = CommitUpload {
        upload: "an-id".into(),
        path: "deep/file".into(),
        size,
        content: String::new(),
    };
    let written = workspace.run(&context, commit).await.unwrap();
    assert_eq!(
        (written.size, &written.path),
        (size, &workspace.root().join("deep/file"))
    );
    let read = workspace.read_file("deep/file".into(), size - 5, MAX_READ, Arc::default());
    let read = read.await.unwrap();
    assert_eq!(
        (read.data, read.version),
        (b"xxxxx".to_vec(), written.version)
    );
    let again = workspace
        .run(&context, begin("deep/file", Precondition::Absent))
        .await;
    assert!(matches!(again, Err(FileError::Changed(_))), "{again:?}");
}

#[tokio::test]
async fn what_is_dropped_or_removed_is_gone() {
    let place = Place::new().await;
    let (workspace, context) = (&place.workspace, Context::default());
    workspace
        .run(&context, begin("new/file", Precondition::Any))
        .await
        .unwrap();
    assert!(place.root.path().join("new").exists());
    for _ in 0..2 {
        let upload = "an-id".into();
        workspace
            .run(&context, DropUpload { upload })
            .await
            .unwrap();
    }
    assert!(!place.root.path().join("new").exists());
    std::fs::create_dir_all(place.root.path().join("tree/deep")).unwrap();
    std::fs::write(place.root.path().join("tree/deep/file"), "x").unwrap();
    let remove = async |recursive| {
        let remove = RemoveFile {
            path: "tree".into(),
            recursive,
            when: Precondition::Any,
        };
        workspace.run(&context, remove).await
    };
    assert_eq!(remove(false).await, Err(FileError::NotEmpty));
    assert_eq!(remove(true).await, Ok(()));
    assert_eq!(remove(true).await, Err(FileError::NotFound));
    assert!(!place.root.path().join("tree").exists());
}
