//! An archive of a directory, in a stream.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::sync::mpsc::{self, Sender};
use toolhost_core::{ChatFiles, Host};
use toolhost_http::guarded_body::Holding;
use toolhost_http::limits::{Held, RequestPermit};
use toolhost_http::problem::{Kind, Problem};
use toolhost_workspace::files::{
    Error, FoundFile, Kind as FileKind, MAX_READ, MAX_RESULTS, Metadata, Page,
};

use super::answer::{of_content, refused};
use super::directory::entries;
use super::download::pieces;
use super::format::Format;
use super::packer::{Entry, Packer};

/// How many entries are looked up together.
const ENTRIES: u64 = 5000;

/// The most bytes in memory: a small file as a whole or pieces of a large one, and of as much what is packed, waits to be sent, and is sent.
const MEMORY: usize = 5 * MAX_READ;

/// Answers with an archive of a directory.
pub(super) async fn download(
    host: Host,
    files: ChatFiles,
    path: String,
    found: &Metadata,
    format: Format,
    permit: &RequestPermit,
) -> Result<Response, Problem> {
    let first = page(&files, &path, 0).await?;
    if first.total > MAX_RESULTS {
        let text = format!(
            "the directory has {} entries, and an archive at most {MAX_RESULTS}: ask for one of its directories",
            first.total
        );
        return Err(refused(Kind::TOO_LARGE, &path, &text));
    }
    let mut held = Held::default();
    held.add(permit, MEMORY)?;
    let name = found.path.file_name().unwrap_or_default();
    let name = match name.to_string_lossy() {
        name if name.is_empty() => "files".to_owned(),
        name => name.into_owned(),
    };
    let mut headers = of_content(&format!("{name}.{}", format.extension()), false);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    let (sender, mut receiver) = mpsc::channel(1);
    let packing = Packing {
        host,
        files,
        path,
        base: found.path.clone(),
        name,
        format,
        packer: Some(Packer::new(format)),
        sender,
    };
    let (first, total) = (first.files, first.total);
    // It begins when the first bytes are asked for, and ends when the client goes.
    let mut packing = Some(async move {
        let sender = packing.sender.clone();
        if let Err(error) = packing.run(first, total).await {
            _ = sender.send(Err(error)).await;
        }
    });
    let pieces = stream::poll_fn(move |context| {
        if let Some(packing) = packing.take() {
            tokio::spawn(packing);
        }
        receiver.poll_recv(context)
    });
    let body = Body::new(Holding::new(Body::from_stream(pieces), held));
    Ok((headers, body).into_response())
}

async fn page(
    files: &ChatFiles,
    path: &str,
    skip: u64,
) -> Result<toolhost_workspace::files::Found, Problem> {
    let max = ENTRIES.min(MAX_RESULTS.saturating_sub(skip));
    entries(files, path.to_owned(), None, Page { skip, max }).await
}

/// An archive on its way to a client.
struct Packing {
    host: Host,
    files: ChatFiles,
    path: String,
    /// The absolute path of the directory, without links.
    base: PathBuf,
    /// The name of the directory, with which the paths of the archive begin.
    name: String,
    format: Format,
    /// `None` while another thread packs.
    packer: Option<Packer>,
    sender: Sender<io::Result<Bytes>>,
}

impl Packing {
    async fn run(mut self, first: Vec<FoundFile>, total: u64) -> io::Result<()> {
        let (mut found, mut done) = (first, 0);
        // The paths that are found are relative to the workspace, or absolute.
        let root = self.files.workspace().root().to_path_buf();
        let mut last = None;
        while !found.is_empty() {
            done += found.len() as u64;
            for file in found {
                // Files that were made meanwhile have moved others to the next page.
                if last.as_ref().is_some_and(|last| *last >= file.path) {
                    continue;
                }
                let absolute = root.join(&file.path);
                let below = absolute.strip_prefix(&self.base).unwrap_or(&file.path);
                self.entry(&file, below).await?;
                last = Some(file.path);
            }
            if done >= total {
                break;
            }
            let next = page(&self.files, &self.path, done).await;
            let next = next.map_err(|problem| io::Error::other(problem.detail().to_owned()))?;
            found = next.files;
        }
        let packer = self.packer.take().ok_or_else(gone)?;
        let rest = packer.finish()?;
        self.send(rest).await
    }

    /// Packs an entry, if it is a file or a directory and still there.
    async fn entry(&mut self, file: &FoundFile, below: &Path) -> io::Result<()> {
        let mut entry = Entry {
            path: format!("{}/{}", self.name, below.to_string_lossy()),
            is_directory: file.kind == FileKind::Directory,
            is_executable: file.executable,
            size: 0,
            modified: file.modified,
        };
        match file.kind {
            FileKind::Symlink | FileKind::Other => return Ok(()),
            FileKind::Directory => {
                entry.path.push('/');
                return self.pack(move |packer| packer.begin(&entry)).await;
            }
            FileKind::File => {}
        }
        // It begins with a file that is there, in one version.
        let path = file.path.to_string_lossy().into_owned();
        let reading = self
            .files
            .workspace()
            .read_file(path.clone(), 0, 1, Arc::default());
        let known = match reading.await {
            Ok(known) => known,
            // It was removed meanwhile, is closed, or its name is no text.
            Err(
                Error::NotFound
                | Error::NotAFile
                | Error::NotADirectory
                | Error::Denied(_)
                | Error::Invalid(_)
                | Error::OutsideWorkspace { .. },
            ) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        entry.size = known.size;
        let found = Metadata {
            kind: FileKind::File,
            size: known.size,
            modified: file.modified,
            version: known.version,
            identity: known.identity,
            path: file.path.clone(),
        };
        self.pack(move |packer| packer.begin(&entry)).await?;
        let pieces = pieces(self.files.clone(), path, found, 0..known.size);
        let mut pieces = pieces.boxed();
        while let Some(piece) = pieces.try_next().await? {
            self.host.count_file_bytes("sent", piece.len() as u64);
            self.pack(move |packer| packer.add(&piece)).await?;
        }
        self.pack(Packer::end).await
    }

    /// Packs something, and sends what came of it. Compression takes a thread that may take its time.
    async fn pack(
        &mut self,
        pack: impl FnOnce(&mut Packer) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let mut packer = self.packer.take().ok_or_else(gone)?;
        let packer = match self.format {
            Format::Tar => {
                pack(&mut packer)?;
                packer
            }
            Format::Gzip | Format::Zip => {
                let packing = tokio::task::spawn_blocking(move || {
                    pack(&mut packer)?;
                    Ok::<_, io::Error>(packer)
                });
                packing.await.map_err(io::Error::other)??
            }
        };
        let packed = packer.take();
        self.packer = Some(packer);
        self.send(packed).await
    }

    async fn send(&self, packed: Vec<u8>) -> io::Result<()> {
        if packed.is_empty() {
            return Ok(());
        }
        let sent = self.sender.send(Ok(packed.into())).await;
        sent.map_err(|_| gone())
    }
}

/// The error of an archive whose client has gone.
fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
