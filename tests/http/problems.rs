//! Problem documents: every failure is one, whichever layer reports it.

use super::*;

#[tokio::test]
async fn errors_of_mcp_are_problem_documents() {
    let (_setup, server) = server().await;
    let both = "application/json, text/event-stream";
    let (json, text) = ("application/json", "text/plain");
    for (method, accept, kind, status, code) in [
        (Method::POST, "text/html", json, 406, "not_acceptable"),
        (Method::GET, json, json, 406, "not_acceptable"),
        (Method::POST, both, text, 415, "unsupported_media_type"),
        // Without a session.
        (Method::GET, both, json, 400, "broken_request"),
        (Method::PATCH, both, json, 405, "method_not_allowed"),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let request = server.request(method.clone(), "/mcp").json(&body);
        let request = request.header("accept", accept);
        let mut request = request.build().unwrap();
        let headers = request.headers_mut();
        headers.insert("content-type", kind.parse().unwrap());
        let response = server.client.execute(request).await.unwrap();
        assert_eq!(response.status(), status, "{method} {accept} {kind}");
        let headers = response.headers().clone();
        assert_eq!(headers["content-type"], "application/problem+json");
        assert_eq!(headers.contains_key("allow"), status == 405);
        let problem: Value = response.json().await.unwrap();
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&json!(code), &json!(status))
        );
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
    }
}
