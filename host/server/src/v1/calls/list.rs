//! Lists of calls: of a chat, and of all chats. The arguments of a call.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::listed::{ListedCall, ListedState};
use super::unknown;
use crate::v1::pages::{self, MAX_TIME, within};
use crate::v1::paths::{CallPath, ChatPath};
use crate::visibility::Visibility as _;
use toolhost_call::call::CallQuery;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::id::{CallId, ChatId};

/// The most characters of a text that is looked for.
const MAX_TEXT: usize = 256;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(of_all))
        .routes(routes!(of_chat))
        .routes(routes!(arguments))
}

/// Defines the query parameters that select calls: some of their own, and those that every list of calls has.
macro_rules! parameters {
    ($(#[$documentation:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$documentation])*
        #[derive(Debug, Deserialize, IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        struct $name {
            $($own)*
            /// Only calls of this state.
            #[param(inline)]
            state: Option<ListedState>,
            /// Only calls that succeeded, or, if this is `false`, that ended otherwise: with an error, with `"success": false`, by
            /// the host, by a cancellation, or unknown how.
            success: Option<bool>,
            /// Only calls of this tool.
            #[param(example = "execute")]
            tool: Option<String>,
            /// Only calls that began at this time or later, in milliseconds since 1970.
            #[param(minimum = 0, maximum = 9007199254740991_u64)]
            since: Option<u64>,
            /// Only calls that began before this time, in milliseconds since 1970.
            #[param(minimum = 0, maximum = 9007199254740991_u64)]
            until: Option<u64>,
            /// Only calls with this text in their reply, or in their arguments if the operator has these kept. Upper and lower case
            /// differ.
            #[param(min_length = 1, max_length = 256)]
            text: Option<String>,
            /// The maximum number of returned calls; 50 if this is absent.
            #[param(minimum = 1, maximum = 500)]
            limit: Option<u32>,
            /// The `next` of the page before.
            #[param(pattern = "^[0-9a-f]{1,16}$")]
            after: Option<String>,
        }

        impl $name {
            fn query(self) -> Result<CallQuery, Problem> {
                if let Some(text) = &self.text {
                    within("the length of text", text.chars().count(), 1..=MAX_TEXT)?;
                }
                Ok(CallQuery {
                    states: ListedState::of_store(self.state, self.success),
                    tool: self.tool,
                    since_ms: time("since", self.since)?,
                    until_ms: time("until", self.until)?,
                    text: self.text,
                    before: self.after.as_deref().map(place).transpose()?,
                    limit: pages::limit(self.limit)?,
                    ..CallQuery::default()
                })
            }
        }
    };
}

parameters! {
    /// The query parameters that select calls of a chat.
    OfChat {}
}

parameters! {
    /// The query parameters that select calls of all chats.
    OfAll {
        /// Only calls of chats whose names begin like this. A token with a prefix of chats gets those of its own chats in any case.
        #[param(max_length = 128, pattern = r"^[A-Za-z0-9._:@-]*$", example = "support-")]
        prefix: Option<String>,
        /// Only calls with this id. Several chats may have one.
        #[param(
            min_length = 1,
            max_length = 256,
            pattern = r"^(?!\.{1,2}$)[!-.0-~]+$",
            example = "call_7Qx"
        )]
        call: Option<String>,
    }
}

/// A page of calls.
#[derive(Serialize, ToSchema)]
struct CallPage {
    /// The calls, newest first. With a filter, there may be fewer than `limit`, even none, although there is a `next`: a page looks
    /// at a bounded number of calls.
    calls: Vec<ListedCall>,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Lists the calls of all chats
///
/// In pages, as for one chat.
#[utoipa::path(
    get, path = "/v1/calls", operation_id = "listAllCalls", tag = "calls",
    params(OfAll),
    responses((status = 200, description = "A page of calls.", body = CallPage)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "foreign_workspace", "unreadable"]))),
)]
async fn of_all(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Query(parameters): Query<OfAll>,
) -> Result<Json<CallPage>, Problem> {
    principal.require(Scope::Read)?;
    let call = parameters.call.as_deref().map(CallId::recorded);
    let query = CallQuery {
        prefix: principal.chats_of(pages::prefix(parameters.prefix.as_deref())?)?,
        call: call.transpose()?,
        ..parameters.query()?
    };
    page(&host, &principal, query).await
}

/// Lists the calls of a chat
///
/// In pages, newest first; calls that run are among them. A call that only reads has its place in the order when it ends, and is
/// before all others until then. A call is listed while it runs, and for as long as its reply is kept. A token that is limited to
/// some tools gets the calls of these tools.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/calls", operation_id = "listCalls", tag = "calls",
    params(ChatPath, OfChat),
    responses((status = 200, description = "A page of calls.", body = CallPage)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "foreign_workspace", "unreadable"]))),
)]
async fn of_chat(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
    Query(parameters): Query<OfChat>,
) -> Result<Json<CallPage>, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Read, &chat)?;
    let query = CallQuery {
        chat: Some(chat),
        ..parameters.query()?
    };
    page(&host, &principal, query).await
}

async fn page(
    host: &Host,
    principal: &Principal,
    query: CallQuery,
) -> Result<Json<CallPage>, Problem> {
    let page = host.calls(query, principal.actor()).await;
    let page = page.map_err(|error| pages::unreadable(&error))?;
    let calls = page.calls.into_iter().map(|call| {
        let mut listed = ListedCall::from(call);
        listed.token = listed.token.filter(|_| principal.is_unbounded());
        listed
    });
    Ok(Json(CallPage {
        calls: calls.collect(),
        next: page.next.map(|next| format!("{next:x}")),
    }))
}

fn time(name: &str, time: Option<u64>) -> Result<Option<u64>, Problem> {
    time.map(|time| within(name, time, 0..=MAX_TIME))
        .transpose()
}

/// Reads a place in a list of calls.
fn place(text: &str) -> Result<i64, Problem> {
    let is_hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let number = u64::from_str_radix(text, 16)
        .ok()
        .filter(|_| text.len() <= 16 && text.bytes().all(is_hexadecimal));
    let number = number.ok_or_else(pages::wrong_place)?;
    Ok(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns the arguments of a call
///
/// They are kept only if the operator wants that (`keep_arguments`), and only up to 64 KiB, for as long as the reply is.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/calls/{call}/arguments", operation_id = "getArguments", tag = "calls",
    params(ChatPath, CallPath),
    responses(
        (status = 200, description = "The arguments.", body = Object),
        (status = 204, description = "The arguments are not kept."),
    ),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "foreign_workspace", "unknown_call", "unreadable"]))),
)]
async fn arguments(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, call)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (chat, id): (ChatId, CallId) = (chat.parse()?, CallId::recorded(&call)?);
    principal.require_chat_of(&host, Scope::Read, &chat)?;
    let status = host.status(&chat, &id).await?;
    if !status.is_some_and(|status| principal.may_see(&status)) {
        return Err(unknown(&id));
    }
    let arguments = host.arguments(&chat, &id).await;
    Ok(
        match arguments.map_err(|error| pages::unreadable(&error))? {
            Some(arguments) => ([(CONTENT_TYPE, "application/json")], arguments).into_response(),
            None => StatusCode::NO_CONTENT.into_response(),
        },
    )
}
