//! The operations of a workspace as calls with types.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolhost_state::id::ChatId;

use crate::files::{self, CpuAccount, Entry, Found, Matches, Metadata, Removal, Skipped, Write};
use crate::operation::{
    Cancel, End, EndChat, Find, FindFiles, GetStatus, InfoOf, List, ListAll, ListPorts, MetadataOf,
    Observe, Open, Read, ReadDirectory, ReadFile, Resolve, SearchText, SendInput, SendSignal,
    SkipLines, Start, TakeSnapshot, Typed, Wait, WriteFiles,
};
use crate::process::{
    AllQuery, Chunk, Command, Error, Info, Input, Listed, Observation, Port, ProcessName, Signal,
    Snapshot, Started, State, WaitOptions, Waited,
};
use crate::{Context, Owner, Status, Workspace};

impl dyn Workspace + '_ {
    /// Does an operation.
    pub async fn run<O: Typed>(&self, context: &Context, operation: O) -> O::Answer {
        O::answered(self.call(context, operation.into()).await)
    }

    /// Does an operation that uses no files.
    async fn ask<O: Typed>(&self, operation: O) -> O::Answer {
        self.run(&Context::default(), operation).await
    }

    /// Does an operation on files.
    async fn pay<O: Typed>(&self, account: Arc<CpuAccount>, operation: O) -> O::Answer {
        self.run(&Context { account }, operation).await
    }

    /// See [`GetStatus`].
    pub async fn status(&self) -> Result<Status, Error> {
        self.ask(GetStatus {}).await
    }

    /// See [`Start`].
    pub async fn start(&self, owner: Owner<'_>, command: Command) -> Result<Started, Error> {
        self.ask(Start {
            owner: owner.cloned(),
            command,
        })
        .await
    }

    /// See [`Open`].
    pub async fn open(
        &self,
        chat: &ChatId,
        reach: Option<&str>,
        id: &str,
    ) -> Result<ChatId, Error> {
        self.ask(Open {
            chat: chat.clone(),
            reach: reach.map(str::to_owned),
            id: id.to_owned(),
        })
        .await
    }

    /// See [`Find`].
    pub async fn find(&self, id: &str) -> Result<Option<ChatId>, Error> {
        self.ask(Find { id: id.to_owned() }).await
    }

    /// See [`InfoOf`].
    pub async fn info(&self, owner: Owner<'_>, id: &str) -> Result<Info, Error> {
        self.ask(InfoOf {
            owner: owner.cloned(),
            id: id.to_owned(),
        })
        .await
    }

    /// See [`Wait`].
    pub async fn wait(
        &self,
        owner: Owner<'_>,
        id: &str,
        options: WaitOptions,
    ) -> Result<Waited, Error> {
        self.ask(Wait {
            owner: owner.cloned(),
            id: id.to_owned(),
            options,
        })
        .await
    }

    /// See [`TakeSnapshot`].
    pub async fn snapshot(&self, owner: Owner<'_>, id: &str) -> Result<Snapshot, Error> {
        self.ask(TakeSnapshot {
            owner: owner.cloned(),
            id: id.to_owned(),
        })
        .await
    }

    /// See [`Read`].
    pub async fn read(
        &self,
        owner: Owner<'_>,
        id: &str,
        since: u64,
        max: usize,
    ) -> Result<Chunk, Error> {
        self.ask(Read {
            owner: owner.cloned(),
            id: id.to_owned(),
            since,
            max,
        })
        .await
    }

    /// See [`SendSignal`].
    pub async fn signal(
        &self,
        owner: Owner<'_>,
        id: &str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> Result<State, Error> {
        self.ask(SendSignal {
            owner: owner.cloned(),
            id: id.to_owned(),
            signal,
            grace,
        })
        .await
    }

    /// See [`SendInput`].
    pub async fn input(
        &self,
        owner: Owner<'_>,
        id: &str,
        input: Input,
        key: Option<String>,
    ) -> Result<State, Error> {
        self.ask(SendInput {
            owner: owner.cloned(),
            id: id.to_owned(),
            input,
            key,
        })
        .await
    }

    /// See [`End`].
    pub async fn end(&self, owner: Owner<'_>, id: &str) -> Result<State, Error> {
        self.ask(End {
            owner: owner.cloned(),
            id: id.to_owned(),
        })
        .await
    }

    /// See [`Cancel`].
    pub async fn cancel(&self, owner: Owner<'_>, key: &str) -> Result<usize, Error> {
        self.ask(Cancel {
            owner: owner.cloned(),
            key: key.to_owned(),
        })
        .await
    }

    /// See [`List`].
    pub async fn list(
        &self,
        owner: Owner<'_>,
        running_only: bool,
        max: usize,
    ) -> Result<(Vec<Info>, usize), Error> {
        self.ask(List {
            owner: owner.cloned(),
            running_only,
            max,
        })
        .await
    }

    /// See [`ListAll`].
    pub async fn list_all(&self, query: AllQuery) -> Result<Listed, Error> {
        self.ask(ListAll { query }).await
    }

    /// See [`Observe`].
    pub async fn observe(&self, processes: Vec<ProcessName>) -> Result<Vec<Observation>, Error> {
        self.ask(Observe { processes }).await
    }

    /// See [`ListPorts`].
    pub async fn list_ports(
        &self,
        chat: &ChatId,
        process: Option<&str>,
        within: Duration,
    ) -> Result<Vec<Port>, Error> {
        self.ask(ListPorts {
            chat: chat.clone(),
            process: process.map(str::to_owned),
            within,
        })
        .await
    }

    /// See [`EndChat`].
    pub async fn end_chat(&self, chat: &ChatId) -> Result<Vec<Info>, Error> {
        self.ask(EndChat { chat: chat.clone() }).await
    }

    /// See [`MetadataOf`].
    pub async fn metadata(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> Result<Metadata, files::Error> {
        self.pay(account, MetadataOf { path }).await
    }

    /// See [`ReadFile`].
    pub async fn read_file(
        &self,
        path: String,
        offset: u64,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> Result<files::Chunk, files::Error> {
        self.pay(account, ReadFile { path, offset, max }).await
    }

    /// See [`SkipLines`].
    pub async fn skip_lines(
        &self,
        path: String,
        offset: u64,
        lines: u64,
        account: Arc<CpuAccount>,
    ) -> Result<Skipped, files::Error> {
        self.pay(
            account,
            SkipLines {
                path,
                offset,
                lines,
            },
        )
        .await
    }

    /// See [`WriteFiles`]. Removes nothing.
    pub async fn write_files(
        &self,
        writes: Vec<Write>,
        account: Arc<CpuAccount>,
    ) -> Result<Vec<Metadata>, (usize, files::Error)> {
        self.change_files(writes, Vec::new(), account).await
    }

    /// See [`WriteFiles`].
    pub async fn change_files(
        &self,
        writes: Vec<Write>,
        removals: Vec<Removal>,
        account: Arc<CpuAccount>,
    ) -> Result<Vec<Metadata>, (usize, files::Error)> {
        self.pay(account, WriteFiles { writes, removals }).await
    }

    /// See [`ReadDirectory`].
    pub async fn read_directory(
        &self,
        path: String,
        after: Option<String>,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> Result<(Vec<Entry>, bool), files::Error> {
        self.pay(account, ReadDirectory { path, after, max }).await
    }

    /// See [`SearchText`].
    pub async fn search_text(
        &self,
        operation: SearchText,
        account: Arc<CpuAccount>,
    ) -> Result<Matches, files::Error> {
        self.pay(account, operation).await
    }

    /// See [`FindFiles`].
    pub async fn find_files(
        &self,
        operation: FindFiles,
        account: Arc<CpuAccount>,
    ) -> Result<Found, files::Error> {
        self.pay(account, operation).await
    }

    /// See [`Resolve`].
    pub async fn resolve(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> Result<PathBuf, files::Error> {
        self.pay(account, Resolve { path }).await
    }
}
