//! Tests of what views show, and of their encoding.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::policy::Mode;

/// A workspace and a directory for temporary files, beside each other.
struct Setup {
    directory: TempDir,
    policy: Policy,
    places: Places,
}

impl Setup {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work/.git/hooks", "temporary", "home/.ssh", "data"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let mut setup = Self {
            directory,
            policy: Policy::default(),
            places: Places::default(),
        };
        setup.places.workspace.push(root.join("work"));
        setup.places.temporary.push(root.join("temporary"));
        setup.places.never.push(root.join("home/.ssh"));
        setup
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    fn view(&self) -> View {
        View::new(&self.policy, &self.places, &self.path("temporary"))
    }

    /// Returns what a step of the view shows at a path; `None` if no step has that path.
    fn shown(&self, path: &Path) -> Option<Shown> {
        let mut steps = self.view().steps.into_iter();
        steps.find_map(|step| (step.path == path).then_some(step.shown))
    }

    fn same(&self, below: &str, writable: bool) -> Option<Shown> {
        let of = self.path(below);
        Some(Shown::Files { of, writable })
    }
}

#[test]
fn a_chat_has_its_own_temporary_files() {
    let mut setup = Setup::new();
    let own = setup.same("temporary", true);
    assert_eq!(setup.shown(Path::new("/tmp")), own);
    assert_eq!(setup.shown(&setup.path("temporary")), None);
    let seen_at = |setup: &Setup| setup.view().temporary(&setup.path("temporary")).to_owned();
    assert_eq!(seen_at(&setup), Path::new("/tmp"));
    // The operator opened /tmp itself.
    setup.policy.write.push("/tmp".into());
    assert_eq!(seen_at(&setup), setup.path("temporary"));
}

#[test]
fn what_commands_must_never_reach_is_empty() {
    let mut setup = Setup::new();
    assert_eq!(setup.shown(&setup.path("home/.ssh")), None);
    setup.policy.never.push(setup.path("work/private"));
    assert_eq!(setup.shown(&setup.path("work/private")), None);
    fs::write(setup.path("work/private"), "").unwrap();
    let private = setup.path("work/private");
    assert_eq!(setup.shown(&private), Some(Shown::Nothing));
}

/// A mount point cannot be renamed.
#[test]
fn no_directory_above_a_closed_path_can_be_moved() {
    let mut setup = Setup::new();
    let closed = setup.path("work/deep/down/key");
    fs::create_dir_all(&closed).unwrap();
    setup.policy.never.push(closed.clone());
    setup.policy.never.push(closed.join("below"));
    fs::write(closed.join("below"), "").unwrap();
    assert_eq!(setup.shown(&closed), Some(Shown::Nothing));
    // Nothing else is mounted there.
    let steps = setup.view().steps.into_iter();
    assert_eq!(steps.filter(|step| step.path == closed).count(), 1);
    for above in ["work/deep", "work/deep/down"] {
        let shown = setup.shown(&setup.path(above));
        assert_eq!(shown, setup.same(above, true), "{above}");
    }
    // Where commands cannot write, they cannot rename either.
    setup.policy.mode = Mode::ReadOnly;
    let shown = setup.shown(&setup.path("work/deep"));
    assert_ne!(shown, setup.same("work/deep", true));
}

#[test]
fn what_can_be_written_stays_so() {
    let mut setup = Setup::new();
    let work = setup.path("work");
    assert_eq!(setup.shown(&work), setup.same("work", true));
    setup.policy.mode = Mode::ReadOnly;
    assert_eq!(setup.shown(&work), setup.same("work", false));
    setup.policy.read.push(setup.path("data"));
    assert_eq!(setup.shown(&setup.path("data")), setup.same("data", false));
}

#[test]
fn protected_paths_are_read_only_and_cannot_be_moved() {
    let mut setup = Setup::new();
    symlink("hooks", setup.path("work/.git/led")).unwrap();
    let protect = [".git/hooks", ".git/led", ".envrc", "../home", "/etc"];
    setup.policy.protect = protect.map(PathBuf::from).into();
    let hooks = setup.path("work/.git/hooks");
    assert_eq!(setup.shown(&hooks), setup.same("work/.git/hooks", false));
    let git = setup.path("work/.git");
    assert_eq!(setup.shown(&git), setup.same("work/.git", true));
    // A link is kept as it is, and so is what it leads to.
    let led = setup.path("work/.git/led");
    assert_eq!(setup.shown(&led), setup.same("work/.git/led", true));
    for other in ["work/.envrc", "home"] {
        assert_eq!(setup.shown(&setup.path(other)), None);
    }
    let expected: Vec<_> = protect.iter().skip(2).map(PathBuf::from).collect();
    assert_eq!(unprotected(&setup.policy, &setup.places), expected);
    setup.policy.mode = Mode::ReadOnly;
    assert_eq!(setup.shown(&git), None);
}

