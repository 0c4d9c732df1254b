//! Leaks of calls: there are none. `cargo bench --bench hostile -- leak` has the same with 100,000 calls, and their memory.

use serde_json::json;
use toolhost_needs::needs;

use crate::harness::until;
use crate::resources::Measured;

/// In a process of its own, as other tests open files meanwhile. The descriptors of a host are shown to root only.
#[needs(root)]
#[tokio::test]
async fn four_hundred_calls_leave_no_descriptor() {
    let host = Measured::start();
    let descriptors = || {
        let path = format!("/proc/{}/fd", host.child.id());
        std::fs::read_dir(path).unwrap().count()
    };
    let call = || host.try_call("process_list", json!({}));
    for _ in 0..50 {
        assert!(call().await);
    }
    let before = descriptors();
    for _ in 0..50 {
        let eight = (0..8).map(|_| call());
        assert!(
            futures_util::future::join_all(eight)
                .await
                .into_iter()
                .all(|replied| replied)
        );
    }
    // A few more may be there: the runtime and connections have theirs.
    until("the descriptors are closed", || {
        (descriptors() < before + 20).then_some(())
    })
    .await;
}
