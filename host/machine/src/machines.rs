//! The provider of workspaces that have a machine of their own.
//!
//! The engine makes the machine, and the agent in it connects to the host under the name of the workspace. From then on, the workspace is
//! that of the provider of agents.

use std::collections::{BTreeMap, HashMap};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::{
    AgentSpec, Idleness, LogPage, Opened, Phase, Provider, ProviderError, Spec, TemplateSpec,
    Watched,
};

use crate::template::Kind;
use crate::{
    Commands, Connect, Container, Engine, EngineError, Keys, Log, Machine, Standing, Template,
    start_up,
};

/// The directory with the socket, within the state directory.
const DIRECTORY: &str = "machines";

/// The socket at which the host takes the agents of its machines.
const SOCKET: &str = "host.sock";

/// How often the wait for an agent looks whether it is there, and how often whether its machine still runs.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const ASK_EVERY: Duration = Duration::from_secs(2);

/// How long the agent of a machine that was stopped may seem to be connected.
const GONE_WITHIN: Duration = Duration::from_secs(15);

/// Why the workspace of a machine that ended by itself cannot be used.
const ENDED: &str = "the machine ended before its agent had connected";

/// Why the workspace of a machine cannot be used that ended before its start-up script did.
const ENDED_EARLY: &str = "the machine ended while its start-up script ran";

/// The workspaces of templates.
#[derive(Debug)]
pub struct Machines {
    templates: BTreeMap<String, (Template, Arc<dyn Engine>)>,
    keys: Keys,
    socket: PathBuf,
    agents: Arc<dyn Provider>,
    known: Mutex<HashMap<WorkspaceName, Arc<Known>>>,
}

/// The facts about the machine of a workspace that this host has found out.
#[derive(Debug, Default)]
struct Known {
    /// The last start after which the start-up script ran, and the phase that followed. Locked while the machine is worked on.
    turn: tokio::sync::Mutex<Option<(String, Phase)>>,
    phase: Mutex<Option<Phase>>,
    log: Log,
}

impl Known {
    fn set(&self, phase: Option<Phase>) {
        *self.phase.lock() = phase;
    }

    fn failed(&self, text: impl Into<String>) -> ProviderError {
        self.set(Some(Phase::Failed));
        ProviderError::Failed(text.into())
    }

    /// Sets a phase for as long as some work is done.
    async fn during<T>(
        &self,
        phase: Phase,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, ProviderError> {
        self.set(Some(phase));
        self.log.push(match phase {
            Phase::Creating => "the machine is being made",
            Phase::Stopping => "the machine is being stopped",
            _ => "the machine starts",
        });
        work.await.map_err(|error| self.failed(error.to_string()))
    }
}

/// A workspace with its template and its machine.
struct Place<'a> {
    template: &'a Template,
    engine: &'a dyn Engine,
    machine: Machine,
    known: Arc<Known>,
    agent: Spec,
}

impl Place<'_> {
    async fn status(&self) -> Result<Standing, ProviderError> {
        let status = self.engine.status(&self.machine, &self.known.log).await;
        status.map_err(|error| self.known.failed(error.to_string()))
    }

    async fn start(&self) -> Result<(), ProviderError> {
        let starting = self.engine.start(&self.machine, &self.known.log);
        self.known.during(Phase::Starting, starting).await?;
        match self.status().await? {
            Standing::Running { .. } => Ok(()),
            Standing::Missing | Standing::Stopped => Err(self.lost(ENDED).await),
        }
    }

    /// Waits until the machine does not run any more.
    async fn ended(&self) {
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            let standing = self.engine.status(&self.machine, &self.known.log).await;
            if let Ok(Standing::Missing | Standing::Stopped) = standing {
                return;
            }
        }
    }

    /// Writes the output of the machine to the log, and returns the error of a machine that cannot be used.
    async fn lost(&self, problem: &str) -> ProviderError {
        _ = self.engine.tell(&self.machine, &self.known.log).await;
        self.known.log.push(problem);
        self.known.failed(problem)
    }
}

