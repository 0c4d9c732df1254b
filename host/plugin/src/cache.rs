//! Compiled code on disk, keyed by its component and by the compiler and its settings.
//!
//! Loading compiled code is running it: wasmtime cannot tell good code from bad. So every file carries a keyed hash, the
//! key never leaves its directory, which commands and tools cannot reach, and a file is read into memory before it is checked, so that no process can change it
//! in between. A command that runs as the same user and reads the key can still forge a file; SECURITY.md says so.

use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use wasmtime::component::Component;

use toolhost_state::state_dir::{Entry, StateDir, StateDirError, is_full};

/// The name of the key in the state directory.
const KEY: &str = toolhost_state::state_dir::MARK;

/// The bytes of the key, and of a keyed hash.
const KEY_SIZE: usize = 32;

/// The largest code that is taken or read, in bytes. That of Python is the largest known, with 35 MB.
pub(super) const MAX_CODE: u64 = 512 << 20;

/// The largest file that is read.
const MAX_FILE: u64 = MAX_CODE + KEY_SIZE as u64;

/// How many bytes of code are kept; beyond that the files go that were not used for longest. That is 30 plugins in Python, or a
/// thousand in Rust.
const MAX_BYTES: u64 = 1 << 30;

/// Compiled code in the state directory.
#[derive(Debug)]
pub struct CodeCache {
    directory: StateDir,
    max_bytes: u64,
    key: [u8; KEY_SIZE],
    /// The cache that comes first.
    shared: Option<Box<Self>>,
}

/// A reason why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] StateDirError),
    /// The key cannot be made.
    #[error("cannot write the key of the code cache, {}", path.display())]
    Key {
        /// The file of the key.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl CodeCache {
    /// Opens the cache in a state directory. Several hosts may use it at once. If the disk has no room for a new key, the key is
    /// not kept: the code is compiled again at the next start.
    ///
    /// # Errors
    ///
    /// If the directory or the key in it cannot be used.
    pub fn open(state: &StateDir) -> Result<Self, CacheError> {
        let directory = state.subdirectory("cache")?;
        let mut new = [0; KEY_SIZE];
        getrandom::fill(&mut new).map_err(|error| key_error(state, io::Error::other(error)))?;
        let key = match state.key(KEY, new) {
            Err(error) if is_full(&error) => {
                let error = key_error(state, error);
                let error = toolhost_state::error_chain::full_text(&error);
                tracing::warn!(error, "compiled code is not kept: the disk is full");
                new
            }
            key => key.map_err(|error| key_error(state, error))?,
        };
        Ok(Self {
            directory,
            max_bytes: MAX_BYTES,
            key,
            shared: None,
        })
    }

    /// Looks in this directory first, and keeps new code there: the directory of all hosts of a user, so that what one of them compiled
    /// is there for the others. If it cannot be used, the code is kept in the state directory.
    #[must_use]
    pub fn sharing(mut self, directory: &Path) -> Self {
        let shared = StateDir::open(directory).map_err(CacheError::from);
        match shared.and_then(|shared| Self::open(&shared)) {
            Ok(shared) => self.shared = Some(Box::new(shared)),
            Err(error) => {
                let error = toolhost_state::error_chain::full_text(&error);
                tracing::debug!(error, "compiled code is kept for this state directory only");
            }
        }
        self
    }

    /// Returns the name under which the code of a component for an engine is kept.
    pub(super) fn name(engine: &wasmtime::Engine, component: &[u8]) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(blake3::hash(component).as_bytes());
        hasher.update(compatibility(engine).as_bytes());
        format!("{}.cwasm", hasher.finalize().to_hex())
    }

    /// Returns the component that is kept under this name, if it is there and its hash is right.
    pub(super) fn load(&self, engine: &wasmtime::Engine, name: &str) -> Option<Component> {
        let shared = self.shared.as_ref();
        if let Some(component) = shared.and_then(|shared| shared.load(engine, name)) {
            return Some(component);
        }
        let file = match self.directory.read(name, MAX_FILE) {
            Ok(file) => file?,
            Err(error) => {
                tracing::warn!(name, %error, "a file of the code cache is ignored");
                return None;
            }
        };
        let (hash, code) = file.split_first_chunk::<KEY_SIZE>()?;
        // The comparison of two `blake3::Hash` takes constant time.
        if self.authenticate(name, code) != blake3::Hash::from_bytes(*hash) {
            tracing::warn!(name, "a file of the code cache is not ours, and is ignored");
            return None;
        }
        if let Err(error) = self.directory.touch(name) {
            tracing::debug!(name, %error, "the use of a file of the code cache is not noted");
        }
        // The hash is right, and only this user can read and write its key: so this host's user compiled the code.
        let component = deserialize(engine, code);
        component
            .inspect_err(
                |error| tracing::warn!(name, %error, "a file of the code cache cannot be loaded"),
            )
            .ok()
    }

    /// Keeps compiled code under this name. If that fails, the host logs it and compiles the component again next time.
    pub(super) fn store(&self, code: &[u8], name: &str) {
        if let Some(shared) = &self.shared {
            return shared.store(code, name);
        }
        let hash = self.authenticate(name, code);
        let stored = self.directory.write_parts(name, &[hash.as_bytes(), code]);
        if let Err(error) = stored.and_then(|()| self.prune()) {
            tracing::warn!(name, %error, "compiled code could not be kept");
        }
    }

    /// The name is part of the hash, so that a file that was renamed does not pass.
    fn authenticate(&self, name: &str, code: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(name.as_bytes());
        hasher.update(&[0]);
        hasher.update(code);
        hasher.finalize()
    }

    fn prune(&self) -> io::Result<()> {
        let mut entries = self.directory.entries()?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.changed));
        let mut bytes = 0;
        // The newest file stays, however long it is.
        for Entry { name, size, .. } in entries {
            if bytes > 0 && bytes + size > self.max_bytes {
                self.directory.remove(&name)?;
            } else {
                bytes += size;
            }
        }
        Ok(())
    }
}

