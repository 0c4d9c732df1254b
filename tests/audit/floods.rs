//! Floods: no guest and no token pushes the lines of others out of the trail.

use super::*;

/// Tries to write 1,000 times, and replies.
const WRITE_FLOOD: &str = r#"
(import "toolhost:plugin/files@0.1.0" "write-all" (func $write (param i32 i32 i32)))
(func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32)
  (local $count i32)
  (loop $more
    (call $write (i32.const 0) (i32.const 0) (i32.const 2048))
    (local.set $count (i32.add (local.get $count) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $count) (i32.const 1000))))
  i32.const 288)"#;

/// A guest cannot push out of the trail what came before it.
#[tokio::test]
async fn a_flood_of_denials_is_counted() {
    let trail = Trail::new();
    let audit = trail.open(&Config::default());
    let setup = Setup::with(|builder| {
        let stranger = Options::new("stranger");
        let stranger = Options {
            grants: Grants::default().with_files(FilesGrant::Read),
            ..stranger
        };
        builder
            .without_shell()
            .files(FilesGrant::None)
            .audit(audit)
            .metrics(trail.metrics.clone())
            .plugin(component("write_flood", WRITE_FLOOD.into()), stranger)
    })
    .await;
    assert!(!setup.outcome("t", json!({})).await.is_error());
    setup.host.shutdown().await;
    let events = trail.events();
    assert_eq!(of(&events, "denied").len(), 100);
    assert_eq!(of(&events, "call")[0]["left_out"], 900);
    let counted = "plugin_denials_total{plugin=\"stranger\",capability=\"files\"} 1000\n";
    assert!(trail.metrics.text().contains(counted));
}

/// A host with a trail to which each token may add so many bytes.
async fn shared(trail: &Trail, share: u64) -> Setup {
    let audit = trail.open(&Config {
        share,
        ..Config::default()
    });
    Setup::with(|builder| {
        builder
            .files(FilesGrant::None)
            .audit(audit)
            .metrics(trail.metrics.clone())
            .plugin(guest("well_behaved"), options("p"))
    })
    .await
}

/// Calls that are over at once can fill half of what their token may add; what calls do still gets its lines.
#[tokio::test]
async fn a_flood_of_calls_is_counted_beyond_its_share() {
    let trail = Trail::new();
    let setup = shared(&trail, 100 << 10).await;
    let calls = 400_u64;
    for number in 0..calls {
        let mut flood = request("chat", "t", &json!({}));
        flood.id = format!("{}{number}", "x".repeat(250)).parse().unwrap();
        call(&setup.host, flood).await.unwrap();
    }
    let run = json!({ "command": "true" });
    let run = request("chat", "execute", &run);
    call(&setup.host, run.clone()).await.unwrap();
    setup.host.shutdown().await;
    let written = std::fs::metadata(trail.path().join("audit.jsonl")).unwrap();
    assert!(written.len() < 60 << 10, "{}", written.len());
    let events = trail.events();
    for kept in ["start", "plugin", "stop"] {
        assert!(!of(&events, kept).is_empty(), "{kept}");
    }
    let started = of(&events, "process_start");
    assert_eq!(started[0]["call"], run.id.as_str());
    let count = |name: &str| {
        let there = of(&events, name).len() as u64;
        let left_out = of(&events, "left_out");
        let counts = left_out.iter().map(|event| event["events"][name].as_u64());
        there + counts.map(Option::unwrap_or_default).sum::<u64>()
    };
    assert_eq!(
        (count("call_started"), count("call")),
        (calls + 1, calls + 1)
    );
    let left_out = of(&events, "left_out");
    let sum: u64 = left_out
        .iter()
        .map(|event| event["count"].as_u64().unwrap())
        .sum();
    let counted = format!("toolhost_audit_lines_left_out_total{{principal=\"host\"}} {sum}\n");
    assert!(trail.metrics.text().contains(&counted));
    // A long id is cut, and still told from the others.
    let ids: std::collections::BTreeSet<_> = of(&events, "call_started")
        .iter()
        .map(|event| event["call"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), of(&events, "call_started").len());
    assert!(ids.iter().all(|id| id.len() < 100), "{ids:?}");
}

/// A token that floods the trail takes nothing from the share of another token.
#[tokio::test]
async fn each_token_has_a_share_of_its_own() {
    const FLOODER: &str = "the-token-of-bob";
    let trail = Trail::new();
    let setup = shared(&trail, 20 << 10).await;
    let tokens = [(TOKEN, "ada"), (FLOODER, "bob")]
        .map(|(token, name)| (Token::new(token).unwrap(), Principal::unbounded(name)));
    let server = Server::with_tokens(setup.host.clone(), Tokens::new(tokens)).await;
    let body = json!({ "tool": "t", "arguments": {} });
    let calls = 200;
    for number in 0..calls {
        let url = format!("{}/v1/chats/b/calls/{number}", server.url);
        let call = server.client.put(url).bearer_auth(FLOODER).json(&body);
        assert_eq!(call.send().await.unwrap().status(), 200);
    }
    assert_eq!(server.put("a", "1", body).await.0, 200);
    server.stop().await;

    let events = trail.events();
    let lines = |principal: &str| {
        let ordinary = |event: &&Value| ["call_started", "call"].contains(&kind(event));
        let of = events.iter().filter(ordinary);
        of.filter(|event| event["principal"] == principal).count()
    };
    assert_eq!(lines("ada"), 2);
    let written = lines("bob");
    assert!(0 < written && written < 2 * calls, "{written}");
    let left_out = of(&events, "left_out");
    let [left_out] = left_out[..] else {
        panic!("{left_out:?}")
    };
    assert_eq!(left_out["principal"], "bob");
    assert_eq!(left_out["count"], 2 * calls - written);
    documented(&events);
}
