//! One log entry for each request, with the chat that it is for.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use super::chat::Chat;

pub(super) async fn requests(chat: Chat, request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    let chat_id = chat.id.as_ref().map(tracing::field::display);
    tracing::debug!(
        %method,
        path = ?uri.path(),
        status = response.status().as_u16(),
        chat_id,
        ancestors = chat.ancestors.len(),
        "answered a request of the agent API"
    );
    response
}
