//! A workspace whose files are in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{search, surroundings};
use crate::files::{
    Chunk, Entry, Error, Files, Filter, Found, Kind, Matches, Metadata, Page, Precondition,
    Removal, Scope, SharedFile, Skipped, Text, Write,
};

/// Stands in for the host's files: a tree in memory, below [`Surroundings::workspace_root`](super::Surroundings).
///
/// Directories are there as soon as something is in them. There are no links but those of [`FakeFiles::alias`]. A search knows no ignore
/// files and, of the types, those whose names are extensions; it finds no directories. Links to shared files are made at the time 0, and
/// the media types are those of `.txt` and of bytes.
///
/// ```
/// use toolhost_sdk::files::Files;
/// use toolhost_sdk::testing::FakeFiles;
///
/// let files = FakeFiles::new().with("src/main.rs", "fn main() {}\n");
/// assert_eq!(files.read("/workspace/src/main.rs", 3, 4)?.data, b"main");
/// # Ok::<(), toolhost_sdk::files::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FakeFiles {
    tree: RefCell<BTreeMap<String, Vec<u8>>>,
    aliases: BTreeMap<String, String>,
    failing: BTreeMap<String, Error>,
    written: RefCell<Vec<Vec<Write>>>,
    removed: RefCell<Vec<Removal>>,
}

impl FakeFiles {
    /// Makes an empty workspace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    #[must_use]
    pub fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref().to_vec();
        self.tree.borrow_mut().insert(absolute(path), content);
        self
    }

    /// Makes a path lead to the file of another one, as a symbolic link does. The file may be missing.
    #[must_use]
    pub fn alias(mut self, path: &str, target: &str) -> Self {
        self.aliases.insert(absolute(path), absolute(target));
        self
    }

    /// Lets everything that is done to this path fail.
    #[must_use]
    pub fn fails(mut self, path: &str, error: Error) -> Self {
        self.failing.insert(absolute(path), error);
        self
    }

    /// Returns the content of a file as text; `None` if there is no such file, or it is no text.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        let content = self.tree.borrow().get(&absolute(path)).cloned();
        content.and_then(|content| String::from_utf8(content).ok())
    }

    /// Returns the files that were written, each list by one call.
    #[must_use]
    pub fn written(&self) -> Vec<Vec<Write>> {
        self.written.borrow().clone()
    }

    /// Returns the files that were removed, in the order of the calls.
    #[must_use]
    pub fn removed(&self) -> Vec<Removal> {
        self.removed.borrow().clone()
    }

    /// Returns the absolute path that a path stands for, and the content there: `None` for a directory.
    fn at(&self, path: &str) -> Result<(String, Option<Vec<u8>>), Error> {
        let resolved = self.resolve(path)?;
        let tree = self.tree.borrow();
        if let Some(content) = tree.get(&resolved) {
            return Ok((resolved, Some(content.clone())));
        }
        let inside = format!("{resolved}/");
        if resolved == root() || tree.keys().any(|file| file.starts_with(&inside)) {
            return Ok((resolved, None));
        }
        let above = tree
            .keys()
            .find(|file| resolved.starts_with(&format!("{file}/")));
        Err(above.map_or(Error::NotFound, |_| Error::NotADirectory))
    }

    fn resolve(&self, path: &str) -> Result<String, Error> {
        let asked = absolute(path);
        let resolved = self.aliases.get(&asked).cloned().unwrap_or(asked);
        if let Some(error) = self.failing.get(&resolved) {
            return Err(error.clone());
        }
        if resolved != root() && !resolved.starts_with(&format!("{}/", root())) {
            return Err(Error::OutsideWorkspace(path.to_owned()));
        }
        Ok(resolved)
    }

    /// Returns the files of a search by their paths, relative to the workspace.
    fn below(&self, scope: &Scope) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let (base, _) = self.at(&scope.path)?;
        let selection = search::Selection::new(scope)?;
        let tree = self.tree.borrow();
        let below = tree.iter().filter_map(|(path, content)| {
            let from_base = path.strip_prefix(&base)?;
            let is_base = from_base.is_empty();
            if !is_base && !selection.takes(from_base.strip_prefix('/')?) {
                return None;
            }
            let shown = path.strip_prefix(&format!("{}/", root())).unwrap_or(path);
            Some((shown.to_owned(), content.clone()))
        });
        Ok(below.collect())
    }

    fn content(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.at(path)?.1.ok_or(Error::NotAFile)
    }

    fn check(&self, write: &Write) -> Result<String, Error> {
        let found = match self.at(&write.path) {
            Ok((_, None)) => return Err(Error::NotAFile),
            Ok((_, content)) => content,
            Err(Error::NotFound) => None,
            Err(error) => return Err(error),
        };
        let changed = || Err(Error::Changed("file changed since it was read".to_owned()));
        match (&write.when, found) {
            (Precondition::Absent, Some(_)) => Err(Error::Changed("file exists".to_owned())),
            (Precondition::Version(_), None) => changed(),
            (Precondition::Version(expected), Some(content)) if *expected != version(&content) => {
                changed()
            }
            _ => self.resolve(&write.path),
        }
    }

    /// Returns the path that is removed: that of a link itself.
    fn check_removal(&self, removal: &Removal) -> Result<String, Error> {
        let content = self.content(&removal.path)?;
        match &removal.version {
            Some(expected) if *expected != version(&content) => {
                Err(Error::Changed("file changed since it was read".to_owned()))
            }
            _ => Ok(absolute(&removal.path)),
        }
    }
}

