//! Files.

use super::*;

use toolhost_workspace::files::{
    CpuAccount, Error as FileError, Filter, Kind, MAX_READ, Page, Precondition, Removal, Scope,
    Text, Write,
};
use toolhost_workspace::operation::{FindFiles, SearchText};

fn write(path: &str, data: impl Into<Vec<u8>>, when: Precondition) -> Write {
    Write {
        path: path.into(),
        data: data.into(),
        when,
    }
}

#[tokio::test]
async fn what_was_written_is_read() {
    let place = Place::new().await;
    let workspace = &place.workspace;
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let account = Arc::new(CpuAccount::default());
    let writes = vec![
        write("sub/one", bytes.clone(), Precondition::Absent),
        write("two", "2", Precondition::Any),
    ];
    let written = workspace
        .write_files(writes, Arc::clone(&account))
        .await
        .unwrap();
    assert_eq!(written[0].size, 100_000);
    assert_eq!(written[0].path, workspace.root().join("sub/one"));
    assert!(account.used() > Duration::ZERO, "its work is charged");
    let chunk = workspace
        .read_file("sub/one".into(), 10, MAX_READ, Arc::default())
        .await;
    let chunk = chunk.unwrap();
    assert_eq!((&chunk.data[..], chunk.size), (&bytes[10..], 100_000));
    assert_eq!(chunk.version, written[0].version);
    let found = workspace
        .metadata("sub".into(), Arc::default())
        .await
        .unwrap();
    assert_eq!(found.kind, Kind::Directory);
    let (names, more) = workspace
        .read_directory(".".into(), None, 1, Arc::default())
        .await
        .unwrap();
    assert_eq!((names[0].name.as_str(), more), ("sub", true));
    let after = Some("sub".to_owned());
    let (names, more) = workspace
        .read_directory(".".into(), after, 10, Arc::default())
        .await
        .unwrap();
    assert_eq!(
        (names[0].name.as_str(), names.len(), more),
        ("two", 1, false)
    );
    let resolved = workspace
        .resolve("sub/../sub/one".into(), Arc::default())
        .await;
    assert_eq!(resolved.unwrap(), workspace.root().join("sub/one"));
    let lines = write("lines", "a\nb\nc\n", Precondition::Any);
    workspace
        .write_files(vec![lines], Arc::default())
        .await
        .unwrap();
    let skipped = workspace
        .skip_lines("lines".into(), 0, 2, Arc::default())
        .await
        .unwrap();
    assert_eq!((skipped.offset, skipped.lines), (4, 2));
}

#[tokio::test]
async fn a_precondition_that_does_not_hold_writes_nothing() {
    let place = Place::new().await;
    let workspace = &place.workspace;
    let first = vec![write("a", "1", Precondition::Absent)];
    let written = workspace.write_files(first, Arc::default()).await.unwrap();
    let second = vec![
        write("b", "new", Precondition::Any),
        write("a", "2", Precondition::Absent),
    ];
    let (index, error) = workspace
        .write_files(second, Arc::default())
        .await
        .unwrap_err();
    assert!(
        matches!((index, &error), (1, FileError::Changed(_))),
        "{error:?}"
    );
    assert!(!place.root.path().join("b").exists());
    let version = Precondition::Version(written[0].version.clone());
    let third = vec![write("a", "2", version.clone())];
    workspace.write_files(third, Arc::default()).await.unwrap();
    let again = vec![write("a", "3", version)];
    assert!(workspace.write_files(again, Arc::default()).await.is_err());
}

#[tokio::test]
async fn files_are_written_and_removed_together_or_not() {
    let place = Place::new().await;
    let workspace = &place.workspace;
    let first = vec![
        write("a", "1", Precondition::Absent),
        write("b", "2", Precondition::Absent),
    ];
    let written = workspace.write_files(first, Arc::default()).await.unwrap();
    let removal = |path: &str, version: &str| Removal {
        path: path.into(),
        version: Some(version.into()),
        moved_to: Some(0),
    };
    let new = || vec![write("c", "1", Precondition::Absent)];
    let stale = vec![removal("a", &written[0].version), removal("b", "stale")];
    let failed = workspace.change_files(new(), stale, Arc::default()).await;
    assert!(
        matches!(failed, Err((2, FileError::Changed(_)))),
        "{failed:?}"
    );
    let there = |name: &str| place.root.path().join(name).exists();
    assert!(there("a") && there("b") && !there("c"));
    let all = vec![removal("a", &written[0].version)];
    workspace
        .change_files(new(), all, Arc::default())
        .await
        .unwrap();
    assert!(!there("a") && there("b") && there("c"));
}

