//! Templates: what they say, and which a token may use.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_template_says_whether_a_call_starts_a_machine() {
    let machines = Machines::new(&[(
        "box",
        "autostart = false\ntitle = 'A box'\ntags = ['small']",
    )]);
    let listed = machines.done(Method::GET, "/v1/templates", None).await;
    let described = json!({
        "name": "box", "provider": "command", "title": "A box", "tags": ["small"], "autostart": false,
        "parameters": { "type": "object", "additionalProperties": false }, "workspaces": 0, "chats": 0,
    });
    assert_eq!(listed, json!({ "templates": [described] }));
    let one = machines.done(Method::GET, "/v1/templates/box", None).await;
    assert_eq!(one, described);
    let (status, unknown) = machines.ask(Method::GET, "/v1/templates/b", None).await;
    assert_eq!(
        (status, &unknown["code"]),
        (404, &json!("unknown_template"))
    );

    let path = "/v1/workspaces/a";
    for (body, said) in [
        (
            json!({ "provider": "template" }),
            "a machine has a `template`",
        ),
        (
            json!({ "provider": "template", "template": "other" }),
            "the templates are box",
        ),
        (
            json!({ "provider": "template", "template": "box", "parameters": { "size": 1 } }),
            "parameters: ",
        ),
        (
            json!({ "provider": "directory", "parameters": {} }),
            "parameters are of the provider",
        ),
    ] {
        let (status, refused) = machines.ask(Method::PUT, path, Some(body.clone())).await;
        let detail = refused["detail"].to_string();
        assert!(status == 400 && detail.contains(said), "{body}: {refused}");
    }
    machines.put("a", "box").await;
    // The first call makes it, and later ones do not start it.
    assert_eq!(machines.run("c", "a", "echo x > file").await, "");
    assert_eq!(machines.act("a", "stop").await.0, 200);
    let (status, refused) = machines.call("c", "a", "cat file").await;
    assert_eq!(
        (status, &refused["code"]),
        (503, &json!("workspace_unavailable")),
        "{refused}"
    );
    assert!(
        refused["detail"]
            .to_string()
            .contains("toolhost workspaces start a")
    );
    assert_eq!(machines.state("a").await, "stopped");
    assert_eq!(machines.act("a", "start").await.0, 200);
    assert_eq!(machines.run("c", "a", "cat file").await, "x\n");
    let (status, refused) = machines.act("default", "stop").await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("default_workspace"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_makes_machines_of_its_templates_only() {
    let sha256 = |text: &str| {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(text);
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let bounded = |name: &str, bound: &str| {
        format!(
            "[tokens.{name}]\nsha256 = '{}'\nscopes = ['call']\n{bound}\n",
            sha256(name)
        )
    };
    let tokens = [
        bounded("one", "templates = ['one']"),
        bounded("tools", "tools = ['execute']"),
    ];
    let other = tokens.concat();
    let machines = Machines::new(&[("one", ""), ("other", &other)]);
    let put = async |token: &str, template: &str| {
        let body = json!({ "provider": "template", "template": template });
        let url = format!("{}/v1/workspaces/{token}-{template}", machines.serving.url);
        let request = machines
            .serving
            .client
            .put(url)
            .bearer_auth(token)
            .json(&body);
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.unwrap();
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(put("one", "one").await.0, 200);
    assert_eq!(
        put("one", "other").await,
        (403, "foreign_workspace".to_owned())
    );
    assert_eq!(put("tools", "one").await, (403, "bounded_token".to_owned()));
    let url = format!("{}/v1/templates", machines.serving.url);
    let listed = machines.serving.client.get(url).bearer_auth("one").send();
    let listed: Value = listed.await.unwrap().json().await.unwrap();
    let names: Vec<_> = listed["templates"].as_array().unwrap().iter().collect();
    assert!(names.len() == 1 && names[0]["name"] == "one", "{listed}");
}

/// The hook keeps the questions, and refuses while there is a file `no`.
const HOOK: &str =
    "approval_command = ['sh', '-c', 'cat >> BASE/asked; echo >> BASE/asked; test ! -e BASE/no']\n";

#[tokio::test(flavor = "multi_thread")]
async fn the_hook_is_asked_before_a_machine_is_made_and_not_before_it_starts() {
    let machines = Machines::with(HOOK, &[("box", "")]);
    let base = machines.base.path();
    let asked = || {
        let text = std::fs::read_to_string(base.join("asked")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    // A tool that needs no approval itself.
    let read = async |call: &str| {
        let path = format!("/v1/chats/c/calls/{call}");
        let body =
            json!({ "tool": "read_file", "arguments": { "path": "file" }, "workspace": "a" });
        machines.done(Method::PUT, &path, Some(body)).await
    };
    machines.put("a", "box").await;
    std::fs::write(base.join("no"), "").unwrap();
    let refused = read("1").await;
    assert_eq!(refused["error"]["kind"], "denied", "{refused}");
    assert!(machines.all().is_empty());
    std::fs::remove_file(base.join("no")).unwrap();
    read("2").await;
    machines.only();
    assert_eq!(machines.act("a", "stop").await.0, 200);
    read("3").await;
    assert_eq!(machines.state("a").await, "ready");
    let asked = asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for question in asked {
        assert_eq!(
            (&question["tool"], &question["arguments"]),
            (
                &json!("workspace.create"),
                &json!({ "workspace": "a", "template": "box", "parameters": {} })
            )
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_that_are_used_most_come_first() {
    let machines = Machines::new(&[("a", ""), ("b", ""), ("c", "")]);
    machines.put("one", "b").await;
    machines.put("two", "b").await;
    machines.put("three", "c").await;
    for chat in ["x", "y", "z"] {
        let path = format!("/v1/chats/{chat}");
        let body = json!({ "workspace": "three" });
        machines.done(Method::PUT, &path, Some(body)).await;
    }
    let used = async || {
        let listed = machines.done(Method::GET, "/v1/templates", None).await;
        let all = listed["templates"].as_array().unwrap().iter();
        let of_one = |one: &Value| {
            let number = |key: &str| one[key].as_u64().unwrap();
            (
                one["name"].as_str().unwrap().to_owned(),
                number("workspaces"),
                number("chats"),
            )
        };
        all.map(of_one).collect::<Vec<_>>()
    };
    let (a, b, c) = ("a".to_owned(), "b".to_owned(), "c".to_owned());
    let expected = [(b.clone(), 2, 0), (c.clone(), 1, 3), (a.clone(), 0, 0)];
    assert_eq!(used().await, expected);
    for name in ["one", "two"] {
        let path = format!("/v1/workspaces/{name}");
        machines.done(Method::DELETE, &path, None).await;
    }
    assert_eq!(used().await, [(c, 1, 3), (a, 0, 0), (b, 0, 0)]);
}
