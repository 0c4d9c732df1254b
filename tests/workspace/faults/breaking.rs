//! The circuit breaker.

use super::*;

use toolhost_link::Agents;
use toolhost_workspace::{AgentSpec, Provider, Spec};

const CALLS: u64 = 50;

/// A caller that no breaker refuses makes several connections within this patience.
fn short() -> Timing {
    Timing {
        answer: PATIENCE,
        patience: Duration::from_secs(2),
        ..Timing::default()
    }
}

/// Has callers fail, the first of them after its patience. Each of the others makes one connection at most, which sees whether the agent is
/// back. Then the agent is back.
async fn breaks(proxy: &Proxy, call: impl AsyncFn() -> Result<(), String>) {
    proxy.cut_all();
    let before = proxy.connections();
    let first = call().await.unwrap_err();
    let made = proxy.connections();
    assert!(made > before + 1, "one caller is patient: {first}");
    for _ in 0..CALLS {
        call().await.unwrap_err();
    }
    let further = proxy.connections() - made;
    assert!(further <= CALLS, "{further} connections");
    proxy.mend();
    while call().await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    call().await.unwrap();
}

#[tokio::test]
async fn callers_after_the_first_get_an_error_at_once_until_the_agent_is_back() {
    let far = Far::with(short()).await;
    breaks(&far.proxy, async || {
        let status = far.workspace.status().await;
        status.map(drop).map_err(|error| error.to_string())
    })
    .await;
}

#[tokio::test]
async fn a_workspace_whose_agent_is_away_is_not_opened_with_patience_by_everybody() {
    let far = Far::new().await;
    let mut config = elsewhere::agents("agent", &far.proxy.url);
    config.timing = short();
    let agents = Agents::new(config).unwrap();
    let (name, spec) = ("agent".parse().unwrap(), Spec::Agent(AgentSpec::default()));
    breaks(&far.proxy, async || {
        let opened = agents.open(&name, &spec).await;
        opened.map(drop).map_err(|error| error.to_string())
    })
    .await;
}