/// The directory of the socket is closed, and the socket of the home is in its place there.
#[test]
fn a_socket_is_shown_alone() {
    use std::os::unix::net::UnixListener;
    let mut setup = Setup::new();
    let [lent, closed, link] =
        ["data/lent", "home/.ssh/agent", "data/link"].map(|below| setup.path(below));
    let _listeners = [&lent, &closed].map(|path| UnixListener::bind(path).unwrap());
    symlink(&closed, &link).unwrap();
    let file = setup.path("data/file");
    fs::write(&file, "").unwrap();
    setup.policy.sockets = vec![
        lent.clone(),
        link.clone(),
        file.clone(),
        setup.path("data/none"),
    ];
    for socket in [&lent, &closed] {
        let of = socket.clone();
        assert_eq!(setup.shown(socket), Some(Shown::Socket { of }));
    }
    assert_eq!(setup.shown(&link), Some(Shown::Socket { of: closed }));
    for other in [
        file.as_path(),
        &setup.path("data"),
        &setup.path("home/.ssh"),
    ] {
        assert_eq!(setup.shown(other), None, "{other:?}");
    }
    assert_eq!(
        Plan::new(&setup.policy, &setup.places).grants.refused,
        [file]
    );
    setup.policy.never.push(lent.clone());
    assert_eq!(setup.shown(&lent), None);
    setup.policy.never.clear();
    setup.policy.read.push(setup.path("data"));
    assert_eq!(setup.shown(&lent), None);
}

#[test]
fn no_step_hides_what_an_earlier_one_shows() {
    let view = Setup::new().view();
    for (number, step) in view.steps.iter().enumerate() {
        let mut earlier = view.steps.iter().take(number);
        assert!(!earlier.any(|other| other.path.starts_with(&step.path)));
    }
}

#[test]
fn a_view_has_a_network_namespace_unless_the_policy_allows_all_hosts() {
    let mut setup = Setup::new();
    let has_namespace = |setup: &Setup| setup.view().namespaces().contains(UnshareFlags::NEWNET);
    assert!(!has_namespace(&setup));
    setup.policy.network = Network::None;
    assert!(has_namespace(&setup));
}

fn shown() -> impl Strategy<Value = Shown> {
    let files = ("[^\0]{1,20}", any::<bool>());
    let files = files.prop_map(|(of, writable)| Shown::Files {
        of: of.into(),
        writable,
    });
    let link = "[^\0]{1,20}".prop_map(|to| Shown::Link { to: to.into() });
    let layer = "[^\0]{1,20}".prop_map(|of| Shown::Layer { of: of.into() });
    let copies = "[^\0]{1,20}".prop_map(|of| Shown::Copies { of: of.into() });
    let others = [
        Shown::Directory,
        Shown::Nothing,
        Shown::Itself,
        Shown::Processes,
        Shown::Memory,
        Shown::Terminals,
    ];
    let socket = "[^\0]{1,20}".prop_map(|of| Shown::Socket { of: of.into() });
    prop_oneof![
        socket,
        files,
        link,
        layer,
        copies,
        prop::sample::select(others.to_vec())
    ]
}

proptest! {
    #[test]
    fn views_read_back(steps in prop::collection::vec(("[^\0]{1,20}", shown()), 0..9), network in prop::sample::select(vec![NetworkAccess::Open, NetworkAccess::None, NetworkAccess::Proxy])) {
        let steps = steps.into_iter().map(|(path, shown)| Step::new(path, shown)).collect();
        let view = View { steps, network };
        prop_assert_eq!(View::decode(&view.encode()).unwrap(), view);
    }

    #[test]
    fn any_bytes_are_a_view_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        _ = View::decode(&bytes);
    }
}

/// The root stands for that of a view, in which each path shows itself.
#[test]
fn a_view_is_current_while_its_paths_show_what_is_there() {
    let setup = Setup::new();
    let root = fs::File::open("/").unwrap().into();
    let begun = std::time::SystemTime::now();
    let later = begun + std::time::Duration::from_hours(1);
    let is_current = |path: &str, shown, since| {
        let view = View {
            steps: vec![Step::new(setup.path(path), shown)],
            network: NetworkAccess::Open,
        };
        view.is_current(&root, since)
    };
    let files = |of: &str| Shown::Files {
        of: setup.path(of),
        writable: false,
    };
    assert!(is_current("work", files("work"), begun));
    assert!(is_current("gone", files("gone"), begun));
    for (path, of) in [("work", "data"), ("work", "gone"), ("gone", "work")] {
        assert!(!is_current(path, files(of), begun), "{path}, {of}");
    }
    assert!(is_current("work", Shown::Nothing, begun));
    // No mount begins there.
    assert!(!is_current("work", Shown::Itself, begun));
    let copies = |of: &str| Shown::Copies { of: setup.path(of) };
    assert!(is_current("work", copies("work"), later));
    assert!(is_current("work", copies("gone"), begun));
    fs::write(setup.path("work/.git/config"), "").unwrap();
    assert!(!is_current("work", copies("work"), begun));
}
