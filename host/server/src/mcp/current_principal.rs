//! Who asks, for what `rmcp` asks of a handler without saying that.

use toolhost_http::access::Principal;

tokio::task_local! {
    static ASKING: Principal;
}

/// Does something for somebody.
pub(super) async fn on_behalf_of<T>(principal: Principal, work: impl Future<Output = T>) -> T {
    ASKING.scope(principal, work).await
}

/// Returns whether a tool exists for whoever asks. For those who come without a token, all do.
pub(super) fn may_use(tool: &str) -> bool {
    let may_use = ASKING.try_with(|principal| principal.may_use(tool));
    may_use.unwrap_or(true)
}
