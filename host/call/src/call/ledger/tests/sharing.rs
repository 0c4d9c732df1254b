//! Calls in a store that other hosts use, too.

use toolhost_store::Store;

use super::failing::Failing;
use super::*;

/// A call that runs at a host with a shared store, and the sender that ends it.
async fn running(store: &Arc<Failing>) -> (Ledger, Arc<Request>, oneshot::Sender<()>) {
    let kept = (Arc::clone(store) as Arc<dyn Store>, Durability::Power);
    let opened = Ledger::open(Limits::default(), kept, None, CancellationToken::new());
    let (ledger, _) = opened.await.unwrap();
    let request = Arc::new(request("a", "1", "{}"));
    let (end, ends) = oneshot::channel::<()>();
    let (begun, begins) = oneshot::channel();
    let mut calling = Box::pin(ledger.run_once(&request, |_| {
        admitted::<_, Refused>(async move {
            begun.send(()).unwrap();
            ends.await.unwrap();
            outcome("here")
        })
    }));
    assert!(futures_util::poll!(calling.as_mut()).is_pending());
    begins.await.unwrap();
    drop(calling);
    (ledger, request, end)
}

fn store() -> Arc<Failing> {
    Arc::new(Failing::shared(Sqlite::in_memory().unwrap()))
}

async fn repeat(ledger: &Ledger, request: &Arc<Request>) -> Result<Arc<Outcome>, Refused> {
    let again =
        |_: &Permit| -> Result<Admitted<std::future::Ready<Result<Outcome, Refused>>>, Refused> {
            panic!("ran twice")
        };
    ledger.run_once(request, again).await
}

/// Lets the end of a call fail, and returns whether its caller has an answer after a minute.
async fn fail_to_end(
    store: &Failing,
    ledger: &Ledger,
    request: &Arc<Request>,
    end: oneshot::Sender<()>,
) -> bool {
    store.fail(true);
    end.send(()).unwrap();
    let told = tokio::time::timeout(Duration::from_mins(1), repeat(ledger, request));
    told.await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_told_when_all_hosts_would_tell_it() {
    let store = store();
    let (ledger, request, end) = running(&store).await;
    assert!(!fail_to_end(&store, &ledger, &request, end).await);
    store.fail(false);
    let told = repeat(&ledger, &request).await.unwrap();
    let known = store.call(request.chat.clone(), request.id.clone()).await;
    let stored = known.unwrap().unwrap().outcome.unwrap();
    assert_eq!(serde_json::to_string(&*told).unwrap(), stored);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_ends_waits_for_no_store() {
    let store = store();
    let stopping = CancellationToken::new();
    let kept = (Arc::clone(&store) as Arc<dyn Store>, Durability::Power);
    let opened = Ledger::open(Limits::default(), kept, None, stopping.clone());
    let (ledger, _) = opened.await.unwrap();
    let request = Arc::new(request("a", "1", "{}"));
    let failing = Arc::clone(&store);
    let (begun, begins) = oneshot::channel();
    let calling = ledger.run_once(&request, |_| {
        admitted::<_, Refused>(async move {
            failing.fail(true);
            begun.send(()).unwrap();
            outcome("here")
        })
    });
    let ending = async {
        begins.await.unwrap();
        tokio::time::sleep(Duration::from_mins(1)).await;
        stopping.cancel();
    };
    let (told, ()) = tokio::join!(calling, ending);
    assert_eq!(told.unwrap_err(), Refused::Closed);
    // The end waits, and is stored as soon as it can be.
    store.fail(false);
    ledger.finish().await;
    let known = store.call(request.chat.clone(), request.id.clone()).await;
    assert!(known.unwrap().unwrap().outcome.unwrap().contains("here"));
}

#[tokio::test]
async fn a_call_that_another_host_withdraws_runs_here() {
    let store = store();
    let kept = (Arc::clone(&store) as Arc<dyn Store>, Durability::Power);
    let opened = Ledger::open(Limits::default(), kept, None, CancellationToken::new());
    let (ledger, _) = opened.await.unwrap();
    store.begin_elsewhere();
    let request = Arc::new(request("a", "1", "{}"));
    let mut admissions = 0;
    let told = ledger.run(&request, |_| {
        admissions += 1;
        admitted::<_, Refused>(async { outcome("here") })
    });
    assert!(told.await.unwrap().result.is_ok());
    assert_eq!(admissions, 2);
}
