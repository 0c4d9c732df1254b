//! MCP over two pipes: one client, for as long as it keeps them open.

use std::time::Duration;

use rmcp::service::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::McpOptions;
use super::caller::Session;
use super::handler::Handler;
use super::lines;
use toolhost_core::Host;
use toolhost_http::access::Principal;
use toolhost_state::id::InvalidId;
use toolhost_workspace::process::Info;

/// How long calls may go on after their client closed the pipe. A client that pipes in requests and closes the pipe still wants
/// the replies to short calls.
const LAST_CALLS: Duration = Duration::from_millis(500);

/// How long writing the last replies may take.
const LAST_REPLIES: Duration = Duration::from_secs(2);

/// Serves one client until it closes its end of `input` or `shutdown` is ready; then ends calls and processes, writes their
/// replies, and returns the processes that were still live.
///
/// The client may do everything: the user who started this program can do as much without it.
///
/// # Errors
///
/// If no chat can be made.
pub async fn serve_mcp<R, W>(
    host: Host,
    options: McpOptions,
    input: R,
    output: W,
    shutdown: impl Future<Output = ()>,
) -> Result<Vec<Info>, InvalidId>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut session = Session::new(Principal::unbounded("stdio"), options.chat.clone())?;
    // If a chat is named, the operator named it, for calls that name none.
    session.is_named = false;
    let stopping = CancellationToken::new();
    let handler = Handler::new(
        host.clone(),
        options,
        session.principal.clone(),
        Some(session.clone()),
        stopping.clone(),
    );
    let (lines, ends) = lines::lines(input, output);
    let mut served = tokio::spawn(async move {
        match serve_server(handler, lines).await {
            Ok(service) => _ = service.waiting().await,
            Err(error) => tracing::debug!(%error, "the session with the client did not begin"),
        }
    });
    tokio::select! {
        () = ends.lost.cancelled() => {
            stopping.cancel();
            _ = tokio::time::timeout(LAST_CALLS, ends.requests.answered()).await;
        }
        () = shutdown => stopping.cancel(),
        _ = &mut served => {}
    }
    // Running calls reply with the results that they have.
    let live = host.shutdown().await;
    _ = tokio::time::timeout(LAST_REPLIES, ends.requests.answered()).await;
    session.lost.cancel();
    ends.closed.cancel();
    // If `served` has ended by itself, it has nothing more to send.
    if !served.is_finished()
        && tokio::time::timeout(LAST_REPLIES, &mut served)
            .await
            .is_err()
    {
        served.abort();
    }
    Ok(live)
}
