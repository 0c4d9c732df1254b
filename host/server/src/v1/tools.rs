//! `GET /v1/tools?format=&chat=`: the tools, in a dialect of the client's choice.

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use toolhost_call::tool::{Format, ToolList, UnknownFormat};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::id::ChatId;

use crate::visibility::Visibility;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(list))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    format: Option<String>,
    #[serde(default)]
    strict: bool,
    chat: Option<String>,
}

/// Lists the tools
///
/// In a format that can be passed on to a model's provider as it is. Only tools that the token may use are in it, and a tool that is for the
/// models of some formats, such as `apply_patch`, is in these formats only. A client that
/// asks again sends the `ETag` back as `If-None-Match`, and gets a 304 without a body for as long as nothing has changed.
///
/// Where the server offers only the names of most tools, `chat` adds the tools that were found in a chat behind the others, in the order in
/// which they were found.
#[utoipa::path(
    get, path = "/v1/tools", operation_id = "listTools", tag = "tools",
    params(
        ("format" = inline(Option<Format>), Query, description = "The dialect; `json` by default."),
        ("strict" = Option<bool>, Query, description = "Whether the schemas are for the strict mode of `openai` and \
            `openai-responses`: every argument is required, and an optional one may be null. A tool whose arguments that mode cannot \
            describe has `strict: false`. The other formats have no such mode, and stay as they are."),
        ("chat" = Option<String>, Query, min_length = 1, max_length = 128, pattern = r"^(?!\.{1,2}$)[A-Za-z0-9._:@-]+$",
            description = "The chat whose tools are listed; without it, the tools of a new chat."),
        ("if-none-match" = Option<String>, Header, description = "The `ETag` of the list that the client has."),
    ),
    responses(
        (status = 200, description = "The tools.", body = ToolList, headers(
            ("etag" = String, description = "Changes whenever the list does."),
        )),
        (status = 304, description = "The client has this list."),
    ),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "foreign_workspace", "unreadable"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    principal.require(Scope::Read)?;
    let format = match parameters.format.as_deref() {
        None => Format::default(),
        Some(name) => name
            .parse()
            .map_err(|error: UnknownFormat| Problem::broken_request(error.to_string()))?,
    };
    let tools = match parameters.chat {
        None => host.offered(principal.actor(), format),
        Some(chat) => {
            let chat: ChatId = chat.parse()?;
            principal.require_chat_of(&host, Scope::Read, &chat)?;
            host.offered_in(principal.actor(), &chat, format).await?
        }
    };
    let rendered = match parameters.strict {
        true => format.render_strict(&tools),
        false => format.render(&tools),
    };
    let body = rendered.to_string();
    let tag = format!("\"{}\"", blake3::hash(body.as_bytes()).to_hex());
    let known = is_known(&headers, &tag);
    // The list differs by token, so it is private. A cache must revalidate it before each use.
    let headers = [
        (ETAG, tag.as_str()),
        (CACHE_CONTROL, "private, no-cache"),
        (CONTENT_TYPE, "application/json"),
    ];
    Ok(if known {
        let [tag, caching, _] = headers;
        (StatusCode::NOT_MODIFIED, [tag, caching]).into_response()
    } else {
        (headers, body).into_response()
    })
}

/// Returns whether the client already has the list with this tag.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).iter();
    known
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_as_rfc_9110_says() {
        let known = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, value.parse().unwrap());
            is_known(&headers, "\"a\"")
        };
        for value in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(known(value), "{value}");
        }
        for value in ["\"b\"", "a", ""] {
            assert!(!known(value), "{value}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"a\""));
    }
}
