//! Tests of the provider of directories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use toolhost_state::closed::Closed;
use toolhost_store::HostState;

use super::*;
use crate::files;
use crate::process::Config;

/// The default workspace, and a root beside it.
pub(super) async fn local(base: &Path, roots: Vec<PathBuf>) -> Arc<Local> {
    let workspace = base.join("work");
    fs::create_dir_all(&workspace).unwrap();
    let state = HostState::temporary(base).unwrap();
    let files = files::Config {
        roots,
        ..files::Config::new(&workspace)
    };
    Arc::new(
        Local::open(Config::new(workspace), files, &state)
            .await
            .unwrap(),
    )
}

pub(super) fn claim(root: &Path) -> Result<ClaimedDirectories, OpenDirectoriesError> {
    ClaimedDirectories::claim(DirectoriesConfig {
        root: root.to_path_buf(),
        ..DirectoriesConfig::default()
    })
}

pub(super) fn name(text: &str) -> WorkspaceName {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_root_that_others_can_change_or_use_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("deep/root");
    let claimed = claim(&root).unwrap();
    let second = claim(&root).unwrap_err();
    assert!(
        matches!(second, OpenDirectoriesError::Locked { .. }),
        "{second}"
    );
    drop(claimed);
    fs::set_permissions(&root, PermissionsExt::from_mode(0o777)).unwrap();
    let shared = claim(&root).unwrap_err();
    assert!(
        matches!(shared, OpenDirectoriesError::Shared { .. }),
        "{shared}"
    );
    fs::set_permissions(&root, PermissionsExt::from_mode(0o700)).unwrap();
    for further in [base.path().join("deep"), root.join("w")] {
        fs::create_dir_all(&further).unwrap();
        let local = local(base.path(), vec![further]).await;
        let reachable = claim(&root).unwrap().offer(local).unwrap_err();
        assert!(
            matches!(reachable, OpenDirectoriesError::Reachable { .. }),
            "{reachable}"
        );
    }
    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    let unusable = claim(&file).unwrap_err();
    assert!(
        matches!(unusable, OpenDirectoriesError::Unusable { .. }),
        "{unusable}"
    );
}

#[tokio::test]
async fn a_directory_is_made_once_and_removed_with_everything_in_it() {
    let base = tempfile::tempdir().unwrap();
    let (root, outside) = (base.path().join("root"), base.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    let local = local(base.path(), Vec::new()).await;
    let directories = claim(&root).unwrap().offer(local).unwrap();
    let (web, spec) = (name("a/web"), Spec::default());
    let opened = directories.open(&web, &spec).await.unwrap();
    let path = root.canonicalize().unwrap().join("a+web");
    assert_eq!(opened.workspace.root(), path);
    fs::write(path.join("file"), "").unwrap();
    symlink(&outside, path.join("link")).unwrap();
    fs::create_dir(path.join("closed")).unwrap();
    fs::set_permissions(path.join("closed"), PermissionsExt::from_mode(0o0)).unwrap();
    directories.open(&web, &spec).await.unwrap();
    assert!(path.join("file").exists(), "it was not made again");
    directories.remove(&web, &spec).await.unwrap();
    directories.remove(&web, &spec).await.unwrap();
    let left: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["+lock"]);
    assert!(outside.join("kept").exists());
}

#[tokio::test]
async fn a_template_is_copied_as_it_is() {
    let base = tempfile::tempdir().unwrap();
    let template = base.path().join("template");
    fs::create_dir_all(template.join("bin")).unwrap();
    fs::write(template.join("bin/run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(template.join("bin/run"), PermissionsExt::from_mode(0o750)).unwrap();
    symlink("bin/run", template.join("link")).unwrap();
    let pipe = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        template.join("pipe"),
        rustix::fs::FileType::Fifo,
        pipe,
        0,
    )
    .unwrap();
    let config = DirectoriesConfig {
        root: base.path().join("root"),
        templates: [("t".to_owned(), template)].into(),
    };
    let local = local(base.path(), Vec::new()).await;
    let directories = ClaimedDirectories::claim(config)
        .unwrap()
        .offer(local)
        .unwrap();
    let spec = Spec::Directory(DirectorySpec {
        template: Some("t".into()),
        ..DirectorySpec::default()
    });
    // Only what is asked for is made.
    let unmade = directories.open(&name("w"), &spec).await.unwrap_err();
    assert_eq!(unmade, ProviderError::NotMade);
    directories
        .make(&name("w"), &spec, &|workspace| workspace)
        .await
        .unwrap();
    let opened = directories.open(&name("w"), &spec).await.unwrap();
    let root = opened.workspace.root().to_path_buf();
    let run = fs::metadata(root.join("bin/run")).unwrap();
    assert_eq!(run.permissions().mode() & 0o777, 0o750);
    assert_eq!(
        fs::read_link(root.join("link")).unwrap(),
        Path::new("bin/run")
    );
    assert!(!root.join("pipe").exists());
}

/// Its files would be copied to where commands and tools reach them.
#[tokio::test]
async fn a_template_with_a_closed_path_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    for directory in ["work", "home/.ssh", "home/python"] {
        fs::create_dir_all(base.join(directory)).unwrap();
    }
    symlink("home", base.join("link")).unwrap();
    let config = Config {
        closed: Closed::new([base.join("home/.ssh")]),
        ..Config::new(base.join("work"))
    };
    let files = files::Config::new(base.join("work"));
    let state = HostState::temporary(&base).unwrap();
    let local = Arc::new(Local::open(config, files, &state).await.unwrap());
    let offered = |template: &str| {
        let config = DirectoriesConfig {
            root: base.join("root"),
            templates: [("t".to_owned(), base.join(template))].into(),
        };
        let claimed = ClaimedDirectories::claim(config).unwrap();
        claimed.offer(Arc::clone(&local)).map(drop)
    };
    for template in ["home", "link", "home/.ssh", "home/.ssh/below"] {
        let error = offered(template).unwrap_err().to_string();
        assert!(error.contains("the template \"t\" is, contains"), "{error}");
    }
    offered("home/python").unwrap();
}

/// Nothing of such a template is left in a workspace.
#[tokio::test]
async fn a_closed_file_under_another_name_is_not_copied() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    for directory in ["work", "keys", "template/below"] {
        fs::create_dir_all(base.join(directory)).unwrap();
    }
    fs::write(base.join("keys/key"), "secret").unwrap();
    fs::hard_link(base.join("keys/key"), base.join("template/below/file")).unwrap();
    let config = Config {
        closed: Closed::new([base.join("keys/key")]),
        ..Config::new(base.join("work"))
    };
    let files = files::Config::new(base.join("work"));
    let state = HostState::temporary(&base).unwrap();
    let local = Arc::new(Local::open(config, files, &state).await.unwrap());
    let config = DirectoriesConfig {
        root: base.join("root"),
        templates: [("t".to_owned(), base.join("template"))].into(),
    };
    let claimed = ClaimedDirectories::claim(config).unwrap();
    let directories = claimed.offer(local).unwrap();
    let spec = Spec::Directory(DirectorySpec {
        template: Some("t".into()),
        ..DirectorySpec::default()
    });
    let name = name("w");
    let made = directories.make(&name, &spec, &|workspace| workspace);
    let error = made.await.unwrap_err().to_string();
    assert!(
        error.contains("template/below/file: this path is closed to tools and commands"),
        "{error}"
    );
    let unmade = directories.open(&name, &spec).await.unwrap_err();
    assert_eq!(unmade, ProviderError::NotMade);
}
