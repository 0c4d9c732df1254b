//! A workspace that shows only some processes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{self, StreamExt as _};

use toolhost_state::id::ChatId;

use super::{Context, Owner, Workspace};
use crate::files;
use crate::operation::{
    Answer, Cancel, End, EndChat, Find, InfoOf, List, ListAll, ListPorts, Observe, Open, Operation,
    Read, SendInput, SendSignal, TakeSnapshot, Wait,
};
use crate::process::{AllQuery, Connecting, Error, Info, Listed, Observation, Port, ProcessName};

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

    async fn open(&self, Open { chat, reach, id }: &Open) -> Result<ChatId, Error> {
        let chat = self.inner.open(chat, reach.as_deref(), id).await?;
        self.visible(Some(&chat), id).await?;
        Ok(chat)
    }

    async fn find(&self, id: &str) -> Result<Option<ChatId>, Error> {
        let owner = self.inner.find(id).await?;
        self.visible(owner.as_ref(), id).await?;
        Ok(owner)
    }

    async fn list(
        &self,
        owner: Owner<'_>,
        running_only: bool,
        max: usize,
    ) -> Result<(Vec<Info>, usize), Error> {
        let (mut infos, _) = self.inner.list(owner, running_only, usize::MAX).await?;
        let looks = infos
            .iter()
            .map(|info| self.sight.sees(owner, info.key.as_deref()));
        let mut seen = all(looks.collect()).await;
        infos.retain(|_| seen.next() == Some(true));
        let total = infos.len();
        infos.truncate(max);
        Ok((infos, total))
    }

    async fn list_all(&self, query: &AllQuery) -> Result<Listed, Error> {
        let whole = AllQuery {
            max: usize::MAX,
            ..query.clone()
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
    }

    async fn observe(&self, processes: &[ProcessName]) -> Result<Vec<Observation>, Error> {
        let infos = processes.iter().map(async |process| {
            let visible = self.visible(process.owner.as_ref(), &process.id).await;
            visible.is_ok().then(|| process.clone())
        });
        let visible = join_all(infos).await.into_iter().flatten().collect();
        self.inner.observe(visible).await
    }

    /// A wait for a port of any process ends at the first one, also if that is not in sight.
    async fn list_ports(&self, asked: &ListPorts) -> Result<Vec<Port>, Error> {
        let ListPorts {
            chat,
            process,
            within,
        } = asked;
        if let Some(id) = process {
            self.visible(Some(chat), id).await?;
        }
        let ports = self.inner.list_ports(chat, process.as_deref(), *within);
        let mut visible = Vec::new();
        for port in ports.await? {
            if self.visible(Some(chat), &port.process).await.is_ok() {
                visible.push(port);
            }
        }
        Ok(visible)
    }

    async fn end_chat(&self, chat: &ChatId) -> Result<Vec<Info>, Error> {
        let (live, _) = self.list(Some(chat), true, usize::MAX).await?;
        let ends = live.iter().map(|info| self.inner.end(Some(chat), &info.id));
        for ended in join_all(ends).await {
            match ended {
                Ok(_) | Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(live)
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

    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let visible = match &operation {
                Operation::InfoOf(InfoOf { owner, id }) => {
                    return Answer::InfoOf(self.visible(owner.as_ref(), id).await);
                }
                Operation::Wait(Wait { owner, id, .. })
                | Operation::TakeSnapshot(TakeSnapshot { owner, id })
                | Operation::Read(Read { owner, id, .. })
                | Operation::SendSignal(SendSignal { owner, id, .. })
                | Operation::SendInput(SendInput { owner, id, .. })
                | Operation::End(End { owner, id }) => self.visible(owner.as_ref(), id).await,
                Operation::Open(open) => return Answer::Open(self.open(open).await),
                Operation::Find(Find { id }) => return Answer::Find(self.find(id).await),
                Operation::Cancel(Cancel { owner, key })
                    if !self.sight.sees(owner.as_ref(), Some(key)).await =>
                {
                    return Answer::Cancel(Ok(0));
                }
                Operation::List(List {
                    owner,
                    running_only,
                    max,
                }) => {
                    return Answer::List(self.list(owner.as_ref(), *running_only, *max).await);
                }
                Operation::ListAll(ListAll { query }) => {
                    return Answer::ListAll(self.list_all(query).await);
                }
                Operation::EndChat(EndChat { chat }) => {
                    return Answer::EndChat(self.end_chat(chat).await);
                }
                Operation::Observe(Observe { processes }) => {
                    return Answer::Observe(self.observe(processes).await);
                }
                Operation::ListPorts(asked) => {
                    return Answer::ListPorts(self.list_ports(asked).await);
                }
                _ => return self.inner.call(context, operation).await,
            };
            match visible {
                Ok(_) => self.inner.call(context, operation).await,
                Err(error) => operation.failed(error),
            }
        })
    }

    fn connect<'a>(&'a self, chat: &'a ChatId, port: u16) -> Connecting<'a> {
        Box::pin(async move {
            let ports = self.inner.list_ports(chat, None, Duration::ZERO).await?;
            let found = ports.into_iter().find(|found| found.number == port);
            let process = found.ok_or(Error::NotListening(port))?.process;
            let visible = self.visible(Some(chat), &process).await;
            visible.map_err(|error| match error {
                Error::NotFound(_) => Error::NotListening(port),
                other => other,
            })?;
            self.inner.connect(chat, port).await
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
}
