//! `/openapi.json`: the description of the API (OpenAPI 3.1), made of the routes and their types; and `/docs`, a page for it.

mod complete;
mod page;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) use page::{root, routes as page};
use toolhost_http::problem::Document;

/// The introduction of the description, for its readers.
const ABOUT: &str = "Runs the tools of chat servers: each call once, whoever repeats it. Every request but those for the \
health of the server and the logins of the console carries a bearer token. Whatever goes wrong is a problem document (RFC 9457) whose `code` is one of a \
closed list.";

/// The groups of operations.
const TAGS: [(&str, &str); 9] = [
    ("tools", "What can be called."),
    ("calls", "Calling tools, each call once."),
    ("chats", "The conversations that calls belong to."),
    (
        "processes",
        "The commands of a chat: what runs, their output, and signals.",
    ),
    (
        "files",
        "The files of a chat, for people: uploads and downloads without a call.",
    ),
    (
        "workspaces",
        "The directories in which the commands of chats run.",
    ),
    ("plugins", "Where tools come from. For operators."),
    ("server", "How the server is doing."),
    ("console", "Logins of the console, the page in a browser."),
];

/// Returns the route of the description. The description covers the given operations and this route itself.
pub(super) fn routes(mut described: OpenApi) -> Router {
    let own = OpenApiRouter::default().routes(routes!(json));
    described.merge(own.get_openapi().clone());
    let document = complete::complete(described).to_string();
    own.with_state(Text(document.into())).into()
}

/// Returns a description without operations.
pub(super) fn empty() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Toolhost")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(
            LicenseBuilder::new()
                .name("MIT OR Apache-2.0")
                .identifier(Some("MIT OR Apache-2.0"))
                .build(),
        ));
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "A token of the server's configuration, or the one that it made at its start.",
        ))
        .build();
    let components = ComponentsBuilder::new()
        .security_scheme(complete::TOKEN, SecurityScheme::Http(token))
        .schema(Document::name(), Document::schema());
    let tags = TAGS.map(|(name, about)| {
        let tag = TagBuilder::new().name(name).description(Some(about));
        tag.build()
    });
    OpenApiBuilder::new()
        .info(info.build())
        .components(Some(components.build()))
        .tags(Some(tags))
        .build()
}

/// The text of the description as it is sent.
#[derive(Clone, Debug)]
struct Text(Bytes);

/// This description
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "describe", tag = "server",
    responses((status = 200, description = "The description.", body = Object)),
)]
async fn json(State(Text(document)): State<Text>) -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, document)
}

/// Returns the description of these routes, for tests of its content.
#[cfg(test)]
pub(super) fn described(routes: OpenApiRouter<toolhost_core::Host>) -> serde_json::Value {
    complete::complete(empty().merge_from(routes.into_openapi()))
}
