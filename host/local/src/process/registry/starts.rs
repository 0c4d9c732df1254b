//! Starting processes: the slot in the chat, the record, the program, and the life that follows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::Registry;
use super::chats::{Number, Owner};
use super::slot::{Slot, refusal};
use crate::process::contain::{
    self, Directories, Output, Preparation, Spawn, Spawned, Spawner, Watch,
};
use crate::process::lifecycle::Life;
use crate::process::pipe_reader::PipeReader;
use crate::process::record::Record;
use crate::process::room::{BATCH, short_of_descriptors};
use crate::process::running::Process;
use crate::process::{Cause, Command, Error, State, Stdin, ending, environment, shortage, workdir};
use toolhost_sandbox::{Narrower, Sandbox};
use toolhost_state::id::ChatId;

/// After how many starts the upkeep runs at the latest. Each start can leave 64 KiB in memory.
const STARTS_BEFORE_LOOK: usize = 256;

/// How often idle chats give back what they hold for one start.
const MOST_TRIES: usize = 8;

impl Registry {
    /// Starts a command for a chat, or for none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] or [`Error::Workdir`] for a bad command, [`Error::Limit`] if the chat has too many live processes,
    /// [`Error::KeyReused`] if another command was started with the same key, or if the command names the id of another
    /// process, [`Error::Busy`] if this machine has no room, [`Error::Failed`] if the system refused, [`Error::Closed`] if the host shuts down or the chat has ended. After
    /// these errors, nothing was started. [`Error::Interrupted`] if the shutdown or the end came while the process started.
    pub async fn start<'a>(
        self: &Arc<Self>,
        chat: impl Into<Option<&'a ChatId>>,
        command: Command,
    ) -> Result<Arc<Process>, Error> {
        let (process, _) = self.start_or_find(&self.workspace, chat, command).await?;
        Ok(process)
    }

    /// As [`Registry::start`], but in this workspace. Also returns whether this call started the process. An earlier start with the
    /// same key may have started it.
    ///
    /// # Errors
    ///
    /// See [`Registry::start`].
    pub(crate) async fn start_or_find<'a>(
        self: &Arc<Self>,
        workspace: &Arc<Path>,
        chat: impl Into<Option<&'a ChatId>>,
        command: Command,
    ) -> Result<(Arc<Process>, bool), Error> {
        command.check()?;
        let owner = chat.into().cloned();
        let (registry, workspace) = (Arc::clone(self), Arc::clone(workspace));
        // Each start runs in a task of its own: a caller that is dropped meanwhile does not interrupt it halfway, and a repeat must
        // still find it.
        let Some(key) = &command.key else {
            let slot = self.admit(workspace, owner, None, command.id())?;
            let start = async move { registry.spawn(slot, &command).await };
            let started = self.runtime.spawn(start).await;
            return Ok((started.unwrap_or_else(|error| Err(failed(&error)))?, true));
        };
        let (number, start) = {
            let mut chats = self.open_chats()?;
            let chat = chats.entry(&owner, &self.keeper.outputs);
            if let Some(known) = chat.earlier(&command) {
                return Ok((known?, false));
            }
            (chat.number, chat.keyed(key, command.digest())?)
        };
        let started = self.runtime.spawn(async move {
            let mut is_new = false;
            let start_new = || {
                is_new = true;
                registry.start_new(workspace, owner, number, command)
            };
            let process = start.get_or_try_init(start_new).await?;
            Ok((Arc::clone(process), is_new))
        });
        started.await.unwrap_or_else(|error| Err(failed(&error)))
    }

    /// Makes the sandbox of a chat that is about to start a command in the workspace of this registry, and does not wait for it. If
    /// that fails, the start fails.
    pub fn expect_start(self: &Arc<Self>, chat: &ChatId) {
        let owner = Some(chat.clone());
        let Ok(mut chats) = self.open_chats() else {
            return;
        };
        let confined = Arc::clone(&chats.entry(&owner, &self.keeper.outputs).confined);
        drop(chats);
        let registry = Arc::clone(self);
        let making = async move {
            let wish = Narrower::default();
            let workspace = &registry.workspace;
            _ = registry.sandbox(workspace, &confined, &owner, &wish).await;
        };
        self.lives.spawn_on(making, &self.runtime);
    }

    async fn start_new(
        self: &Arc<Self>,
        workspace: Arc<Path>,
        owner: Owner,
        number: Number,
        command: Command,
    ) -> Result<Arc<Process>, Error> {
        let slot = self.admit(workspace, owner, Some(number), command.id())?;
        self.spawn(slot, &command).await
    }

    /// Counts a start, and wakes the upkeep after many, because it may have to free their output.
    fn note_start(&self) {
        let earlier = self.started.fetch_add(1, Ordering::Relaxed);
        if earlier % STARTS_BEFORE_LOOK == STARTS_BEFORE_LOOK - 1 {
            self.crowded.notify_one();
        }
    }

    /// Takes a slot for one more process of a chat. If a number is given, only of the chat that has it.
    pub(super) fn admit(
        self: &Arc<Self>,
        workspace: Arc<Path>,
        owner: Owner,
        number: Option<Number>,
        id: Option<&str>,
    ) -> Result<Slot, Error> {
        let mut chats = self.open_chats()?;
        if let Some(id) = id.filter(|id| chats.has(id)) {
            return Err(Error::KeyReused(id.to_owned()));
        }
        let chat = match number {
            // A repeat that waited for another start can come so late that its chat has ended. The next chat of the same name
            // does not know its key.
            Some(number) => chats.same(&owner, number).ok_or(Error::Closed)?,
            None => chats.entry(&owner, &self.keeper.outputs),
        };
        let starting = chat.starting;
        let live = chat.live();
        if live.len() + starting >= self.limits.live_per_chat {
            return Err(Error::Limit(refusal(live, self.limits.live_per_chat)));
        }
        chat.starting += 1;
        let (outputs, number) = (Arc::clone(&chat.outputs), chat.number);
        let confined = Arc::clone(&chat.confined);
        let under_way = [chat.starts.token(), self.lives.token()];
        Ok(Slot {
            registry: Arc::clone(self),
            outputs,
            confined,
            number,
            owner,
            workspace,
            taken: true,
            id: id.map(|id| chats.reserve(id)),
            _under_way: under_way,
        })
    }

    async fn spawn(
        self: &Arc<Self>,
        mut slot: Slot,
        command: &Command,
    ) -> Result<Arc<Process>, Error> {
        self.note_start();
        let workdir = workdir::resolve(command.workdir.as_deref(), &slot.workspace)?;
        let record = Record::new(slot.owner.as_ref(), command, &workdir);
        let output = slot.outputs.output();
        // The store knows the process before it runs: after a crash it is lost, not unknown.
        self.keeper.starting(&record, &output).await;
        if !slot.is_wanted() {
            // The steps above can take so long that the chat or the host has ended meanwhile.
            self.keeper.withdraw(record.id).await;
            return Err(Error::Closed);
        }
        let (spawned, sandbox) = match self.contain_with_room(&slot, command, &record).await {
            Ok(spawned) => spawned,
            Err(error) => {
                if let Error::Busy(why) = &error {
                    self.note_refused(slot.owner.as_ref(), why);
                }
                self.keeper.withdraw(record.id).await;
                return Err(error);
            }
        };
        let Spawned {
            contained,
            watch,
            output: written,
            input,
        } = spawned;
        let mut process = Process::started(
            record,
            contained,
            output,
            Arc::clone(&self.counts),
            self.subscribers.clone(),
        );
        {
            let _runtime = self.runtime.enter();
            let size = match command.stdin {
                Stdin::Terminal(size) => Some(size),
                Stdin::None | Stdin::Bytes(_) | Stdin::Pipe => None,
            };
            process.open_input(input, size, &self.drawing);
        }
        process.deadline = command
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        process.reserved = slot.id.clone();
        process.sandbox = Mutex::new(Some(sandbox));
        let process = Arc::new(process);
        // Announce and run the process only after it is registered: subscribers that hear of it look it up.
        let registered = slot.register(Arc::clone(&process));
        process.announce();
        self.spawn_life(Arc::clone(&process), watch, written, None);
        if registered {
            Ok(process)
        } else {
            // The registry was closed, or the chat ended, while this started.
            process.saved.remove();
            self.keeper.forget(&[Arc::clone(&process)]).await;
            let kill_now = self.kill_now.clone();
            let end = async move {
                ending::end(&process, Duration::ZERO, &kill_now, Cause::Shutdown).await;
                // The slot keeps the tasks that wait for starts under way waiting until here.
                drop(slot);
            };
            self.ending.spawn_on(end, &self.runtime);
            Err(Error::Interrupted)
        }
    }

    /// Starts a command in the sandbox of its chat. If the machine has no room, tries again for as long as idle chats can give back what they
    /// hold.
    async fn contain_with_room(
        &self,
        slot: &Slot,
        command: &Command,
        record: &Record,
    ) -> Result<(Spawned, Arc<Sandbox>), Error> {
        // The files of a kept command take descriptors before the sandbox is looked at.
        if self.keep.is_some() && short_of_descriptors().is_some() {
            self.give_back(BATCH).await;
        }
        let kept = self.prepare_to_keep(&record.id).await?;
        let kept = kept.as_ref();
        for _ in 0..MOST_TRIES {
            match self.contain(slot, command, record, kept).await {
                Err(Error::Busy(_)) if self.give_back(BATCH).await > 0 => {}
                done => return done,
            }
        }
        self.contain(slot, command, record, kept).await
    }

    /// Starts a command in the sandbox of its chat.
    async fn contain(
        &self,
        slot: &Slot,
        command: &Command,
        record: &Record,
        kept: Option<&Preparation>,
    ) -> Result<(Spawned, Arc<Sandbox>), Error> {
        let shell = self.shell.as_ref().ok_or_else(|| {
            Error::Failed(
                "there is no shell: no directory in PATH has an sh that can be executed".into(),
            )
        })?;
        let workdir = record.workdir.as_path();
        let mut is_first = true;
        loop {
            let owner = slot.owner.as_ref();
            let (workspace, sandboxes) = (&slot.workspace, &slot.confined);
            let confined = self
                .sandbox(workspace, sandboxes, &slot.owner, &command.sandbox)
                .await?;
            let mut env = self
                .environment
                .of_command(&command.trace, &command.env, owner);
            env.extend(confined.variables(command));
            if matches!(command.stdin, Stdin::Terminal(_)) {
                environment::name_terminal(&mut env, &command.env);
            }
            if kept.is_some() {
                let directories = confined.directories();
                self.note_directories(&record.id, directories).await;
            }
            let layers = confined.layer_namespaces();
            let spawn = Spawn {
                shell: &shell.path,
                command: &command.command,
                workdir,
                env: &env,
                stdin: &command.stdin,
                nice: self.limits.nice,
                oom_score_adj: self.limits.oom_score_adj,
                sandbox: &confined.sandbox,
                kept,
                layers: layers.as_deref(),
            };
            let spawner = confined.spawner.as_ref();
            match contain::spawn(spawner.or(self.spawner.as_ref()), &spawn).await {
                Ok(spawned) => return Ok((spawned, confined.sandbox)),
                // Another process killed the spawner of the chat: the chat gets another.
                Err(_) if is_first && spawner.is_some_and(Spawner::has_ended) => is_first = false,
                Err(error) if shortage::shortage(&error).is_some() => {
                    return Err(shortage::failed("cannot start the command", &error));
                }
                Err(error) => {
                    let directory = workdir.to_path_buf();
                    // A file system can hang.
                    let root = confined.root();
                    let root =
                        root.map_err(|error| shortage::failed("cannot look at workdir", &error))?;
                    let checking = move || workdir::check(&directory, root.as_ref());
                    let checked = tokio::task::spawn_blocking(checking).await;
                    checked.unwrap_or_else(|error| Err(failed(&error)))?;
                    let kind = self.containment().kind;
                    return Err(Error::Failed(contain::explain(&error, &spawn, kind)));
                }
            }
        }
    }

    /// Moves a process along to its end in a task, or until it is left to the next host. `directories`: those that it uses until then.
    pub(super) fn spawn_life(
        &self,
        process: Arc<Process>,
        watch: Watch,
        output: Output,
        directories: Option<Arc<Directories>>,
    ) {
        let _runtime = self.runtime.enter();
        let (keeper, counts) = (Arc::clone(&self.keeper), Arc::clone(&self.counts));
        let reader = PipeReader::new(output, Arc::clone(&self.pipes));
        let reader = reader.inspect_err(
            |error| tracing::error!(process = process.id(), %error, "failed to read output"),
        );
        let limit = self.limits.output;
        let moved = Arc::clone(&process);
        let life = async move {
            let process = moved;
            let life = Life::new(Arc::clone(&process), watch, reader.ok(), limit);
            // A process that was taken over may have outlived its shell already.
            let rest = if matches!(process.state(), State::Lingering(_)) {
                Some(life)
            } else {
                let rest = life.finish().await;
                counts.ended(&process.state());
                if rest.is_some() {
                    keeper.lingers(&process).await;
                }
                rest
            };
            if let Some(rest) = rest {
                rest.outlive().await;
            }
            drop(directories);
            process.note_over();
            // An ended process holds no descriptor, and no more of a screen than what it showed.
            process.input.lock().await.close();
            if let Some(drawing) = &process.drawing {
                drawing.end().await;
            }
            keeper.ended(&process).await;
        };
        let life = self.until_left(process, life);
        self.lives.spawn_on(life, &self.runtime);
    }
}

fn failed(error: &JoinError) -> Error {
    Error::Failed(error.to_string())
}
