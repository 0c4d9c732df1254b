//! An upload: the body of a request goes in parts to a temporary file, which then gets the name of the file.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE};
use toolhost_core::ChatFiles;
use toolhost_http::body::{BodyError, Parts};
use toolhost_http::limits::{Held, RequestPermit};
use toolhost_http::problem::{Kind, Problem};
use toolhost_workspace::files::{MAX_PART, Metadata, Precondition};
use toolhost_workspace::operation::{AppendUpload, BeginUpload, CommitUpload, DropUpload};
use toolhost_workspace::{Context, Workspace};
use uuid::Uuid;

use super::answer::problem;

/// The most bytes of a file that a client uploads, by default: 10 GiB.
pub const DEFAULT_FILE_SIZE: u64 = 10 << 30;

/// After this long, a part is stored although it is not full, so that the workspace sees that the upload goes on.
const PART_TIME: Duration = Duration::from_secs(20);

/// How many parts are in memory: one that arrives, and one that is stored.
const PARTS: usize = 2;

/// The most bytes of a file that a client uploads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimit(pub(crate) u64);

impl Default for FileLimit {
    fn default() -> Self {
        Self(DEFAULT_FILE_SIZE)
    }
}

impl FileLimit {
    /// Refuses a request whose headers announce that it is none for this.
    pub(super) fn check(self, headers: &HeaderMap) -> Result<(), Problem> {
        if headers.contains_key(CONTENT_RANGE) {
            let detail = "a file is uploaded as a whole: send it without `Content-Range`";
            return Err(Problem::broken_request(detail));
        }
        let encoding = headers.get(CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let detail = "the body has a `Content-Encoding`, and must be the file as it is";
            return Err(Problem::new(Kind::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        if announced(headers).is_some_and(|size| size > self.0) {
            let detail = format!("a file has at most {} bytes here", self.0);
            return Err(Problem::new(Kind::TOO_LARGE, detail));
        }
        Ok(())
    }
}

/// Returns the size that the headers announce.
pub(super) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// An upload that has begun. Dropping it before its end drops the temporary file as well.
struct Begun {
    workspace: Arc<dyn Workspace>,
    id: String,
    has_ended: bool,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let workspace = Arc::clone(&self.workspace);
        let upload = std::mem::take(&mut self.id);
        tokio::spawn(async move {
            let dropped = workspace
                .run(&Context::default(), DropUpload { upload })
                .await;
            if let Err(error) = dropped {
                tracing::debug!(%error, "an upload is left to its workspace, which drops it soon");
            }
        });
    }
}

/// Writes the body of a request to a file.
pub(super) async fn upload(
    files: &ChatFiles,
    path: &str,
    when: Precondition,
    request: Request,
    limit: FileLimit,
    permit: &RequestPermit,
) -> Result<Metadata, Problem> {
    let failed = |error| problem(path, error);
    let workspace = files.workspace();
    let context = Context::default();
    let mut held = Held::default();
    let announced = announced(request.headers()).and_then(|size| usize::try_from(size).ok());
    let part = announced.map_or(MAX_PART, |size| size.clamp(1, MAX_PART));
    held.add(permit, PARTS * part)?;
    let id = Uuid::new_v4().to_string();
    let begin = BeginUpload {
        upload: id.clone(),
        path: path.to_owned(),
        when,
    };
    let mut begun = Begun {
        workspace: Arc::clone(workspace),
        id: id.clone(),
        has_ended: false,
    };
    workspace.run(&context, begin).await.map_err(failed)?;
    let mut parts = Parts::of(request, limit.0);
    let (mut size, mut content) = (0, blake3::Hasher::new());
    let mut next = parts.next(part, PART_TIME).await?;
    while let Some(data) = next {
        content.update(&data);
        let length = data.len() as u64;
        let append = AppendUpload {
            upload: id.clone(),
            offset: size,
            data,
        };
        let storing = async {
            let stored = workspace.run(&context, append).await;
            stored.map_err(failed)
        };
        let receiving = async {
            let received = parts.next(part, PART_TIME).await;
            received.map_err(|error: BodyError| Problem::from(error))
        };
        // If the disk is full, the client hears so at once.
        ((), next) = tokio::try_join!(storing, receiving)?;
        size += length;
    }
    let commit = CommitUpload {
        upload: id,
        path: path.to_owned(),
        size,
        content: content.finalize().to_hex().to_string(),
    };
    let written = workspace.run(&context, commit).await;
    begun.has_ended = true;
    written.map_err(failed)
}
