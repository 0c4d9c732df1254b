//! A workspace in which only some processes are there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};

use super::{OpenError, Workspace};
use crate::files::{self, Entry, Metadata, Work, Write};
use crate::process::{Chunk, Command, Error, Info, Signal, Snapshot, State, WaitOptions, Waited};
use toolhost_state::id::ChatId;

/// Tells whether the process of a chat that was started under this key is there.
pub(crate) type Sees = Arc<dyn Fn(&ChatId, Option<&str>) -> bool + Send + Sync>;

/// Another workspace, with fewer processes. Its files are the same.
pub(crate) struct Bounded {
    inner: Arc<dyn Workspace>,
    sees: Sees,
}

impl Bounded {
    pub(crate) fn new(inner: Arc<dyn Workspace>, sees: Sees) -> Self {
        Self { inner, sees }
    }

    /// Returns what a list shows of a process that is there.
    async fn find(&self, chat: &ChatId, id: &str) -> Result<Info, Error> {
        let info = self.inner.info(chat, id).await?;
        match (self.sees)(chat, info.key.as_deref()) {
            true => Ok(info),
            false => Err(Error::NotFound(id.to_owned())),
        }
    }
}

impl fmt::Debug for Bounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Bounded");
        shown.field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Workspace for Bounded {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn start<'a>(
        &'a self,
        chat: &'a ChatId,
        command: Command,
    ) -> BoxFuture<'a, Result<String, Error>> {
        self.inner.start(chat, command)
    }

    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        reach: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>> {
        Box::pin(async move {
            let chat = self.inner.open(chat, reach, id).await?;
            self.find(&chat, id).await?;
            Ok(chat)
        })
    }

    fn info<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        Box::pin(self.find(chat, id))
    }

    fn wait<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        Box::pin(async move {
            self.find(chat, id).await?;
            self.inner.wait(chat, id, options).await
        })
    }

    fn snapshot<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>> {
        Box::pin(async move {
            self.find(chat, id).await?;
            self.inner.snapshot(chat, id).await
        })
    }

    fn read<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        Box::pin(async move {
            self.find(chat, id).await?;
            self.inner.read(chat, id, since, max).await
        })
    }

    fn signal<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move {
            self.find(chat, id).await?;
            self.inner.signal(chat, id, signal, grace).await
        })
    }

    fn end<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move {
            self.find(chat, id).await?;
            self.inner.end(chat, id).await
        })
    }

    fn list<'a>(
        &'a self,
        chat: &'a ChatId,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        Box::pin(async move {
            let (mut infos, _) = self.inner.list(chat, running_only, usize::MAX).await?;
            infos.retain(|info| (self.sees)(chat, info.key.as_deref()));
            let total = infos.len();
            infos.truncate(max);
            Ok((infos, total))
        })
    }

    fn metadata(
        &self,
        path: String,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<Metadata, files::Error>> {
        self.inner.metadata(path, work)
    }

    fn read_file(
        &self,
        path: String,
        offset: u64,
        max: usize,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<files::Chunk, files::Error>> {
        self.inner.read_file(path, offset, max, work)
    }

    fn skip_lines(
        &self,
        path: String,
        offset: u64,
        lines: u64,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<files::Skipped, files::Error>> {
        self.inner.skip_lines(path, offset, lines, work)
    }

    fn write_files(
        &self,
        writes: Vec<Write>,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, files::Error)>> {
        self.inner.write_files(writes, work)
    }

    fn read_directory(
        &self,
        path: String,
        after: Option<String>,
        max: usize,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<(Vec<Entry>, bool), files::Error>> {
        self.inner.read_directory(path, after, max, work)
    }

    fn restricted(&self, roots: &[PathBuf]) -> Result<Arc<dyn Workspace>, OpenError> {
        let inner = self.inner.restricted(roots)?;
        Ok(Arc::new(Self::new(inner, Arc::clone(&self.sees))))
    }

    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        Box::pin(async move {
            let (live, _) = self.list(chat, true, usize::MAX).await?;
            let ends = live.iter().map(|info| self.inner.end(chat, &info.id));
            for ended in join_all(ends).await {
                match ended {
                    Ok(_) | Err(Error::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(live)
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, Vec<Info>> {
        self.inner.shutdown()
    }

    fn kill_now(&self) {
        self.inner.kill_now();
    }
}