impl Machines {
    /// Makes the directory of the socket in a state directory. The secret of the host outlives it, so that the next one finds its machines.
    ///
    /// # Errors
    ///
    /// If the directory cannot be made.
    pub fn open(
        templates: BTreeMap<String, Template>,
        secret: &[u8; 32],
        state: &Path,
        agents: Arc<dyn Provider>,
    ) -> io::Result<Self> {
        let directory = state.join(DIRECTORY);
        // The users of containers reach it through a mount. The state directory keeps all others out.
        let made = DirBuilder::new().mode(0o755).create(&directory);
        made.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })?;
        let keys = Keys::new(secret);
        let usual = std::env::current_exe()?.with_file_name("toolhost-agent");
        let engine = |template: &Template| -> Arc<dyn Engine> {
            match &template.kind {
                Kind::Container(config) => {
                    let agent = config.agent.clone().unwrap_or_else(|| usual.clone());
                    Arc::new(Container::new(config.clone(), agent, keys.host()))
                }
                Kind::Command(programs) => Arc::new(Commands::new(programs.clone())),
            }
        };
        let templates = templates.into_iter().map(|(name, template)| {
            let engine = engine(&template);
            (name, (template, engine))
        });
        Ok(Self {
            templates: templates.collect(),
            socket: directory.join(SOCKET),
            keys,
            agents,
            known: Mutex::default(),
        })
    }

    /// Returns the templates by their names.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &Template)> {
        let all = self.templates.iter();
        all.map(|(name, (template, _))| (name.as_str(), template))
    }

    /// Returns the path of the socket at which the host has to take the agents of machines.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the token of the agent of a workspace.
    pub fn token(&self, workspace: &WorkspaceName) -> Secret {
        self.keys.token(workspace)
    }

    /// Removes the machines of this host that belong to none of the workspaces which `names` returns.
    pub async fn sweep(&self, names: impl Fn() -> Vec<WorkspaceName> + Sync) {
        let is_kept = |id: &str| names().iter().any(|name| self.keys.id(name) == id);
        let mut swept = Vec::new();
        for (template, engine) in self.templates.values() {
            let Kind::Container(config) = &template.kind else {
                continue;
            };
            if swept.contains(&config.engine) {
                continue;
            }
            swept.push(config.engine.clone());
            match engine.sweep(&is_kept, &Log::default()).await {
                Ok(removed) if removed.is_empty() => {}
                Ok(removed) => {
                    tracing::info!(?removed, "machines without a workspace were removed");
                }
                Err(error) => {
                    tracing::warn!(%error, "machines without a workspace are left until the next start");
                }
            }
        }
    }

    fn template(&self, spec: &TemplateSpec) -> Result<&(Template, Arc<dyn Engine>), ProviderError> {
        self.templates.get(&spec.template).ok_or_else(|| {
            let known: Vec<_> = self.templates.keys().map(String::as_str).collect();
            let text = format!(
                "there is no template {:?}; the templates are {}",
                spec.template,
                known.join(", ")
            );
            ProviderError::Invalid(text)
        })
    }

    fn known(&self, name: &WorkspaceName) -> Arc<Known> {
        let mut known = self.known.lock();
        Arc::clone(known.entry(name.clone()).or_default())
    }

    fn place(&self, name: &WorkspaceName, spec: &Spec) -> Result<Place<'_>, ProviderError> {
        let Spec::Template(spec) = spec else {
            let text = "this workspace is none of a template";
            return Err(ProviderError::Invalid(text.into()));
        };
        let (template, engine) = self.template(spec)?;
        let parameters = template.settings.complete(&spec.parameters);
        Ok(Place {
            machine: Machine {
                id: self.keys.id(name),
                workspace: name.clone(),
                template: spec.template.clone(),
                parameters: parameters.map_err(ProviderError::Invalid)?,
                connect: Connect {
                    socket: self.socket.clone(),
                    token: self.keys.token(name),
                },
            },
            template,
            engine: &**engine,
            known: self.known(name),
            agent: agent(name),
        })
    }

    /// Returns whether the agent of a workspace is connected.
    fn is_connected(&self, name: &WorkspaceName) -> bool {
        self.agents.awaits(name, &agent(name)).is_none()
    }

    /// Waits until the agent has connected. Fails as soon as its machine does not run any more.
    async fn connected(&self, place: &Place<'_>) -> Result<(), ProviderError> {
        let name = &place.machine.workspace;
        let time = place.template.settings.connect();
        let (begun, mut asked) = (Instant::now(), Instant::now());
        while !self.is_connected(name) {
            let problem = if begun.elapsed() >= time {
                format!("its agent did not connect within {} s", time.as_secs())
            } else if asked.elapsed() >= ASK_EVERY {
                asked = Instant::now();
                match place.status().await? {
                    Standing::Running { .. } => continue,
                    _ => ENDED.to_owned(),
                }
            } else {
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            };
            return Err(place.lost(&problem).await);
        }
        Ok(())
    }
}

/// Returns the specification of the agent that connects with the name of a workspace.
fn agent(name: &WorkspaceName) -> Spec {
    Spec::Agent(AgentSpec {
        agent: Some(name.as_str().to_owned()),
        ..AgentSpec::default()
    })
}

impl Provider for Machines {
    fn check(&self, name: &WorkspaceName, spec: &Spec) -> Result<(), ProviderError> {
        let Spec::Template(spec) = spec else {
            return self.place(name, spec).map(drop);
        };
        let (template, _) = self.template(spec)?;
        let complete = template.settings.complete(&spec.parameters);
        complete.map(drop).map_err(ProviderError::Invalid)
    }

