//! The files of the workspace over HTTP.
//!
//! Rows without a test here, because what they are about is not: the path store (which paths a chat has written), and
//! those of the tools, which are tested where the tools are.

mod edit;
mod edit_fuzzy;
mod edit_results;
mod lines;
mod list;
mod ours;
mod permissions;
mod read;
mod resolve;
mod write;

use reqwest::{Method, RequestBuilder, Url};
use serde_json::{Value, json};

use super::{Agent, ok, refused, reply};

/// Adds query parameters to the path of an endpoint.
fn target(endpoint: &str, query: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("http://localhost", query).unwrap();
    match url.query() {
        Some(query) => format!("/api/v0/{endpoint}?{query}"),
        None => format!("/api/v0/{endpoint}"),
    }
}

impl Agent {
    fn path(&self, name: &str) -> String {
        self.root().join(name).to_str().unwrap().to_owned()
    }

    /// Makes a file and returns its path.
    fn make(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.root().join(name), content).unwrap();
        self.path(name)
    }

    /// Makes a directory and returns its path.
    fn directory(&self, name: &str) -> String {
        std::fs::create_dir(self.root().join(name)).unwrap();
        self.path(name)
    }

    /// Makes a link and returns its path.
    fn link(&self, name: &str, to: &str) -> String {
        std::os::unix::fs::symlink(to, self.root().join(name)).unwrap();
        self.path(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    /// Begins a request of an endpoint that answers about a path.
    fn ask(&self, endpoint: &str, query: &[(&str, &str)]) -> RequestBuilder {
        self.server.request(Method::GET, &target(endpoint, query))
    }

    fn write(&self, query: &[(&str, &str)], content: impl Into<reqwest::Body>) -> RequestBuilder {
        let path = target("write-file", query);
        self.server.request(Method::POST, &path).body(content)
    }

    fn list_directory(&self, query: &[(&str, &str)], body: &Value) -> RequestBuilder {
        let path = target("list-directory", query);
        let request = self.server.request(Method::POST, &path);
        request.body(body.to_string())
    }

    fn edit(&self, body: &Value) -> RequestBuilder {
        let request = self.server.request(Method::POST, "/api/v0/edit-files");
        request.body(body.to_string())
    }

    /// Begins a request that edits one file.
    fn edit_one(&self, path: &str, edits: &[Value]) -> RequestBuilder {
        self.edit(&json!({ "files": [{ "path": path, "edits": edits }] }))
    }
}

/// An edit of the one place where something is.
fn replace(search: &str, replace: &str) -> Value {
    json!({ "search": search, "replace": replace })
}

fn replace_all(search: &str, replace: &str) -> Value {
    json!({ "search": search, "replace": replace, "replace_all": true })
}

/// Checks that parameters are refused, and that this is said of one of them.
async fn invalid(request: RequestBuilder, field: &str, text: &str) {
    let body = refused(request, 400, "Query parameters have invalid values.").await;
    let validations = body["validations"].as_array().unwrap();
    let said = validations
        .iter()
        .filter(|validation| validation["field"] == field)
        .any(|validation| validation["detail"].as_str().unwrap().contains(text));
    assert!(said, "{body}");
}
