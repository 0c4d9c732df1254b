//! The routes of the logins of the console.

use std::sync::Arc;

use axum::Json;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Scope, without_cookie};
use crate::body;
use crate::problem::{self, Kind, Problem};
use toolhost_state::unix_time;

pub use crate::access::{Console, KEY_BYTES};

/// The page of the console, and its form for another login.
const PAGE: &str = "/console/";
const FAILED: &str = "/console/#login-failed";

/// The most bytes of a body: a token has at most 4 KiB.
const MAX_BODY: usize = 16 << 10;

/// What the routes share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) access: Arc<Access>,
    pub(crate) console: Console,
}

/// Returns the routes of logins, which need no token, and the way from `/` to the console.
pub(crate) fn routes() -> OpenApiRouter<Shared> {
    let (schemas, paths, links) = routes!(make_link);
    OpenApiRouter::default()
        .routes((schemas, paths, links.fallback(no_link)))
        .routes(routes!(log_in, log_in_by_link))
        .routes(routes!(log_out))
        .routes(routes!(session))
        .route("/", axum::routing::get(to_console))
        .route("/console", axum::routing::get(to_console))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

async fn to_console() -> Response {
    see_other(PAGE, None)
}

/// The token of a login.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    /// A token of the server.
    token: String,
}

/// Logs in to the console
///
/// Exchanges a token for a cookie, with the rights of that token. The cookie is for the console; other clients send the token.
/// The login ends after a day, with its token, and with every change of the rights of that. Ten failures of an address within a
/// minute are the most.
#[utoipa::path(
    post, path = "/console/login", operation_id = "logIn", tag = "console", security(()),
    request_body = LoginRequest,
    responses((status = 204, description = "The browser is logged in.", headers(
        ("set-cookie" = String, description = "The cookie."),
    ))),
    extensions(("x-problems" = json!(["wrong_token", "busy"]))),
)]
async fn log_in(State(shared): State<Shared>, request: Request) -> Result<Response, Problem> {
    let extensions = request.extensions().clone();
    if let Some(wrong) = body::not_json(request.headers()) {
        return Err(Problem::new(Kind::UNSUPPORTED_MEDIA_TYPE, wrong));
    }
    let body = body::read(request, MAX_BODY).await?;
    let asked: LoginRequest = serde_json::from_slice(&body.bytes).map_err(|_| {
        Problem::broken_request("the body is not what this takes: {\"token\": TEXT}")
    })?;
    let cookie = shared
        .console
        .with_token(&shared.access, &asked.token, &extensions)?;
    Ok(no_content(cookie))
}

/// The code of a link.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LinkParameters {
    /// The code, which is valid once.
    code: String,
}

/// Logs in to the console by a link
///
/// `toolhost serve` and `toolhost console` print the link. It is valid once, for ten minutes.
#[utoipa::path(
    get, path = "/console/login", operation_id = "logInByLink", tag = "console", security(()),
    params(LinkParameters),
    responses((status = 303, description = "The browser is logged in, or the code is not valid.", headers(
        ("location" = String, description = "The console, or its form for another login."),
        ("set-cookie" = Option<String>, description = "The cookie, if the code is valid."),
    ))),
)]
async fn log_in_by_link(
    State(shared): State<Shared>,
    Query(LinkParameters { code }): Query<LinkParameters>,
    method: Method,
    extensions: Extensions,
) -> Response {
    // A request for the headers alone, as programs send that show previews of links, leaves the code as it is.
    let cookie = (method == Method::GET)
        .then(|| shared.console.with_code(&shared.access, &code, &extensions))
        .flatten();
    let place = match &cookie {
        Some(_) => PAGE,
        None => FAILED,
    };
    see_other(place, cookie)
}

/// Logs out of the console
///
/// Takes the cookie from the browser.
#[utoipa::path(
    post, path = "/console/logout", operation_id = "logOut", tag = "console", security(()),
    responses((status = 204, description = "The browser is logged out.", headers(
        ("set-cookie" = String, description = "An empty cookie, which is over."),
    ))),
)]
async fn log_out(extensions: Extensions) -> Response {
    no_content(without_cookie(&extensions))
}

