//! Limits on the number of calls that one call makes, and on those that run at the same time.

use super::*;
use crate::harness::until;

#[tokio::test]
async fn eight_calls_run_at_the_same_time() {
    let setup = with_caller(&["execute"]).await;
    let wait = |number: usize| {
        let command =
            format!("touch began-{number}; while [ ! -e go ]; do sleep 0.01; done; echo {number}");
        execute(&command)
    };
    let calls: Vec<_> = (0..12).map(wait).collect();
    let request = plan("outer", &json!({ "calls": calls, "together": true }));
    let calling = tokio::spawn({
        let host = setup.host.clone();
        async move { ends(&host, request).await }
    });
    let began = || {
        let began = (0..12).filter(|number| setup.root().join(format!("began-{number}")).exists());
        began.count()
    };
    until("eight commands run", || (began() == 8).then_some(())).await;
    // The outer call is the ninth. The others have not begun, though all are started.
    assert_eq!(setup.host.running_calls(), 9);
    let mut recorded = 0;
    for number in 1..=12 {
        let status = status(&setup.host, &format!("outer/{number}")).await;
        recorded += usize::from(status.is_some());
    }
    assert_eq!(recorded, 8);
    std::fs::write(setup.root().join("go"), "").unwrap();
    let all = calling.await.unwrap();
    for number in 0..12 {
        let output = format!("{number}\n");
        assert_eq!(all[number]["content"][0]["output"], output, "{all}");
    }
}

#[tokio::test]
async fn a_call_makes_a_thousand_calls_and_no_more() {
    let setup = with_caller(&["process_list"]).await;
    let calls = vec![json!({ "tool": "process_list" }); 1001];
    let all = ends(&setup.host, plan("outer", &json!({ "calls": calls }))).await;
    let all = all.as_array().unwrap();
    assert!(all[..1000].iter().all(|end| end["is_error"] == false));
    assert_eq!(all[1000]["error"], "limit", "{}", all[1000]);
    let text = all[1000]["text"].as_str().unwrap();
    assert!(
        text.starts_with("limit of 1000 calls made by one call reached"),
        "{text}"
    );
}
