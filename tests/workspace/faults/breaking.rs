//! The circuit breaker.

use super::*;

use std::time::Instant;

use toolhost_remote::Agents;
use toolhost_workspace::{AgentSpec, Provider, Spec};

const CALLS: u32 = 50;

fn short() -> Timing {
    Timing {
        answer: PATIENCE,
        patience: Duration::from_secs(2),
        ..Timing::default()
    }
}

/// All of them together are faster than half of them would be without a breaker.
fn bound() -> Duration {
    short().patience * CALLS / 2
}

#[tokio::test]
async fn callers_after_the_first_get_an_error_at_once_until_the_agent_is_back() {
    let far = Far::with(short()).await;
    let status = async || far.workspace.status().await;
    far.proxy.refuse().await;
    let first = status().await.unwrap_err().to_string();
    assert!(first.contains("connection refused"), "{first}");
    let begun = Instant::now();
    for _ in 0..CALLS {
        let next = status().await.unwrap_err().to_string();
        assert_eq!(next, first);
    }
    assert!(begun.elapsed() < bound(), "{:?}", begun.elapsed());
    far.proxy.accept().await;
    while status().await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    status().await.unwrap();
}

#[tokio::test]
async fn a_workspace_whose_agent_is_away_is_not_opened_with_patience_by_everybody() {
    let far = Far::new().await;
    far.proxy.refuse().await;
    let mut config = elsewhere::agents("agent", &far.proxy.url);
    config.timing = short();
    let agents = Agents::new(config).unwrap();
    let (name, spec) = ("agent".parse().unwrap(), Spec::Agent(AgentSpec::default()));
    agents.open(&name, &spec).await.unwrap_err();
    let begun = Instant::now();
    for _ in 0..CALLS {
        agents.open(&name, &spec).await.unwrap_err();
    }
    assert!(begun.elapsed() < bound(), "{:?}", begun.elapsed());
    far.proxy.accept().await;
    while agents.open(&name, &spec).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