impl Files for FakeFiles {
    fn metadata(&self, path: &str) -> Result<Metadata, Error> {
        let (real_path, content) = self.at(path)?;
        let kind = content.as_ref().map_or(Kind::Directory, |_| Kind::File);
        let content = content.unwrap_or_default();
        Ok(Metadata {
            kind,
            size: content.len() as u64,
            modified_ms: 1_000_000,
            version: version(&content),
            identity: real_path.clone(),
            real_path,
        })
    }

    fn read(&self, path: &str, offset: u64, max: u32) -> Result<Chunk, Error> {
        const MOST: u32 = 4 << 20;
        let content = self.content(path)?;
        let max = usize::try_from(max.min(MOST)).unwrap_or(usize::MAX);
        let rest = from(&content, offset);
        Ok(Chunk {
            data: rest.get(..max).unwrap_or(rest).to_vec(),
            size: content.len() as u64,
            version: version(&content),
            identity: self.resolve(path)?,
        })
    }

    fn skip_lines(&self, path: &str, offset: u64, lines: u64) -> Result<Skipped, Error> {
        let content = self.content(path)?;
        let size = content.len() as u64;
        let mut skipped = Skipped {
            offset: offset.min(size),
            lines: 0,
            size,
        };
        let mut ends = from(&content, offset).split_inclusive(|byte| *byte == b'\n');
        while skipped.lines < lines
            && let Some(line) = ends.next()
        {
            skipped.offset += line.len() as u64;
            skipped.lines += u64::from(line.ends_with(b"\n"));
        }
        Ok(skipped)
    }

    fn write_all(&self, writes: &[Write]) -> Result<Vec<Metadata>, (usize, Error)> {
        self.change_all(writes, &[])
    }

