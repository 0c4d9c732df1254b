//! The code of the embedded components, compiled once for all tests: also where each test is a process of its own, or has a host
//! with a state directory of its own.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{program, state_dir};

/// The key that authenticates a code cache, and the cache itself.
const KEY: &str = "cache.key";
const CACHE: &str = "cache";

/// Makes a state directory whose code cache has the embedded components, and returns its path. It belongs to `owner`, or to the
/// user that runs the tests.
///
/// The key is that of the cache that was copied, so the host trusts its files as its own. No other test knows the directory.
pub(crate) fn with_code(state: PathBuf, owner: Option<u32>) -> PathBuf {
    let from = compiled();
    let mut directories = DirBuilder::new();
    directories.mode(0o700).recursive(true);
    directories.create(state.join(CACHE)).unwrap();
    let copy = |name: &Path| {
        std::fs::copy(from.join(name), state.join(name)).unwrap();
        chown(state.join(name), owner, owner).unwrap();
    };
    copy(Path::new(KEY));
    for file in std::fs::read_dir(from.join(CACHE)).unwrap() {
        copy(&Path::new(CACHE).join(file.unwrap().file_name()));
    }
    for directory in [&state, &state.join(CACHE)] {
        chown(directory, owner, owner).unwrap();
    }
    state
}

/// Returns a directory for `XDG_CACHE_HOME`: the code cache that the hosts of all tests share, as those of a user do. It outlives the
/// tests, so that the code of each component is compiled once.
pub(crate) fn shared_code() -> &'static Path {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    SHARED.get_or_init(|| {
        let compiled = compiled();
        let shared = compiled.with_file_name("shared");
        let lock = File::create(compiled.with_file_name("lock")).unwrap();
        lock.lock().unwrap();
        if !shared.join("toolhost").exists() {
            let new = compiled.with_file_name("new");
            with_code(new.join("toolhost"), None);
            std::fs::rename(new, &shared).unwrap();
        }
        shared
    })
}

/// Returns a state directory from which is only copied. The first test that needs it after a build makes it.
fn compiled() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let user = nix::unistd::geteuid();
        let mut base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compiled-{user}"));
        if std::fs::create_dir_all(&base).is_err() {
            // Another user built the tests, so that this process shares the code with no other.
            base = state_dir().join("compiled");
            std::fs::create_dir_all(&base).unwrap();
        }
        let lock = File::create(base.join("lock")).unwrap();
        lock.lock().unwrap();
        let facts = program().metadata().unwrap();
        let built = format!("{:?} {}", facts.modified().unwrap(), facts.len());
        let (state, made_for) = (base.join("state"), base.join("made-for"));
        if std::fs::read_to_string(&made_for).ok() != Some(built.clone()) {
            _ = std::fs::remove_dir_all(&state);
            compile(&state);
            std::fs::write(made_for, built).unwrap();
        }
        state
    })
}

/// Has the program compile what it embeds, and the plugin of the conformance suite.
fn compile(state: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let conformance = directory.path().join("conformance.wasm");
    std::fs::write(&conformance, toolhost_guests::CONFORMANCE).unwrap();
    let conformance = conformance.to_str().unwrap();
    for arguments in [
        // A call loads the plugin of its tool alone.
        &["call", "process_list"][..],
        &["call", "read_file", r#"{"path":"."}"#],
        &["plugin", "check", conformance],
    ] {
        let mut command = Command::new(program());
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.arg("--workspace").arg(directory.path());
        command.arg("--state-dir").arg(state).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
