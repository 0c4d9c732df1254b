//! Closed paths: every way to a key or a file of the host.

use std::os::unix::fs::symlink;

use toolhost_state::closed::REFUSAL;

use super::*;

/// A closed path is refused by every way, and also if there is no such file.
#[test]
fn closed_paths_are_closed_by_every_way() {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().canonicalize().unwrap().join("home");
    let path = |name: &str| home.join(name);
    for directory in [".ssh", ".config/gh", "project", "dots/aws"] {
        fs::create_dir_all(path(directory)).unwrap();
    }
    let secrets = [".ssh/id", ".config/gh/hosts.yml", "dots/aws/key", ".netrc"];
    for secret in secrets {
        fs::write(path(secret), "secret").unwrap();
    }
    symlink("dots/aws", path(".aws")).unwrap();
    symlink(path(".ssh"), path("project/link")).unwrap();
    symlink("../.netrc", path("project/netrc")).unwrap();
    symlink("/proc/self/root", path("project/root")).unwrap();
    let later = [".config/sops", ".vault-token", "new/deep/key"];
    let all = [".ssh", ".config/gh", ".aws", ".netrc"]
        .into_iter()
        .chain(later);
    let closed = Closed::new(all.map(path));
    let whole = Files::open(&Config::new(&home), &closed).unwrap();
    let above = Files::open(&Config::new("/"), &closed).unwrap();
    let other = Config {
        roots: vec![home.clone()],
        ..Config::new(base.path())
    };
    let other = Files::open(&other, &closed).unwrap();
    let project = Files::open(&Config::new(path("project")), &closed).unwrap();
    let relative = [
        ".ssh/id",
        ".ssh",
        ".ssh/",
        ".ssh/.",
        "./.ssh//id",
        "project/../.ssh/id",
        "project/link/id",
        "project/link/authorized_keys",
        "project/netrc",
        ".ssh/authorized_keys",
        ".ssh/new/deep",
        ".config/gh/hosts.yml",
        ".aws/key",
        "dots/aws/key",
        "dots/../dots/aws/new",
        ".netrc",
        ".NETRC",
        // These do not exist.
        ".config/sops",
        ".config/sops/age/keys.txt",
        ".vault-token",
        "new/deep/key",
        "new/deep/key/below",
    ];
    for name in relative {
        let absolute = path(name).display().to_string();
        for (files, path) in [
            (&whole, name),
            (&whole, &absolute),
            (&above, &absolute),
            (&other, &absolute),
        ] {
            is_closed_to_all(files, path);
        }
    }
    is_closed_to_all(
        &above,
        &format!("{}/project/root{}/.ssh/id", home.display(), home.display()),
    );
    // From a workspace that has only a link, the path is outside or closed.
    for name in ["link/id", "link/new", "netrc", "../.ssh/id"] {
        assert!(project.read(name, 0, 10).is_err(), "{name}");
        assert!(
            project
                .write_all(vec![write(name, "x", Precondition::Any)])
                .is_err(),
            "{name}"
        );
    }
    // The files beside a closed path are open.
    for name in [".config/new", "new/deep/other", ".ssh2", "dots/file"] {
        let write = write(name, "x", Precondition::Any);
        assert!(whole.write_all(vec![write]).is_ok(), "{name}");
        assert_eq!(whole.read(name, 0, 10).unwrap().data, b"x", "{name}");
    }
    // A directory shows the names in it, and no more.
    let (listed, _) = whole
        .read_directory(".", None, 100, &Work::default())
        .unwrap();
    assert!(listed.iter().any(|entry| entry.name == ".ssh"));
    // A file that was replaced or moved.
    fs::rename(path(".ssh"), path("moved")).unwrap();
    fs::create_dir(path(".ssh")).unwrap();
    fs::write(path(".ssh/id"), "secret").unwrap();
    fs::hard_link(path(".netrc"), path("hard")).unwrap();
    fs::write(path("other"), "secret").unwrap();
    fs::rename(path("other"), path(".netrc")).unwrap();
    for name in [".ssh/id", "moved/id", ".netrc", "hard"] {
        is_closed_to_all(&whole, name);
    }
    assert_eq!(fs::read(path("moved/id")).unwrap(), b"secret");
    for error in [path(".ssh"), path(".config/gh")].map(|root| whole.restricted(&[root])) {
        assert!(matches!(error, Err(OpenError::Closed(_))), "{error:?}");
    }
}

fn is_closed_to_all(files: &Files, path: &str) {
    let denied = |error: &Error| matches!(error, Error::Denied(text) if text == REFUSAL);
    let work = Work::default();
    assert!(
        files.read(path, 0, 10).is_err_and(|error| denied(&error)),
        "{path}"
    );
    assert!(
        files.metadata(path).is_err_and(|error| denied(&error)),
        "{path}"
    );
    assert!(
        files.resolve(path).is_err_and(|error| denied(&error)),
        "{path}"
    );
    let listed = files.read_directory(path, None, 10, &work);
    assert!(listed.is_err_and(|error| denied(&error)), "{path}");
    let skipped = files.skip_lines(path, 0, 1, &work);
    assert!(skipped.is_err_and(|error| denied(&error)), "{path}");
    for when in [Precondition::Any, Precondition::Absent] {
        let written = files.write_all(vec![write(path, "x", when)]);
        assert!(written.is_err_and(|(_, error)| denied(&error)), "{path}");
    }
}