/// The rights of the client.
#[derive(Serialize, ToSchema)]
struct Session {
    /// The name of the token.
    name: String,
    /// The scopes of the token. `call` includes `read`.
    scopes: Vec<String>,
    /// How the names of its chats begin; `null` if it is for all chats.
    chats: Option<String>,
    /// Its tools; `null` if it is for all tools.
    tools: Option<Vec<String>>,
    /// The patterns of its workspaces; `null` if it is bound to none.
    workspaces: Option<Vec<String>>,
    /// When the login ends, in milliseconds since 1970; absent for a client without a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_unix_ms: Option<u64>,
}

/// Tells who is logged in
///
/// With a cookie, and with a token as well.
#[utoipa::path(
    get, path = "/console/session", operation_id = "session", tag = "console",
    responses((status = 200, description = "The client is logged in.", body = Session)),
)]
async fn session(
    State(shared): State<Shared>,
    method: Method,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, Problem> {
    let client = shared.access.client(&method, &headers, &extensions)?;
    let mut rights = client.principal.described();
    let mut texts = |name: &str| -> Option<Vec<String>> {
        serde_json::from_value(rights.get_mut(name).map(Value::take)?).ok()?
    };
    let session = Session {
        name: client.principal.name().to_owned(),
        scopes: texts("scopes").unwrap_or_default(),
        chats: client.principal.chat_prefix().map(str::to_owned),
        tools: texts("tools"),
        workspaces: texts("workspaces"),
        expires_at_unix_ms: client.ends.map(unix_time::to_ms),
    };
    Ok(([(CACHE_CONTROL, "no-store")], Json(session)).into_response())
}

/// A link that logs in to the console.
#[derive(Serialize, ToSchema)]
struct ConsoleLink {
    /// The path of the link, with a code that is valid once.
    #[schema(examples("/console/login?code=6f1c"))]
    path: String,
    /// The link as a browser on the machine of the server opens it; absent if the server listens at no address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        examples("http://127.0.0.1:7411/console/login?code=6f1c")
    )]
    url: Option<String>,
    /// The name of the token whose rights the login has.
    token: String,
    /// When the link ends, in milliseconds since 1970.
    expires_at_unix_ms: u64,
}

/// Makes a link that logs in to the console
///
/// The link logs in one browser, once, within ten minutes, with the rights of the token that asks. A client that the local socket
/// authenticates gets the rights of a token for everything. A login of the console makes no link.
#[utoipa::path(
    post, path = "/console/links", operation_id = "makeLink", tag = "console",
    responses((status = 200, description = "The link.", body = ConsoleLink)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token"]))),
)]
async fn make_link(
    State(shared): State<Shared>,
    method: Method,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, Problem> {
    let client = shared.access.client(&method, &headers, &extensions)?;
    if client.ends.is_some() {
        let detail = "a login of the console makes no link: send a token";
        return Err(Problem::new(Kind::NO_TOKEN, detail));
    }
    client.principal.require(Scope::Admin)?;
    let link = shared
        .console
        .link_for(&client.principal, &shared.access.tokens)?;
    let link = ConsoleLink {
        path: link.path,
        url: link.url,
        token: link.token,
        expires_at_unix_ms: unix_time::to_ms(link.ends),
    };
    Ok(([(CACHE_CONTROL, "no-store")], Json(link)).into_response())
}

/// Answers other methods, to clients that are known alone.
async fn no_link(State(shared): State<Shared>, request: Request) -> Problem {
    let known = shared
        .access
        .client(request.method(), request.headers(), request.extensions());
    match known {
        Ok(_) => problem::no_method(request).await,
        Err(problem) => problem,
    }
}

fn no_content(cookie: String) -> Response {
    let headers = [(SET_COOKIE, cookie), (CACHE_CONTROL, "no-store".into())];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn see_other(place: &'static str, cookie: Option<String>) -> Response {
    let headers = [
        (LOCATION, place),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let cookie = cookie.map(|cookie| [(SET_COOKIE, cookie)]);
    let response = (StatusCode::SEE_OTHER, headers);
    match cookie {
        Some(cookie) => (cookie, response).into_response(),
        None => response.into_response(),
    }
}