/// Returns a hash that differs between engines that cannot exchange compiled code.
pub(super) fn compatibility(engine: &wasmtime::Engine) -> blake3::Hash {
    let mut hasher = KeyHasher(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize()
}

/// Loads code that we compiled: it comes from a file that was authenticated, from a compiler that we started, or from the end of our program.
#[expect(
    unsafe_code,
    reason = "wasmtime cannot check compiled code; the caller knows that it was compiled by us"
)]
pub(super) fn deserialize(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are those that `Component::serialize` or `Engine::precompile_component` gave this user's Toolhost:
    // they carry a hash under its key, came through a pipe from a program of ours, or are a part of that program. wasmtime itself
    // checks version and configuration.
    unsafe { Component::deserialize(engine, code) }
}

fn key_error(state: &StateDir, source: io::Error) -> CacheError {
    let path = state.path().join(KEY);
    CacheError::Key { path, source }
}

/// Feeds the values of a `Hash` into BLAKE3: the standard hasher may change between builds, and collides too easily.
struct KeyHasher(blake3::Hasher);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = self.0.finalize();
        u64::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The smallest component.
    const EMPTY: &str = "(component)";

    struct Setup {
        base: tempfile::TempDir,
        engine: wasmtime::Engine,
        cache: CodeCache,
        name: String,
    }

    fn setup() -> Setup {
        let base = tempfile::tempdir().unwrap();
        let engine = wasmtime::Engine::default();
        let cache = CodeCache::open(&StateDir::open(&base.path().join("state")).unwrap()).unwrap();
        let bytes = wat::parse_str(EMPTY).unwrap();
        let name = CodeCache::name(&engine, &bytes);
        cache.store(&engine.precompile_component(&bytes).unwrap(), &name);
        Setup {
            base,
            engine,
            cache,
            name,
        }
    }

    #[test]
    fn gives_back_what_was_stored_also_to_the_next_host() {
        let Setup {
            base,
            engine,
            cache,
            name,
        } = setup();
        assert!(cache.load(&engine, &name).is_some());
        let again = CodeCache::open(&StateDir::open(&base.path().join("state")).unwrap()).unwrap();
        assert!(again.load(&engine, &name).is_some());
        assert!(cache.load(&engine, "other.cwasm").is_none());
    }

    #[test]
    fn another_state_directory_finds_what_is_shared() {
        let Setup { engine, name, .. } = setup();
        let base = tempfile::tempdir().unwrap();
        let open = |state: &str| {
            let state = StateDir::open(&base.path().join(state)).unwrap();
            CodeCache::open(&state).unwrap()
        };
        let shared = base.path().join("shared");
        let code = engine.precompile_component(&wat::parse_str(EMPTY).unwrap());
        let code = code.unwrap();
        open("one").sharing(&shared).store(&code, &name);
        assert!(open("two").sharing(&shared).load(&engine, &name).is_some());
        assert!(open("two").load(&engine, &name).is_none());
        // What a state directory has is found there, and a shared directory that others can write is not used.
        open("three").store(&code, &name);
        assert!(
            open("three")
                .sharing(&shared)
                .load(&engine, &name)
                .is_some()
        );
        let public = base.path().join("public");
        std::fs::create_dir(&public).unwrap();
        std::fs::set_permissions(&public, PermissionsExt::from_mode(0o777)).unwrap();
        open("four").sharing(&public).store(&code, &name);
        assert!(open("four").load(&engine, &name).is_some());
        assert_eq!(std::fs::read_dir(&public).unwrap().count(), 0);
    }

    #[test]
    fn trusts_no_file_that_it_did_not_write() {
        let Setup {
            base,
            engine,
            cache,
            name,
        } = setup();
        let path = base.path().join("state/cache").join(&name);
        let good = std::fs::read(&path).unwrap();
        let ignored = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            cache.load(&engine, &name).is_none()
        };
        for at in [0, 31, 32, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(ignored(&bad), "byte {at}");
        }
        for len in [0, 31, 32, good.len() - 1] {
            assert!(ignored(&good[..len]), "{len} bytes");
        }
        let forged = [blake3::hash(&good[32..]).as_bytes(), &good[32..]].concat();
        assert!(ignored(&forged), "a hash without the key");
        assert!(!ignored(&good));
        std::fs::copy(&path, path.with_file_name("other.cwasm")).unwrap();
        assert!(
            cache.load(&engine, "other.cwasm").is_none(),
            "a file under another name"
        );
    }

    #[test]
    fn a_lost_key_makes_the_old_files_worthless() {
        let Setup {
            base, engine, name, ..
        } = setup();
        let state = base.path().join("state");
        for key in [
            None,
            Some("short"),
            Some("thirty-two bytes, but not the key"),
        ] {
            match key {
                None => std::fs::remove_file(state.join(KEY)).unwrap(),
                Some(text) => std::fs::write(state.join(KEY), text).unwrap(),
            }
            let cache = CodeCache::open(&StateDir::open(&state).unwrap()).unwrap();
            assert!(cache.load(&engine, &name).is_none(), "{key:?}");
        }
    }

    #[test]
    fn other_code_and_other_engines_have_other_names() {
        let engine = wasmtime::Engine::default();
        let other =
            wasmtime::Engine::new(wasmtime::Config::new().epoch_interruption(true)).unwrap();
        let names = [
            CodeCache::name(&engine, b"a"),
            CodeCache::name(&engine, b"b"),
            CodeCache::name(&other, b"a"),
        ];
        assert_eq!(CodeCache::name(&engine, b"a"), names[0]);
        assert!(names[0] != names[1] && names[0] != names[2]);
    }

    #[test]
    fn forgets_what_was_not_used_for_longest() {
        let Setup {
            base: _base,
            engine,
            mut cache,
            name,
        } = setup();
        let code = engine.precompile_component(&wat::parse_str(EMPTY).unwrap());
        let code = code.unwrap();
        cache.max_bytes = 3 * (KEY_SIZE + code.len()) as u64;
        let kept = |cache: &CodeCache| {
            let entries = cache.directory.entries().unwrap().into_iter();
            let mut names: Vec<_> = entries.map(|entry| entry.name).collect();
            names.sort();
            names
        };
        // The time of a change has the steps of the kernel's clock, and a file system may have coarser ones.
        let next_tick = |cache: &CodeCache| {
            let changed = |name: &str| {
                cache.directory.write(name, b"").unwrap();
                let entries = cache.directory.entries().unwrap();
                entries
                    .into_iter()
                    .find(|entry| entry.name == name)
                    .unwrap()
                    .changed
            };
            let before = changed("tick");
            while changed("tick") == before {}
            cache.directory.remove("tick").unwrap();
        };
        for other in ["a", "b"] {
            next_tick(&cache);
            cache.store(&code, other);
        }
        next_tick(&cache);
        assert!(cache.load(&engine, &name).is_some());
        next_tick(&cache);
        cache.store(&code, "c");
        let mut expected = [name.as_str(), "b", "c"].map(str::to_owned);
        expected.sort();
        assert_eq!(kept(&cache), expected);
    }

    #[test]
    fn keeps_what_is_longer_than_all_that_is_kept() {
        let Setup {
            base: _base,
            engine,
            mut cache,
            name,
        } = setup();
        cache.max_bytes = 1;
        let code = engine.precompile_component(&wat::parse_str(EMPTY).unwrap());
        cache.store(&code.unwrap(), &name);
        assert!(cache.load(&engine, &name).is_some());
    }
}
