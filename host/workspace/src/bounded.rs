//! A workspace that shows only some processes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{self, StreamExt as _};

use toolhost_state::id::ChatId;

use super::{Owner, Workspace};
use crate::files;
use crate::process::{
    AllQuery, Chunk, Error, Info, Listed, Observation, ProcessName, Signal, Snapshot, State,
    WaitOptions, Waited,
};

/// The sight of a caller: which processes it may see.
pub trait Sight: Send + Sync {
    /// Returns whether the caller sees the process of this owner that was started with this key.
    fn sees<'a>(&'a self, owner: Owner<'a>, key: Option<&'a str>) -> BoxFuture<'a, bool>;
}

/// How many processes of a list are looked at together.
const AT_ONCE: usize = 16;

/// A workspace that shows only some processes of another one. Its files are the same.
pub struct Bounded {
    inner: Arc<dyn Workspace>,
    sight: Arc<dyn Sight>,
}

impl Bounded {
    /// Shows of a workspace only the processes that are in sight.
    pub fn new(inner: Arc<dyn Workspace>, sight: Arc<dyn Sight>) -> Self {
        Self { inner, sight }
    }

    /// Returns the entry of a visible process in a list.
    async fn visible(&self, owner: Owner<'_>, id: &str) -> Result<Info, Error> {
        let info = self.inner.info(owner, id).await?;
        match self.sight.sees(owner, info.key.as_deref()).await {
            true => Ok(info),
            false => Err(Error::NotFound(id.to_owned())),
        }
    }
}

/// Returns what all looks show, in their order.
async fn all(looks: Vec<BoxFuture<'_, bool>>) -> impl Iterator<Item = bool> + use<> {
    let seen: Vec<_> = stream::iter(looks).buffered(AT_ONCE).collect().await;
    seen.into_iter()
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

    fn inner(&self) -> Option<&dyn Workspace> {
        Some(&*self.inner)
    }

    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        reach: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>> {
        Box::pin(async move {
            let chat = self.inner.open(chat, reach, id).await?;
            self.visible(Some(&chat), id).await?;
            Ok(chat)
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, Error>> {
        Box::pin(async move {
            let owner = self.inner.find(id).await?;
            self.visible(owner.as_ref(), id).await?;
            Ok(owner)
        })
    }

    fn info<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        Box::pin(self.visible(owner, id))
    }

    fn wait<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        Box::pin(async move {
            self.visible(owner, id).await?;
            self.inner.wait(owner, id, options).await
        })
    }

    fn snapshot<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>> {
        Box::pin(async move {
            self.visible(owner, id).await?;
            self.inner.snapshot(owner, id).await
        })
    }

    fn read<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        Box::pin(async move {
            self.visible(owner, id).await?;
            self.inner.read(owner, id, since, max).await
        })
    }

    fn signal<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move {
            self.visible(owner, id).await?;
            self.inner.signal(owner, id, signal, grace).await
        })
    }

    fn end<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move {
            self.visible(owner, id).await?;
            self.inner.end(owner, id).await
        })
    }

    fn cancel<'a>(&'a self, owner: Owner<'a>, key: &'a str) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move {
            match self.sight.sees(owner, Some(key)).await {
                true => self.inner.cancel(owner, key).await,
                false => Ok(0),
            }
        })
    }

    fn list<'a>(
        &'a self,
        owner: Owner<'a>,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        Box::pin(async move {
            let (mut infos, _) = self.inner.list(owner, running_only, usize::MAX).await?;
            let looks = infos
                .iter()
                .map(|info| self.sight.sees(owner, info.key.as_deref()));
            let mut seen = all(looks.collect()).await;
            infos.retain(|_| seen.next() == Some(true));
            let total = infos.len();
            infos.truncate(max);
            Ok((infos, total))
        })
    }

    fn list_all(&self, query: AllQuery) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move {
            let whole = AllQuery {
                max: usize::MAX,
                ..query
            };
            let mut listed = self.inner.list_all(whole).await?;
            let looks = listed.processes.iter().map(|one| {
                let (owner, key) = (one.owner.as_ref(), one.info.key.as_deref());
                self.sight.sees(owner, key)
            });
            let mut seen = all(looks.collect()).await;
            listed.processes.retain(|_| seen.next() == Some(true));
            listed.total = listed.processes.len();
            listed.processes.truncate(query.max);
            Ok(listed)
        })
    }

    fn observe(
        &self,
        processes: Vec<ProcessName>,
    ) -> BoxFuture<'_, Result<Vec<Observation>, Error>> {
        Box::pin(async move {
            let infos = processes.into_iter().map(async |process| {
                let visible = self.visible(process.owner.as_ref(), &process.id).await;
                visible.is_ok().then_some(process)
            });
            let visible = join_all(infos).await.into_iter().flatten().collect();
            self.inner.observe(visible).await
        })
    }

    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, files::Error>> {
        Box::pin(async move {
            let inner = self.inner.restricted(roots).await?;
            let bounded = Self::new(inner, Arc::clone(&self.sight));
            Ok(Arc::new(bounded) as Arc<dyn Workspace>)
        })
    }

    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        Box::pin(async move {
            let (live, _) = self.list(Some(chat), true, usize::MAX).await?;
            let ends = live.iter().map(|info| self.inner.end(Some(chat), &info.id));
            for ended in join_all(ends).await {
                match ended {
                    Ok(_) | Err(Error::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(live)
        })
    }
}
