//! `GET /v1/events`: what runs now in all chats, as server-sent events.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::event_stream;
use toolhost_http::limits::RequestPermit;
use toolhost_http::problem::{Kind, Problem};

use super::events::TRY_AGAIN;
use super::now::{Now, wire};

pub(super) fn routes() -> OpenApiRouter<Host> {
    let mut routes = OpenApiRouter::default().routes(routes!(get));
    // The body has no schema, so that generated clients do not take it for one JSON value. The data of its events has this one.
    let mut schemas = vec![(wire::Now::name().into_owned(), wire::Now::schema())];
    wire::Now::schemas(&mut schemas);
    let components = &mut routes.get_openapi_mut().components;
    components.get_or_insert_default().schemas.extend(schemas);
    routes
}

/// Follows all that runs
///
/// Server-sent events `now`, each with all calls and processes that run and that the token may see: the first at once, others at
/// most once a second, and only when something has changed, such as the CPU time of a process. The data has the schema `Now`. A client that was away connects again,
/// and misses nothing. The stream ends with the server. It counts as a reader of events.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "followAll", tag = "chats",
    responses((status = 200, description = "Events `now`, until the server ends.", content_type = "text/event-stream", body = Value)),
    extensions(("x-problems" = json!(["missing_scope"]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(now): Extension<Now>,
    Extension(principal): Extension<Principal>,
    Extension(place): Extension<RequestPermit>,
) -> Result<Response, Problem> {
    principal.require(Scope::Read)?;
    let place = place.reader()?;
    let counted = host.events().count_reader();
    let counted = counted
        .map_err(|refused| Problem::new(Kind::BUSY, refused.to_string()).retry_after(TRY_AGAIN))?;
    Ok(event_stream::reply_frames(
        now.read(principal),
        (place, counted),
    ))
}