    fn change_all(
        &self,
        writes: &[Write],
        removals: &[Removal],
    ) -> Result<Vec<Metadata>, (usize, Error)> {
        let mut gone = BTreeSet::new();
        for (index, removal) in removals.iter().enumerate() {
            let failed = |error| (writes.len() + index, error);
            let path = self.check_removal(removal).map_err(failed)?;
            if !gone.insert(path) {
                let text = "the same file is to be removed twice";
                return Err(failed(Error::Invalid(text.to_owned())));
            }
        }
        let mut paths = BTreeSet::new();
        for (index, write) in writes.iter().enumerate() {
            let path = self.check(write).map_err(|error| (index, error))?;
            if gone.contains(&path) {
                let text = "the same file is to be written and removed";
                return Err((index, Error::Invalid(text.to_owned())));
            }
            if !paths.insert(path) {
                let text = "the same file is to be written twice";
                return Err((index, Error::Invalid(text.to_owned())));
            }
        }
        let mut written = Vec::new();
        for (index, write) in writes.iter().enumerate() {
            let path = self.resolve(&write.path).map_err(|error| (index, error))?;
            self.tree.borrow_mut().insert(path, write.data.clone());
            written.push(self.metadata(&write.path).map_err(|error| (index, error))?);
        }
        self.tree
            .borrow_mut()
            .retain(|path, _| !gone.contains(path));
        self.written.borrow_mut().push(writes.to_vec());
        self.removed.borrow_mut().extend_from_slice(removals);
        Ok(written)
    }

    fn read_directory(
        &self,
        path: &str,
        after: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Entry>, bool), Error> {
        let (directory, None) = self.at(path)? else {
            return Err(Error::NotADirectory);
        };
        let inside = format!("{directory}/");
        let mut entries = BTreeMap::new();
        let tree = self.tree.borrow();
        let links = self.aliases.keys().map(|link| (link, Kind::Symlink));
        for (path, kind) in tree.keys().map(|file| (file, Kind::File)).chain(links) {
            let Some(rest) = path.strip_prefix(&inside) else {
                continue;
            };
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, Kind::Directory),
                None => (rest, kind),
            };
            if after.is_none_or(|after| name > after) {
                entries.insert(name.to_owned(), kind);
            }
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let more = entries.len() > max;
        let entries = entries.into_iter().take(max);
        let entries = entries.map(|(name, kind)| Entry { name, kind });
        Ok((entries.collect(), more))
    }

    fn search(&self, scope: &Scope, text: &Text, page: Page) -> Result<Matches, Error> {
        let is_named = self.at(&scope.path)?.1.is_some();
        search::text(&self.below(scope)?, is_named, text, page)
    }

    fn find(&self, scope: &Scope, filter: &Filter, page: Page) -> Result<Found, Error> {
        Ok(search::find(&self.below(scope)?, filter, page))
    }

    fn share(&self, path: &str, lifetime_secs: Option<u64>) -> Result<SharedFile, Error> {
        const DAY: u64 = 24 * 60 * 60;
        let lifetime = lifetime_secs.unwrap_or(DAY);
        if !(60..=7 * DAY).contains(&lifetime) {
            let text = format!("a link lasts from 60 to 604800 seconds, not {lifetime}");
            return Err(Error::Invalid(text));
        }
        let content = self.content(path)?;
        let path = self.resolve(path)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        let media_type = match name.ends_with(".txt") {
            true => "text/plain",
            false => "application/octet-stream",
        };
        Ok(SharedFile {
            url: format!(
                "https://toolhost.example/v1/links/{}/{name}",
                version(&content)
            ),
            expires_ms: lifetime * 1000,
            name: name.to_owned(),
            size: content.len() as u64,
            media_type: media_type.to_owned(),
        })
    }
}

/// Returns a content from an offset on.
fn from(content: &[u8], offset: u64) -> &[u8] {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    content.get(offset..).unwrap_or_default()
}

fn root() -> String {
    surroundings(|now| now.workspace_root.clone())
}