#[tokio::test]
async fn nothing_leads_out_and_errors_are_the_same() {
    let place = Place::new().await;
    let workspace = &place.workspace;
    std::os::unix::fs::symlink("/etc/passwd", place.root.path().join("link")).unwrap();
    let read = |path: &str| workspace.read_file(path.into(), 0, 10, Arc::default());
    for outside in ["/etc/passwd", "../x", "link"] {
        let error = read(outside).await.unwrap_err();
        assert!(
            matches!(error, FileError::OutsideWorkspace { .. }),
            "{outside}: {error:?}"
        );
    }
    assert_eq!(read("none").await, Err(FileError::NotFound));
    assert_eq!(read(".").await, Err(FileError::NotAFile));
}

#[tokio::test]
async fn a_restricted_workspace_reaches_its_directories_alone() {
    let place = Place::new().await;
    std::fs::create_dir(place.root.path().join("in")).unwrap();
    std::fs::write(place.root.path().join("in/file"), "in").unwrap();
    std::fs::write(place.root.path().join("out"), "out").unwrap();
    let roots = ["in".into()];
    let restricted = place.workspace.restricted(&roots).await.unwrap();
    let inside = restricted
        .read_file("in/file".into(), 0, 10, Arc::default())
        .await;
    assert_eq!(inside.unwrap().data, b"in");
    assert!(
        restricted
            .read_file("out".into(), 0, 10, Arc::default())
            .await
            .is_err()
    );
    let written = restricted
        .write_files(
            vec![write("out", "changed", Precondition::Any)],
            Arc::default(),
        )
        .await;
    assert!(written.is_err());
    assert!(place.workspace.restricted(&["none".into()]).await.is_err());
}

#[tokio::test]
async fn work_is_bounded_by_the_account() {
    let place = Place::new().await;
    std::fs::write(place.root.path().join("file"), "text").unwrap();
    let account = Arc::new(CpuAccount::limited(Duration::ZERO));
    let read = place
        .workspace
        .read_file("file".into(), 0, 10, account)
        .await;
    assert!(read.is_err(), "{read:?}");
}

#[tokio::test]
async fn files_are_searched() {
    let place = Place::new().await;
    let workspace = &place.workspace;
    let writes = ["sub/b", "a", "other"].map(|path| {
        let text = if path == "other" {
            "no\n"
        } else {
            "one\nneedle\n"
        };
        write(path, text, Precondition::Any)
    });
    let written = workspace.write_files(writes.into(), Arc::default());
    written.await.unwrap();
    let account = Arc::new(CpuAccount::default());
    let (scope, page) = (
        || Scope {
            path: ".".into(),
            ..Scope::default()
        },
        Page { skip: 0, max: 10 },
    );
    let search = SearchText {
        scope: scope(),
        text: Text {
            pattern: "need.e".into(),
            before: 1,
            width: 100,
            ..Text::default()
        },
        page,
    };
    let found = workspace
        .search_text(search, Arc::clone(&account))
        .await
        .unwrap();
    assert!(account.used() > Duration::ZERO, "its work is charged");
    assert_eq!(
        (found.total_files, found.searched, found.more),
        (2, 3, false)
    );
    let file = &found.files[1];
    assert_eq!((file.path.to_str(), file.lines.len()), (Some("sub/b"), 2));
    assert_eq!((file.lines[1].number, &*file.lines[1].text), (2, "needle"));
    let find = FindFiles {
        scope: scope(),
        filter: Filter {
            kind: Some(Kind::File),
            max_size: Some(5),
            ..Filter::default()
        },
        page,
    };
    let found = workspace.find_files(find, Arc::default()).await.unwrap();
    assert_eq!(
        (found.total, found.files[0].path.to_str()),
        (1, Some("other"))
    );
    let wrong = SearchText {
        scope: scope(),
        text: Text {
            pattern: "(".into(),
            ..Text::default()
        },
        page,
    };
    let refused = workspace.search_text(wrong, Arc::default()).await;
    assert!(matches!(refused, Err(FileError::Invalid(_))), "{refused:?}");
}
