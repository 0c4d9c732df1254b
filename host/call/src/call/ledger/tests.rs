//! The promises of the ledger, without a host around it.

mod cancelling;
mod failing;
mod full;
mod lives;
mod lookup;
mod restart;
mod resuming;
mod sharing;
mod turned_away;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;

use super::*;
use crate::call::Arguments;
use crate::tool::{Content, Reply};

fn request(chat: &str, id: &str, arguments: &str) -> Request {
    Request::new(
        chat.parse().unwrap(),
        id.parse().unwrap(),
        "t",
        Arguments::parse(arguments).unwrap(),
    )
}

fn forgetful() -> Ledger {
    Ledger::new(Limits::default()).unwrap()
}

fn anyone() -> Actor {
    Actor::default()
}

/// Lets so many seconds pass, and the ledger sweep.
async fn pass(ledger: &Ledger, seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
    ledger.shared.sweep_now().await;
}

fn outcome(text: &str) -> Outcome {
    let content = vec![Content::Text { text: text.into() }];
    let is_error = false;
    let reply = Reply { content, is_error };
    Outcome::new("call".parse().unwrap(), "t", Ok(reply))
}

fn admitted<R, E>(
    execution: R,
) -> Result<Admitted<impl Future<Output = Result<Outcome, Refused>>>, E>
where
    R: Future<Output = Outcome>,
{
    Ok(Admitted {
        execution: async { Ok(execution.await) },
        read_only: false,
        resumable: false,
    })
}

impl Ledger {
    /// Returns the outcome of a call. If it is new, runs it as `admit` says.
    async fn run<F, R, E>(&self, request: &Arc<Request>, mut admit: F) -> Result<Arc<Outcome>, E>
    where
        E: From<Refused>,
        F: FnMut(&Permit) -> Result<Admitted<R>, E>,
        R: Future<Output = Result<Outcome, Refused>> + Send + 'static,
    {
        loop {
            let known = match self.begin(request).await? {
                Begun::Known(known) => known,
                Begun::New(permit) => {
                    let admitted = admit(&permit)?;
                    permit.run(admitted)?
                }
            };
            if let Some(outcome) = known.outcome().await? {
                return Ok(outcome);
            }
        }
    }

    /// Returns the outcome of a call that is admitted once, at most.
    async fn run_once<F, R, E>(&self, request: &Arc<Request>, admit: F) -> Result<Arc<Outcome>, E>
    where
        E: From<Refused>,
        F: FnOnce(&Permit) -> Result<Admitted<R>, E>,
        R: Future<Output = Result<Outcome, Refused>> + Send + 'static,
    {
        let mut admit = Some(admit);
        let once = |permit: &Permit| admit.take().expect("admitted once")(permit);
        self.run(request, once).await
    }
}

