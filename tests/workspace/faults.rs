//! Faults of the network, of agents and of hosts: nothing runs twice, no output is lost or doubled, and every caller gets an answer.

mod breaking;
mod connecting;
mod errors;
mod events;
mod floods;
mod hosts;
mod lookups;
mod reading;
mod restarts;
mod starts;
mod waiting;
mod writes;

use super::*;

use std::path::Path;

use toolhost_link::Timing;

use crate::harness::proxy::{Fault, Proxy};
use crate::harness::serving::Serving;
use crate::harness::{Server, until};

/// Times that make tests of dead connections short. On a slow machine, there are more attempts.
fn quick() -> Timing {
    Timing {
        answer: Duration::from_millis(300),
        patience: PATIENCE,
        round: Duration::from_millis(500),
        silence: Duration::from_secs(10),
    }
}

/// Times after which no connection is taken for dead.
fn patient() -> Timing {
    Timing {
        answer: PATIENCE,
        patience: PATIENCE,
        ..Timing::default()
    }
}

/// The workspace of an agent behind a proxy.
struct Far {
    place: Place,
    proxy: Proxy,
}

impl std::ops::Deref for Far {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Far {
    /// One with times that no machine is too slow for.
    async fn new() -> Self {
        Self::with(patient()).await
    }

    async fn with(timing: Timing) -> Self {
        let root = tempfile::tempdir().unwrap();
        let local = elsewhere::local(root.path()).await;
        let server = Server::agent(elsewhere::offer(local)).await;
        let proxy = Proxy::to(&server.url).await;
        let workspace = open(&proxy.url, timing).await.unwrap();
        let place = Place {
            workspace,
            root,
            _agent: Some(Box::new(server)),
        };
        Self { place, proxy }
    }

    /// Starts a command that counts how often it ran.
    async fn start_counted(&self, key: Option<&str>) -> Result<(String, bool), Error> {
        let key = key.map(str::to_owned);
        let counted = Command {
            key,
            ..command(COUNTED)
        };
        self.start_for("a", counted).await
    }

    /// Waits until every process has ended, and returns how often the command ran.
    async fn runs(&self) -> usize {
        let all = self.workspace.list(Some(&chat("a")), false, 100).await;
        for info in all.unwrap().0 {
            self.ended(&info.id).await;
        }
        runs(self.root.path())
    }
}

/// A command that leaves a line in a file.
const COUNTED: &str = "echo ran >> runs";

fn runs(root: &Path) -> usize {
    let text = std::fs::read_to_string(root.join("runs")).unwrap_or_default();
    text.lines().count()
}

async fn open(url: &str, timing: Timing) -> Result<Arc<dyn Workspace>, String> {
    let mut config = elsewhere::agents("agent", url);
    config.timing = timing;
    elsewhere::opened(config).await
}