    fn open<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<Opened, ProviderError>> {
        Box::pin(async move {
            let place = self.place(name, spec)?;
            let known = &place.known;
            let mut turn = known.turn.lock().await;
            let since = match place.status().await? {
                Standing::Missing => {
                    known.set(None);
                    return Err(ProviderError::NotMade);
                }
                Standing::Stopped => {
                    known.set(Some(Phase::Stopped));
                    return Err(ProviderError::Stopped);
                }
                Standing::Running { since } => since,
            };
            let ran = turn.as_ref().filter(|(start, _)| *start == since);
            let ran = ran.map(|(_, phase)| *phase);
            known.set(Some(ran.unwrap_or(Phase::Starting)));
            if !self.is_connected(name) {
                known.log.push("its agent has to connect");
            }
            self.connected(&place).await?;
            let opened = self.agents.open(name, &place.agent).await;
            let opened = opened.inspect_err(|error| _ = known.failed(error.to_string()))?;
            let phase = match ran {
                Some(phase) => phase,
                None => {
                    let (settings, machine) = (&place.template.settings, &place.machine);
                    let workspace = &*opened.workspace;
                    let running =
                        start_up::run(workspace, settings, &machine.parameters, &since, &known.log);
                    // The workspace would wait for an agent that does not come back.
                    tokio::select! {
                        phase = running => phase,
                        () = place.ended() => return Err(place.lost(ENDED_EARLY).await),
                    }
                }
            };
            *turn = Some((since, phase));
            known.set(Some(phase));
            Ok(opened)
        })
    }

    fn make<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
        _: Watched<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let place = self.place(name, spec)?;
            let _turn = place.known.turn.lock().await;
            if place.status().await? == Standing::Missing {
                let creating = place.engine.create(&place.machine, &place.known.log);
                place.known.during(Phase::Creating, creating).await?;
            }
            place.start().await
        })
    }

    fn start<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let place = self.place(name, spec)?;
            let _turn = place.known.turn.lock().await;
            match place.status().await? {
                Standing::Missing => Err(ProviderError::NotMade),
                Standing::Stopped => place.start().await,
                Standing::Running { .. } => Ok(()),
            }
        })
    }

    fn stop<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let place = self.place(name, spec)?;
            let known = &place.known;
            let _turn = known.turn.lock().await;
            if place.status().await? == Standing::Missing {
                known.set(None);
                return Ok(());
            }
            let stopping = place.engine.stop(&place.machine, &known.log);
            known.during(Phase::Stopping, stopping).await?;
            let begun = Instant::now();
            while self.is_connected(name) && begun.elapsed() < GONE_WITHIN {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            known.set(Some(Phase::Stopped));
            Ok(())
        })
    }

    fn remove<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let place = self.place(name, spec)?;
            let known = &place.known;
            let _turn = known.turn.lock().await;
            if let Standing::Running { .. } = place.status().await? {
                let stopping = place.engine.stop(&place.machine, &known.log);
                known.during(Phase::Stopping, stopping).await?;
            }
            let removing = place.engine.remove(&place.machine, &known.log);
            known.during(Phase::Stopping, removing).await?;
            self.known.lock().remove(name);
            self.agents.remove(name, &place.agent).await
        })
    }

    fn is_usable(&self, name: &WorkspaceName, _: &Spec) -> bool {
        self.is_connected(name)
    }

    fn look<'a>(&'a self, name: &'a WorkspaceName, spec: &'a Spec) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(place) = self.place(name, spec) else {
                return;
            };
            // Another operation works on the machine, and sets its phase.
            let Ok(_turn) = place.known.turn.try_lock() else {
                return;
            };
            let is_known = match self.phase(name) {
                None | Some(Phase::Starting) => false,
                Some(phase) => !phase.is_up() || self.is_connected(name),
            };
            if is_known {
                return;
            }
            if let Ok(standing) = place.status().await {
                place.known.set(match standing {
                    Standing::Missing => None,
                    Standing::Stopped => Some(Phase::Stopped),
                    Standing::Running { .. } if self.is_connected(name) => Some(Phase::Ready),
                    Standing::Running { .. } => Some(Phase::Starting),
                });
            }
        })
    }

    fn phase(&self, name: &WorkspaceName) -> Option<Phase> {
        let known = self.known.lock().get(name).cloned();
        known.and_then(|known| *known.phase.lock())
    }

    fn log(&self, name: &WorkspaceName, after: u64) -> Option<LogPage> {
        let known = self.known.lock().get(name).cloned();
        Some(
            known
                .map(|known| known.log.after(after))
                .unwrap_or_default(),
        )
    }

    fn until_logged<'a>(&'a self, name: &'a WorkspaceName, after: u64) -> BoxFuture<'a, ()> {
        let known = self.known(name);
        Box::pin(async move { known.log.until_after(after).await })
    }

    fn idleness(&self, spec: &Spec) -> Idleness {
        let Spec::Template(spec) = spec else {
            return Idleness::default();
        };
        let Ok((template, _)) = self.template(spec) else {
            return Idleness::default();
        };
        let settings = &template.settings;
        Idleness {
            stopped_after: settings.idle_seconds.map(Duration::from_secs),
            removed_after: settings.remove_seconds.map(Duration::from_secs),
            stays_stopped: !settings.autostart,
        }
    }
}