async fn run(
    ledger: &Ledger,
    request: &Request,
    runs: &Arc<AtomicUsize>,
) -> Result<String, Refused> {
    let runs = Arc::clone(runs);
    let execution = async move { outcome(&runs.fetch_add(1, Ordering::SeqCst).to_string()) };
    let outcome = ledger
        .run_once(&Arc::new(request.clone()), |_| admitted(execution))
        .await?;
    match &outcome.result.as_ref().unwrap().content[0] {
        Content::Text { text } => Ok(text.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_repeat_gets_the_saved_outcome() {
    let (ledger, runs) = (forgetful(), Arc::default());
    for _ in 0..3 {
        assert_eq!(
            run(&ledger, &request("a", "1", "{\"x\":1}"), &runs)
                .await
                .unwrap(),
            "0"
        );
    }
    assert_eq!(
        run(&ledger, &request("a", "1", "{ \"x\": 1.0 }"), &runs)
            .await
            .unwrap(),
        "0"
    );
    assert_eq!(
        run(&ledger, &request("a", "1", "{\"x\":2}"), &runs).await,
        Err(Refused::InputMismatch)
    );
    let other_tool = Request {
        tool: "u".into(),
        ..request("a", "1", "{\"x\":1}")
    };
    assert_eq!(
        run(&ledger, &other_tool, &runs).await,
        Err(Refused::InputMismatch)
    );
    assert_eq!(
        run(&ledger, &request("a", "2", "{\"x\":1}"), &runs)
            .await
            .unwrap(),
        "1"
    );
    assert_eq!(
        run(&ledger, &request("b", "1", "{\"x\":2}"), &runs)
            .await
            .unwrap(),
        "2"
    );
}

#[tokio::test]
async fn parallel_callers_share_one_execution_even_if_the_first_leaves() {
    let ledger = forgetful();
    let request = Arc::new(request("a", "1", "{}"));
    let (go, gate) = oneshot::channel::<()>();
    let first = ledger.run_once(&request, |_| {
        admitted::<_, Refused>(async move {
            gate.await.unwrap();
            outcome("once")
        })
    });
    let mut first = Box::pin(first);
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    drop(first);
    let again =
        |_: &Permit| -> Result<Admitted<std::future::Ready<Result<Outcome, Refused>>>, Refused> {
            panic!("ran twice")
        };
    let others = (0..10).map(|_| ledger.run_once(&request, again));
    let mut others = Box::pin(futures_util::future::join_all(others));
    assert!(futures_util::poll!(others.as_mut()).is_pending());
    go.send(()).unwrap();
    for outcome in others.await {
        assert!(!outcome.unwrap().is_error());
    }
}

#[tokio::test]
async fn a_refused_admission_leaves_no_trace() {
    let (ledger, runs) = (forgetful(), Arc::default());
    let request = Arc::new(request("a", "1", "{}"));
    let busy = Refused::Busy("busy".into());
    let refused = ledger
        .run_once(&request, |_| {
            Err::<Admitted<std::future::Ready<Result<Outcome, Refused>>>, _>(busy.clone())
        })
        .await;
    assert_eq!(refused.unwrap_err(), busy);
    assert_eq!(run(&ledger, &request, &runs).await.unwrap(), "0");
}

#[tokio::test]
async fn a_panic_is_saved_as_a_failure() {
    let ledger = forgetful();
    let request = Arc::new(request("a", "1", "{}"));
    for _ in 0..2 {
        let outcome = ledger
            .run_once(&request, |_| {
                admitted::<_, Refused>(async { panic!("boom") })
            })
            .await
            .unwrap();
        assert_eq!(outcome.state(), crate::call::State::Failed);
    }
}

#[tokio::test(start_paused = true)]
async fn outcomes_go_first_and_ids_later() {
    let limits = Limits {
        keep_per_chat: 1,
        ..Limits::default()
    };
    let (ledger, runs) = (Ledger::new(limits).unwrap(), Arc::default());
    run(&ledger, &request("a", "1", "{}"), &runs).await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    run(&ledger, &request("a", "2", "{}"), &runs).await.unwrap();
    pass(&ledger, 2 * 3600).await;
    assert_eq!(
        run(&ledger, &request("a", "1", "{}"), &runs).await,
        Err(Refused::Gone)
    );
    assert_eq!(
        run(&ledger, &request("a", "2", "{}"), &runs).await.unwrap(),
        "1"
    );
    // The outcome of the first went now, and from now on its id is remembered for a day.
    pass(&ledger, 24 * 3600 - 60).await;
    assert_eq!(
        run(&ledger, &request("a", "1", "{}"), &runs).await,
        Err(Refused::Gone)
    );
    pass(&ledger, 120).await;
    assert_eq!(
        run(&ledger, &request("a", "1", "{}"), &runs).await.unwrap(),
        "2"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_was_kept_for_long_is_remembered_for_a_day_more() {
    let limits = Limits {
        keep_per_chat: 1,
        ..Limits::default()
    };
    let (ledger, runs) = (Ledger::new(limits).unwrap(), Arc::default());
    run(&ledger, &request("a", "1", "{}"), &runs).await.unwrap();
    pass(&ledger, 48 * 3600).await;
    // It was kept as the last of its chat, which another one is now.
    run(&ledger, &request("a", "2", "{}"), &runs).await.unwrap();
    pass(&ledger, 61).await;
    assert_eq!(
        run(&ledger, &request("a", "1", "{}"), &runs).await,
        Err(Refused::Gone)
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_does_not_depend_on_how_much_follows() {
    let limits = Limits {
        keep_per_chat: 1,
        tombstones_per_chat: 1,
        ..Limits::default()
    };
    let (ledger, runs) = (Ledger::new(limits).unwrap(), Arc::default());
    let tombstone = request("a", "tombstone", "{}");
    ledger
        .cancel(&tombstone.chat, &tombstone.id, &anyone())
        .await
        .unwrap();
    run(&ledger, &request("a", "1", "{}"), &runs).await.unwrap();
    for id in 2..20 {
        pass(&ledger, 60).await;
        run(&ledger, &request("a", &id.to_string(), "{}"), &runs)
            .await
            .unwrap();
    }
    pass(&ledger, 2 * 3600).await;
    let of = async |id: &str| run(&ledger, &request("a", id, "{}"), &runs).await;
    assert_eq!(of("tombstone").await, Err(Refused::Cancelled));
    assert_eq!(of("1").await, Err(Refused::Gone));
    pass(&ledger, 23 * 3600).await;
    assert_eq!(of("1").await, Err(Refused::Gone));
    assert_eq!(of("tombstone").await.unwrap(), "19");
}

#[tokio::test(start_paused = true)]
async fn ids_are_bounded_at_once_and_a_busy_chat_loses_its_own() {
    let limits = Limits {
        bytes: 80_000,
        ..Limits::default()
    };
    let (ledger, runs) = (Ledger::new(limits).unwrap(), Arc::default());
    let tombstone = async |chat: &str, id: String| {
        let request = request(chat, &id, "{}");
        tokio::time::advance(Duration::from_micros(1)).await;
        ledger
            .cancel(&request.chat, &request.id, &anyone())
            .await
            .unwrap();
    };
    tombstone("quiet", "1".into()).await;
    // No minute passes meanwhile.
    for id in 0..1000 {
        tombstone("busy", id.to_string()).await;
        assert!(ledger.shared.sweeper.kept().ids <= 80_000 / 4 / 200);
    }
    let of = async |chat: &str, id: &str| run(&ledger, &request(chat, id, "{}"), &runs).await;
    assert_eq!(of("quiet", "1").await, Err(Refused::Cancelled));
    assert_eq!(of("busy", "999").await, Err(Refused::Cancelled));
    assert_eq!(of("busy", "0").await.unwrap(), "0");
    let kept = ledger.shared.sweeper.kept();
    ledger.shared.sweep_now().await;
    assert_eq!(ledger.shared.sweeper.kept(), kept);
}

#[tokio::test(start_paused = true)]
async fn bytes_are_bounded() {
    let (ledger, runs) = (
        Ledger::new(Limits {
            bytes: 8000,
            ..Limits::default()
        })
        .unwrap(),
        Arc::default(),
    );
    for id in 0..60 {
        tokio::time::advance(Duration::from_millis(1)).await;
        run(&ledger, &request("a", &id.to_string(), "{}"), &runs)
            .await
            .unwrap();
    }
    // There is room for a few outcomes and a dozen tombstones; the first ids are forgotten altogether.
    let kept = ledger.shared.sweeper.kept();
    assert!(kept.bytes <= 8000, "{kept:?}");
    let known = kept.outcomes + kept.ids;
    assert!((6..=12).contains(&kept.ids) && known < 60, "{kept:?}");
    assert_eq!(
        run(&ledger, &request("a", "59", "{}"), &runs)
            .await
            .unwrap(),
        "59"
    );
}
