//! A file in a stream that holds two pieces at a time: one that is sent, and one that is read.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt as _};

use super::answer::{of_content, refused};
use super::conditions::{self, Condition, quoted};
use super::range::{self, Wanted};
use toolhost_core::{ChatFiles, Host};
use toolhost_http::guarded_body::Holding;
use toolhost_http::limits::{Held, RequestPermit};
use toolhost_http::problem::{Kind, Problem};
use toolhost_workspace::files::{MAX_PART, MAX_READ, Metadata};

/// How many pieces are read ahead of the client.
const AHEAD: usize = 2;

/// A file that a client asks for.
pub(super) struct Download {
    pub(super) host: Host,
    pub(super) files: ChatFiles,
    pub(super) path: String,
    pub(super) found: Metadata,
    /// Whether a browser shows it.
    pub(super) is_inline: bool,
}

impl Download {
    /// Answers a request with the file, or with the part that it asks for.
    pub(super) fn answer(
        self,
        headers: &HeaderMap,
        permit: &RequestPermit,
    ) -> Result<Response, Problem> {
        let Metadata { size, version, .. } = &self.found;
        let size = *size;
        match conditions::for_download(headers, &self.found) {
            Condition::Met => {}
            Condition::NotModified => {
                return Ok((StatusCode::NOT_MODIFIED, self.headers()).into_response());
            }
            Condition::Failed => {
                let text = "file changed since it was read";
                return Err(refused(Kind::FILE_CHANGED, &self.path, text));
            }
        }
        let wanted = match conditions::takes_range(headers, version) {
            true => range::wanted(headers, size),
            false => Wanted::All,
        };
        let (status, part) = match wanted {
            Wanted::All => (StatusCode::OK, 0..size),
            Wanted::Part(part) => (StatusCode::PARTIAL_CONTENT, part),
            Wanted::None => {
                let text = format!("the file has {size} bytes, and the range is none of them");
                let problem = refused(Kind::NO_RANGE, &self.path, &text);
                return Ok(([(CONTENT_RANGE, format!("bytes */{size}"))], problem).into_response());
            }
        };
        let mut held = Held::default();
        held.add(permit, AHEAD * piece_of(size))?;
        let mut answer = self.headers();
        answer.insert(CONTENT_LENGTH, (part.end - part.start).into());
        if status == StatusCode::PARTIAL_CONTENT {
            let range = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            if let Ok(range) = HeaderValue::from_str(&range) {
                answer.insert(CONTENT_RANGE, range);
            }
        }
        let host = self.host;
        let pieces = pieces(self.files, self.path, self.found, part).inspect(move |piece| {
            let bytes = piece.as_ref().map_or(0, Bytes::len);
            host.count_file_bytes("sent", bytes as u64);
        });
        let body = Body::new(Holding::new(Body::from_stream(pieces), held));
        Ok((status, answer, body).into_response())
    }

    fn headers(&self) -> HeaderMap {
        let name = self.path.trim_end_matches('/');
        let name = name.rsplit('/').next().unwrap_or_default();
        let mut headers = of_content(name, self.is_inline);
        let kind = mime_guess::from_path(name).first_raw();
        let kind = kind.unwrap_or("application/octet-stream");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let texts = [
            (ETAG, quoted(&self.found.version)),
            (LAST_MODIFIED, httpdate::fmt_http_date(self.found.modified)),
        ];
        for (name, text) in texts {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// Returns the size of the pieces of a file. A file whose version is a hash of its content is read at once.
fn piece_of(size: u64) -> usize {
    match usize::try_from(size) {
        Ok(size) if size <= MAX_READ => size,
        _ => MAX_PART,
    }
}

/// Returns a part of a file of one version, piece by piece. If there is another version at the path, the last piece is an error.
pub(super) fn pieces(
    files: ChatFiles,
    path: String,
    found: Metadata,
    part: Range<u64>,
) -> impl Stream<Item = io::Result<Bytes>> {
    let piece = piece_of(found.size).max(1);
    let offsets = stream::iter(part.clone().step_by(piece));
    let (path, version) = (Arc::new(path), Arc::new(found.version));
    let read = move |offset: u64| {
        let (files, path, version) = (files.clone(), Arc::clone(&path), Arc::clone(&version));
        let length = usize::try_from(part.end - offset).unwrap_or(usize::MAX);
        let length = length.min(piece);
        async move {
            let path = String::clone(&path);
            let read = files
                .workspace()
                .read_file(path, offset, length, Arc::default());
            let chunk = read.await.map_err(io::Error::other)?;
            if chunk.version != *version || chunk.data.len() != length {
                return Err(io::Error::other("the file changed while it was read"));
            }
            Ok(Bytes::from(chunk.data))
        }
    };
    offsets.map(read).buffered(AHEAD)
}
