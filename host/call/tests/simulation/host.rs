//! A host: the real ledger on the model, and what `toolhost-core` does with news.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use toolhost_call::call::{
    Admitted, Begun, Durability, HOST_STOPPED, Interrupted, Ledger, Limits, Outcome, Refused,
};
use toolhost_call::tool::{Content, ErrorKind, Reply, ToolError};
use toolhost_store::{News, Store};

use crate::calls::{Kind, Planned};
use crate::database::Key;
use crate::life::Life;
use crate::link::Link;
use crate::operations::Model;
use crate::store::Shared;
use crate::world::World;

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) life: Arc<Life>,
    pub(crate) store: Arc<Shared>,
    pub(crate) ledger: Ledger,
    pub(crate) number: usize,
}

impl Host {
    /// Starts a host on a machine, and tries again until the database answers.
    pub(crate) async fn start(world: &Arc<World>, machine: usize) -> Arc<Self> {
        let cut_until = Arc::new(Mutex::new(None));
        loop {
            let life = Arc::new(Life::default());
            let link = Link {
                seed: world.seed,
                losses: world.plan.losses,
                number: machine,
                life: Arc::clone(&life),
                database: Arc::clone(&world.database),
                tally: Arc::clone(&world.tally),
                cut_until: Arc::clone(&cut_until),
            };
            let Ok((store, news)) = Shared::open(link).await else {
                sleep(Duration::from_secs(1)).await;
                continue;
            };
            let model = Arc::new(Model(Arc::clone(&store))) as Arc<dyn Store>;
            let stopping = CancellationToken::new();
            // As `HostState::shared` says it.
            let kept = (model, Durability::Power);
            let Ok((ledger, interrupted)) =
                Ledger::open(Limits::default(), kept, None, stopping).await
            else {
                life.kill();
                sleep(Duration::from_secs(1)).await;
                continue;
            };
            let host = Arc::new(Self {
                life,
                store,
                ledger,
                number: machine,
            });
            host.settle(world, interrupted).await;
            tokio::spawn(listen(Arc::clone(world), Arc::clone(&host), news));
            return host;
        }
    }

    /// Gives interrupted calls their outcome, as `host/core/src/host/interrupted.rs` does.
    async fn settle(&self, world: &World, interrupted: Vec<Interrupted>) {
        for call in interrupted {
            let error = ToolError::new(ErrorKind::UnknownOutcome, HOST_STOPPED.to_owned());
            let outcome = Outcome::new(call.call.clone(), call.tool.as_str(), Err(error));
            world.tally.settled();
            self.ledger.settle(&call, outcome).await;
        }
    }

    /// Runs a call, as a request to this host does.
    pub(crate) async fn call(
        &self,
        world: &Arc<World>,
        planned: &Planned,
    ) -> Result<Arc<Outcome>, Refused> {
        self.life.goes_on().await;
        let outcome = self.outcome(world, planned).await;
        self.life.goes_on().await;
        outcome
    }

    async fn outcome(
        &self,
        world: &Arc<World>,
        planned: &Planned,
    ) -> Result<Arc<Outcome>, Refused> {
        loop {
            let known = match self.ledger.begin(&planned.request).await? {
                Begun::Known(known) => known,
                Begun::New(permit) => {
                    if permit.is_resumed() {
                        world.tally.resumed();
                    }
                    let execution = execute(
                        Arc::clone(world),
                        Arc::clone(&self.life),
                        (self.number, planned.clone()),
                        permit.cancelled().clone(),
                    );
                    permit.run(Admitted {
                        execution: execution.map(Ok),
                        read_only: planned.kind == Kind::ReadOnly,
                        resumable: planned.kind == Kind::Again,
                    })?
                }
            };
            if let Some(outcome) = known.outcome().await? {
                return Ok(outcome);
            }
        }
    }
}

/// Does what the other hosts ask for, as `host/core/src/host/neighbours.rs` does.
async fn listen(world: Arc<World>, host: Arc<Host>, mut news: UnboundedReceiver<News>) {
    while let Some(news) = news.recv().await {
        host.life.goes_on().await;
        match news {
            News::Cancelled { chat, call } => host.ledger.cancelled_elsewhere(&chat, &call),
            News::Interrupted => _ = tokio::spawn(take_over(Arc::clone(&world), Arc::clone(&host))),
            News::Reachable => host.ledger.catch_up().await,
            // These are of workspaces and plugins, which the ledger does not know.
            _ => {}
        }
    }
}

/// Takes over the calls of hosts that are lost.
async fn take_over(world: Arc<World>, host: Arc<Host>) {
    if let Ok(calls) = host.ledger.take_over().await {
        host.settle(&world, calls).await;
    }
}

/// Runs the command of a call on its agent.
async fn execute(
    world: Arc<World>,
    life: Arc<Life>,
    (number, planned): (usize, Planned),
    cancelled: CancellationToken,
) -> Outcome {
    life.goes_on().await;
    let Planned {
        request,
        kind,
        takes,
    } = &planned;
    let key: Key = (request.chat.clone(), request.id.clone());
    sleep(Duration::from_millis(1)).await;
    let ends = match kind {
        Kind::ReadOnly => Instant::now() + *takes,
        Kind::Once | Kind::Again => {
            let process = world.agents.start(&key, *takes, *kind == Kind::Again);
            process.ends
        }
    };
    let is_cancelled = tokio::select! {
        biased;
        () = cancelled.cancelled() => true,
        () = sleep_until(ends) => false,
    };
    life.goes_on().await;
    // A run says where it ran, so that two runs have different outcomes. The end of a command that is found again is its own.
    let text = match kind {
        Kind::Again if !is_cancelled => format!("the command {} has ended", key.1),
        _ => format!("{} at {number} at {}", key.1, world.tally.now_ms()),
    };
    let content = vec![Content::Text { text }];
    let is_error = false;
    Outcome {
        cancelled: is_cancelled,
        ..Outcome::new(
            key.1,
            request.tool.as_str(),
            Ok(Reply { content, is_error }),
        )
    }
}
