//! Outputs of processes as resources.

use super::*;

#[tokio::test]
async fn the_output_of_a_process_is_a_resource() {
    let mut client = Pipes::initialized(&[]).await;
    client.call(execute("printf 'one\\ntwo ä\\n'")).await;
    let listed = client.request("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let [resource] = &resources[..] else {
        panic!("{listed}")
    };
    assert_eq!(
        (&resource["mimeType"], &resource["size"]),
        (&json!("text/plain"), &json!(11))
    );
    let uri = resource["uri"].as_str().unwrap().to_owned();
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(
        (&contents["text"], &contents["mimeType"]),
        (&json!("one\ntwo ä\n"), &json!("text/plain"))
    );
    assert_eq!(contents["_meta"]["io.toolhost/end"], true, "{read}");
    // A part ends between characters, and says where the next begins.
    let part = json!({ "uri": format!("{uri}?since=4&max=5") });
    let part = client.request("resources/read", part).await;
    let contents = &part["result"]["contents"][0];
    assert_eq!(
        (&contents["text"], &contents["_meta"]["io.toolhost/next"]),
        (&json!("two "), &json!(8))
    );

    let templates = client.request("resources/templates/list", json!({})).await;
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap();
    assert!(templates.iter().all(|template| {
        template["uriTemplate"]
            .as_str()
            .unwrap()
            .starts_with("toolhost://processes/{id}/output")
    }));

    for (uri, code) in [
        (uri.replace("/output", "/input"), -32002),
        ("toolhost://processes/unknown/output".to_owned(), -32002),
        ("file:///etc/passwd".to_owned(), -32002),
        (format!("{uri}?since=x"), -32602),
    ] {
        let refused = client
            .request("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    // To other chats, it is not there.
    let other = json!({ "uri": uri, "_meta": { "io.toolhost/chat": "other" } });
    assert_eq!(
        client.request("resources/read", other).await["error"]["code"],
        -32002
    );
    let other = json!({ "_meta": { "io.toolhost/chat": "other" } });
    assert_eq!(
        client.request("resources/list", other).await["result"]["resources"],
        json!([])
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_are_a_blob() {
    let mut client = Pipes::initialized(&[]).await;
    client.call(execute("printf '\\377\\000'")).await;
    let listed = client.request("resources/list", json!({})).await;
    let uri = &listed["result"]["resources"][0]["uri"];
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(
        (&contents["blob"], &contents["mimeType"]),
        (&json!("/wA="), &json!("application/octet-stream"))
    );
}
