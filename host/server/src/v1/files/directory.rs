//! The entries of a directory, in pages.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::answer::problem;
use toolhost_core::ChatFiles;
use toolhost_http::problem::Problem;
use toolhost_state::unix_time;
use toolhost_workspace::files::{Filter, Found, FoundFile, Kind, Page, Scope};
use toolhost_workspace::operation::FindFiles;

/// The default and the largest number of entries of a page.
pub(super) const PAGE: u64 = 100;
pub(super) const MAX_PAGE: u64 = 1000;

/// A page of the entries of a directory.
#[derive(Serialize, ToSchema)]
#[schema(as = FileList)]
pub(super) struct Listing {
    /// The directory, as it was asked for; `.` is the workspace.
    path: String,
    /// Its entries, in the order of their names. Closed ones are left out.
    entries: Vec<Entry>,
    /// The number of all entries.
    total: u64,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// An entry of a directory.
#[derive(Serialize, ToSchema)]
#[schema(as = FileEntry)]
struct Entry {
    /// Its name. Bytes that are no text are replaced: such a file cannot be reached.
    name: String,
    /// `file`, `directory`, `symlink` for a link, which is not followed here, or `other`.
    kind: &'static str,
    /// Of a file: its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed, in milliseconds since 1970.
    modified_at_unix_ms: u64,
}

impl From<FoundFile> for Entry {
    fn from(found: FoundFile) -> Self {
        let name = found.path.file_name().unwrap_or_default();
        Self {
            name: name.to_string_lossy().into_owned(),
            kind: match found.kind {
                Kind::File => "file",
                Kind::Directory => "directory",
                Kind::Symlink => "symlink",
                Kind::Other => "other",
            },
            size: (found.kind == Kind::File).then_some(found.size),
            modified_at_unix_ms: unix_time::to_ms(found.modified),
        }
    }
}

impl Listing {
    /// Lists a directory, from the entry of this number on.
    pub(super) async fn of(
        files: &ChatFiles,
        path: String,
        after: u64,
        limit: u64,
    ) -> Result<Self, Problem> {
        let page = Page {
            skip: after,
            max: limit,
        };
        let found = entries(files, path.clone(), Some(1), page).await?;
        let end = after + found.files.len() as u64;
        Ok(Self {
            path,
            entries: found.files.into_iter().map(Entry::from).collect(),
            total: found.total,
            next: (found.more && !found.total.le(&end)).then_some(end),
        })
    }
}

/// Returns a page of what is in a directory, so many directories deep, in the order of the paths.
pub(super) async fn entries(
    files: &ChatFiles,
    path: String,
    max_depth: Option<usize>,
    page: Page,
) -> Result<Found, Problem> {
    let find = FindFiles {
        scope: Scope {
            path: path.clone(),
            hidden: true,
            ignored: true,
            max_depth,
            ..Scope::default()
        },
        filter: Filter::default(),
        page,
    };
    let found = files.workspace().find_files(find, Arc::default()).await;
    found.map_err(|error| problem(&path, error))
}