/// Makes a path absolute, and resolves `.` and `..` by name.
fn absolute(path: &str) -> String {
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", root())
    };
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// Any text will do that differs when the content does.
fn version(content: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("fake-{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, content: &str, when: Precondition) -> Write {
        Write {
            path: path.to_owned(),
            data: content.into(),
            when,
        }
    }

    #[test]
    fn behaves_as_the_host_does() {
        let files = FakeFiles::new()
            .with("a", "one\ntwo")
            .with("sub/b", "")
            .alias("link", "a")
            .fails("locked", Error::Denied("no".to_owned()));
        assert_eq!(files.metadata("sub").unwrap().kind, Kind::Directory);
        assert_eq!(files.metadata("link"), files.metadata("/workspace/./a"));
        assert_eq!(files.read("a", 4, 2).unwrap().data, b"tw");
        assert_eq!(files.skip_lines("a", 0, 9).unwrap().lines, 1);
        assert_eq!(files.read("a/x", 0, 1), Err(Error::NotADirectory));
        assert_eq!(files.read("sub", 0, 1), Err(Error::NotAFile));
        assert_eq!(files.read("x", 0, 1), Err(Error::NotFound));
        assert_eq!(files.read("locked", 0, 1).unwrap_err().to_string(), "no");
        let outside = Err(Error::OutsideWorkspace("../x".to_owned()));
        assert_eq!(files.read("../x", 0, 1), outside);
        let (page, more) = files.read_directory(".", None, 1).unwrap();
        assert_eq!((page[0].name.as_str(), more), ("a", true));
        let (page, more) = files.read_directory(".", Some("a"), 9).unwrap();
        let names: Vec<_> = page.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((names, more), (vec!["link", "sub"], false));
        assert_eq!(page[0].kind, Kind::Symlink);
    }

    #[test]
    fn shares_files_alone() {
        let files = FakeFiles::new()
            .with("sub/a.txt", "one")
            .alias("link", "sub/a.txt");
        let shared = files.share("link", Some(60)).unwrap();
        assert_eq!((shared.name.as_str(), shared.size), ("a.txt", 3));
        assert_eq!(shared.media_type, "text/plain");
        assert_eq!(shared.expires_ms, 60_000);
        assert!(shared.url.starts_with("https://") && shared.url.ends_with("/a.txt"));
        assert_eq!(files.share("sub", None), Err(Error::NotAFile));
        assert_eq!(files.share("x", None), Err(Error::NotFound));
        for lifetime in [0, 59, 604_801, u64::MAX] {
            let refused = files.share("link", Some(lifetime));
            assert!(matches!(refused, Err(Error::Invalid(_))), "{lifetime}");
        }
    }

    #[test]
    fn writes_all_or_nothing() {
        let files = FakeFiles::new().with("a", "old");
        let version = files.metadata("a").unwrap().version;
        let both = |when: Precondition| {
            files.write_all(&[
                write("new", "x", Precondition::Absent),
                write("a", "new", when),
            ])
        };
        let stale = both(Precondition::Version("?".to_owned()));
        assert!(matches!(stale, Err((1, Error::Changed(_)))));
        assert_eq!(
            (files.text("new"), files.text("a").unwrap()),
            (None, "old".to_owned())
        );
        both(Precondition::Version(version)).unwrap();
        assert_eq!(files.text("a").unwrap(), "new");
        assert!(matches!(
            both(Precondition::Any),
            Err((0, Error::Changed(_)))
        ));
        assert_eq!(files.written().len(), 1);
    }

    #[test]
    fn removes_with_what_it_writes_or_nothing() {
        let files = FakeFiles::new().with("a", "old").with("b", "x");
        let removal = |path: &str, version: Option<String>| Removal {
            path: path.to_owned(),
            version,
            moved_to: None,
        };
        let new = || write("new", "old", Precondition::Absent);
        let stale = removal("b", Some("?".to_owned()));
        let stale = files.change_all(&[new()], &[removal("a", None), stale]);
        assert!(matches!(stale, Err((2, Error::Changed(_)))));
        let missing = files.change_all(&[new()], &[removal("c", None)]);
        assert_eq!(missing, Err((1, Error::NotFound)));
        assert_eq!(files.text("new"), None);
        let version = files.metadata("a").unwrap().version;
        files
            .change_all(&[new()], &[removal("a", Some(version))])
            .unwrap();
        assert_eq!(
            (files.text("a"), files.text("new").unwrap()),
            (None, "old".to_owned())
        );
        assert_eq!(files.removed().len(), 1);
    }
}
