//! Looking into other chats: a plugin reaches the processes of the calling chat, and no others.

use serde_json::json;
use toolhost_plugin::Limits;

use super::contained::{Attack, End, contained};

/// With the id of a process in hand: in the chat of the process it is opened, in another one there is no such process, and
/// none at all.
#[tokio::test]
async fn chat_spy() {
    let attack = Attack::new("chat_spy", Limits::default()).await;
    let command = toolhost_workspace::process::Command {
        command: "sleep 1000".into(),
        background: true,
        ..Default::default()
    };
    let victim: toolhost_core::ChatId = "victim".parse().unwrap();
    let processes = attack.setup.host.local().unwrap().processes();
    let id = processes
        .start(&victim, command)
        .await
        .unwrap()
        .id()
        .to_owned();
    let arguments = json!({ "id": id });
    End::Reply("01").assert(attack.call("victim", &arguments).await.as_ref());
    // The letter is that of `not-found`, the second error of the contract.
    for guess in [&id, "", "../../x", "x"] {
        let spied = attack.call("hostile", &json!({ "id": guess })).await;
        End::Reply("b0").assert(&spied);
    }
    attack.goes_on().await;
    attack.setup.host.shutdown().await;
}

#[tokio::test]
async fn id_guesser() {
    contained("id_guesser").await;
}
