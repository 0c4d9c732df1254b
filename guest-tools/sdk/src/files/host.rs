//! The files that the host reads and writes.

use super::{
    Chunk, Entry, Error, Files, Filter, Found, Matches, Metadata, Page, Removal, Scope, SharedFile,
    Skipped, Text, Write,
};
use crate::bindings::files::toolhost::plugin::files as wit;

/// The files that the host reads and writes. In a test these are those of the
/// [`Surroundings`](crate::testing::Surroundings), and without them everything is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host;

#[cfg(target_family = "wasm")]
impl Files for Host {
    fn metadata(&self, path: &str) -> Result<Metadata, Error> {
        Ok(wit::metadata_of(path)?)
    }

    fn read(&self, path: &str, offset: u64, max: u32) -> Result<Chunk, Error> {
        Ok(wit::read(path, offset, max)?)
    }

    fn skip_lines(&self, path: &str, offset: u64, lines: u64) -> Result<Skipped, Error> {
        Ok(wit::skip_lines(path, offset, lines)?)
    }

    fn write_all(&self, writes: &[Write]) -> Result<Vec<Metadata>, (usize, Error)> {
        wit::write_all(writes).map_err(|(index, error)| (index as usize, error.into()))
    }

    fn change_all(
        &self,
        writes: &[Write],
        removals: &[Removal],
    ) -> Result<Vec<Metadata>, (usize, Error)> {
        wit::change_all(writes, removals).map_err(|(index, error)| (index as usize, error.into()))
    }

    fn read_directory(
        &self,
        path: &str,
        after: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Entry>, bool), Error> {
        Ok(wit::read_directory(path, after, max)?)
    }

    fn search(&self, scope: &Scope, text: &Text, page: Page) -> Result<Matches, Error> {
        Ok(wit::search_text(scope, text, page)?)
    }

    fn find(&self, scope: &Scope, filter: &Filter, page: Page) -> Result<Found, Error> {
        Ok(wit::find_files(scope, *filter, page)?)
    }

    fn share(&self, path: &str, lifetime_secs: Option<u64>) -> Result<SharedFile, Error> {
        Ok(wit::share(path, lifetime_secs)?)
    }
}

/// Off WebAssembly the generated functions would panic.
#[cfg(not(target_family = "wasm"))]
impl Files for Host {
    fn metadata(&self, path: &str) -> Result<Metadata, Error> {
        of_test()?.metadata(path)
    }

    fn read(&self, path: &str, offset: u64, max: u32) -> Result<Chunk, Error> {
        of_test()?.read(path, offset, max)
    }

    fn skip_lines(&self, path: &str, offset: u64, lines: u64) -> Result<Skipped, Error> {
        of_test()?.skip_lines(path, offset, lines)
    }

    fn write_all(&self, writes: &[Write]) -> Result<Vec<Metadata>, (usize, Error)> {
        of_test().map_err(|error| (0, error))?.write_all(writes)
    }

    fn change_all(
        &self,
        writes: &[Write],
        removals: &[Removal],
    ) -> Result<Vec<Metadata>, (usize, Error)> {
        of_test()
            .map_err(|error| (0, error))?
            .change_all(writes, removals)
    }

    fn read_directory(
        &self,
        path: &str,
        after: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Entry>, bool), Error> {
        of_test()?.read_directory(path, after, max)
    }

    fn search(&self, scope: &Scope, text: &Text, page: Page) -> Result<Matches, Error> {
        of_test()?.search(scope, text, page)
    }

    fn find(&self, scope: &Scope, filter: &Filter, page: Page) -> Result<Found, Error> {
        of_test()?.find(scope, filter, page)
    }

    fn share(&self, path: &str, lifetime_secs: Option<u64>) -> Result<SharedFile, Error> {
        of_test()?.share(path, lifetime_secs)
    }
}

/// Returns the files of the test.
#[cfg(not(target_family = "wasm"))]
fn of_test() -> Result<std::rc::Rc<crate::testing::FakeFiles>, Error> {
    let text = "there is no host here: write tests against `testing::FakeFiles`";
    let files = crate::testing::surroundings(|now| now.files.clone());
    files.ok_or_else(|| Error::Denied(text.to_owned()))
}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::Invalid(text) => Self::Invalid(text),
            wit::Error::Denied(text) => Self::Denied(text),
            wit::Error::NotFound => Self::NotFound,
            wit::Error::NotAFile => Self::NotAFile,
            wit::Error::NotADirectory => Self::NotADirectory,
            wit::Error::OutsideWorkspace(path) => Self::OutsideWorkspace(path),
            wit::Error::TooLarge(most) => Self::TooLarge(most),
            wit::Error::Changed(text) => Self::Changed(text),
            wit::Error::Unavailable(text) => Self::Unavailable(text),
            wit::Error::UnknownOutcome(text) => Self::UnknownOutcome(text),
            wit::Error::Failed(text) => Self::Failed(text),
        }
    }
}
