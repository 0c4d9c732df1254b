//! The workspaces of a host as one: each operation goes to the workspace of its chat.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use futures_util::future::{BoxFuture, join_all};
use tokio::time::timeout;
use toolhost_call::call::WorkspaceError;
use toolhost_state::id::ChatId;
use toolhost_workspace::operation::{Answer, Find, ListAll, Observe, Open, Operation, Start};
use toolhost_workspace::process::{
    AllQuery, Connecting, Error, ListPlace, Listed, Observation, ProcessName, Started, Subscriber,
};
use toolhost_workspace::{Context, Owner, Status, Workspace};

use super::Workspaces;
use super::elsewhere::ONE_OF_MANY;

/// All workspaces of a host, for callers that do not know the workspace of a chat. Files are those of the default workspace.
///
/// The directories of one machine share their registry of processes, so the default workspace answers for the processes of all of them.
/// An agent answers for those of its chats.
#[derive(Debug)]
pub(in crate::host) struct Routed(pub(in crate::host) Arc<Workspaces>);

impl Routed {
    /// Returns the workspace that knows the processes of a chat.
    async fn registry(&self, owner: Owner<'_>) -> Result<Arc<dyn Workspace>, Error> {
        let elsewhere = match owner {
            Some(chat) => self.0.registry_elsewhere(chat).await,
            None => None,
        };
        match elsewhere {
            Some(opened) => opened.map_err(|error| unavailable(&error)),
            None => Ok(Arc::clone(&self.0.default)),
        }
    }

    /// Returns the workspace of a chat, for something new.
    async fn opened(&self, chat: &ChatId) -> Result<Arc<dyn Workspace>, Error> {
        let place = self.0.place(chat).map_err(|error| unavailable(&error))?;
        self.0
            .opened(&place, || Some(self.0.oversight().of_chat(chat)))
            .await
            .map_err(|error| unavailable(&error))
    }

    /// Returns the chat of a process that an agent runs.
    async fn find_elsewhere(&self, id: &str) -> Result<Option<ChatId>, Error> {
        let agents = self.0.open_elsewhere();
        let asked = agents.iter().map(async |(name, workspace)| {
            let found = timeout(ONE_OF_MANY, workspace.find(id)).await;
            match found.unwrap_or_else(|_| Err(Error::Unavailable("it does not answer".into()))) {
                Ok(found) => Ok(found.filter(|chat| self.0.of_chat(chat) == *name)),
                Err(Error::NotFound(_)) => Ok(None),
                Err(error) => Err(format!(
                    "the process may be in the workspace \"{name}\", which cannot be asked now: {error}"
                )),
            }
        });
        let mut unasked = None;
        for answer in join_all(asked).await {
            match answer {
                Ok(Some(chat)) => return Ok(Some(chat)),
                Ok(None) => {}
                Err(reason) => unasked = Some(reason),
            }
        }
        Err(match unasked {
            Some(reason) => Error::Unavailable(reason),
            None => Error::NotFound(id.to_owned()),
        })
    }

    async fn status(&self) -> Result<Status, Error> {
        let status = self.0.default.status().await?;
        Ok(Status {
            named: Some(self.0.counts()),
            ..status
        })
    }

    async fn start(&self, Start { owner, command }: Start) -> Result<Started, Error> {
        let workspace = match &owner {
            Some(chat) => self.opened(chat).await?,
            None => Arc::clone(&self.0.default),
        };
        workspace.start(owner.as_ref(), command).await
    }

    async fn open(&self, Open { chat, reach, id }: &Open) -> Result<ChatId, Error> {
        let registry = self.registry(Some(chat)).await?;
        let opened = registry.open(chat, reach.as_deref(), id).await;
        let (error, reach) = match (opened, reach) {
            (Err(error @ Error::NotFound(_)), Some(reach)) => (error, reach),
            (opened, _) => return opened,
        };
        match self.find(id).await? {
            Some(owner) if owner.as_str().starts_with(reach) => Ok(owner),
            _ => Err(error),
        }
    }

    async fn find(&self, id: &str) -> Result<Option<ChatId>, Error> {
        match self.0.default.find(id).await {
            Err(Error::NotFound(_)) => self.find_elsewhere(id).await,
            found => found,
        }
    }

    async fn list_all(&self, query: AllQuery) -> Result<Listed, Error> {
        let max = query.max;
        let mut all = self.0.default.list_all(query.clone()).await?;
        for (name, listed) in self.0.list_elsewhere(&query).await {
            match listed {
                Some(listed) => {
                    all.processes.extend(listed.processes);
                    all.total += listed.total;
                }
                None => all.unanswered.push(name.as_str().to_owned()),
            }
        }
        all.processes
            .sort_by_cached_key(|one| ListPlace::of(&one.info));
        all.processes.truncate(max);
        Ok(all)
    }

    /// Each agent is asked for the processes of its own chats. Agents that do not answer are passed over.
    async fn observe(&self, processes: Vec<ProcessName>) -> Result<Vec<Observation>, Error> {
        let mut here = Vec::new();
        let mut elsewhere = BTreeMap::<_, Vec<_>>::new();
        for process in processes {
            match &process.owner {
                Some(chat) if self.0.is_elsewhere(chat) => {
                    let name = self.0.of_chat(chat);
                    elsewhere.entry(name).or_default().push(process);
                }
                _ => here.push(process),
            }
        }
        let mut all = self.0.default.observe(here).await?;
        let mut agents = match elsewhere.is_empty() {
            true => Vec::new(),
            false => self.0.open_elsewhere(),
        };
        let asked = agents.iter_mut().filter_map(|(name, workspace)| {
            let own = elsewhere.remove(name)?;
            Some(async move {
                let asked = workspace.observe(own.clone());
                let mut found = timeout(ONE_OF_MANY, asked).await.ok()?.ok()?;
                found.retain(|one| own.contains(&one.process));
                for one in &mut found {
                    // An agent is not trusted with the screen of the reader.
                    one.last_line = one
                        .last_line
                        .take()
                        .and_then(|line| Observation::line(&line));
                }
                Some(found)
            })
        });
        let asked: Vec<_> = asked.collect();
        all.extend(join_all(asked).await.into_iter().flatten().flatten());
        Ok(all)
    }
}

impl Workspace for Routed {
    fn root(&self) -> &Path {
        self.0.default.root()
    }

    fn inner(&self) -> Option<&dyn Workspace> {
        Some(&*self.0.default)
    }

    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            match operation {
                Operation::GetStatus(_) => Answer::GetStatus(self.status().await),
                Operation::Start(start) => Answer::Start(self.start(start).await),
                Operation::Open(open) => Answer::Open(self.open(&open).await),
                Operation::Find(Find { id }) => Answer::Find(self.find(&id).await),
                Operation::ListAll(ListAll { query }) => {
                    Answer::ListAll(self.list_all(query).await)
                }
                Operation::Observe(Observe { processes }) => {
                    Answer::Observe(self.observe(processes).await)
                }
                other => match self.registry(other.owner()).await {
                    Ok(registry) => registry.call(context, other).await,
                    Err(error) => other.failed(error),
                },
            }
        })
    }

    fn connect<'a>(&'a self, chat: &'a ChatId, port: u16) -> Connecting<'a> {
        Box::pin(async move {
            let registry = self.registry(Some(chat)).await?;
            registry.connect(chat, port).await
        })
    }

    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        self.0.default.subscribe(Weak::clone(&subscriber));
        self.0.subscribe_elsewhere(subscriber);
    }
}

fn unavailable(error: &WorkspaceError) -> Error {
    Error::Unavailable(error.to_string())
}
