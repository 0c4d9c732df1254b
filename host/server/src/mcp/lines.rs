//! Reads and writes messages as lines; the length of a line and the number of open requests are bounded.
//!
//! `rmcp` has a line transport. It sends no error for a line that is too long or no JSON. It reads on while the client takes no
//! replies. `rmcp` stops altogether at a message that comes too early. So the server reads the lines itself.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use futures_util::{StreamExt, sink, stream};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage,
    ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::sink_stream::TransportAdapterSinkStream;
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::errors;
use super::ids::{self, IdSearch};
use super::message::Message;
use super::requests::Requests;
use crate::ENVELOPE;
use toolhost_call::call::MAX_ARGUMENTS;

/// The longest line of a client, in bytes.
pub(super) const MAX_LINE: usize = MAX_ARGUMENTS + ENVELOPE;

/// How many messages may be read ahead of `rmcp`.
const AHEAD: usize = 16;

/// The output to which lines are written, each as a whole.
struct Output<W> {
    writer: Mutex<W>,
    /// Cancelled when a write fails, because the client reads no more.
    broken: CancellationToken,
}

/// The handles on a connection for the code outside the transport.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    /// Cancelled when the client sends no more, or reads no more.
    pub(super) lost: CancellationToken,
    /// Cancelled by the caller to stop receiving messages, although the client could send more.
    pub(super) closed: CancellationToken,
    pub(super) requests: Requests,
}

/// Begins to read lines. Returns the transport for `rmcp`.
pub(super) fn lines(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> (
    impl IntoTransport<RoleServer, Infallible, TransportAdapterSinkStream>,
    Ends,
) {
    let (sender, mut messages) = mpsc::channel(AHEAD);
    let ends = Ends::default();
    let output = Arc::new(Output {
        writer: Mutex::new(writer),
        broken: ends.lost.clone(),
    });
    let reading = read(reader, sender, Arc::clone(&output), ends.clone());
    tokio::spawn(ends.closed.clone().run_until_cancelled_owned(reading));
    let messages = stream::poll_fn(move |context| messages.poll_recv(context))
        // The end of the input is no reason to drop the replies to earlier requests.
        .chain(stream::pending())
        .take_until(ends.closed.clone().cancelled_owned());
    let state = (output, ends.requests.clone());
    let replies = sink::unfold(
        state,
        async |(output, requests), message: ServerJsonRpcMessage| {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            // A client may use the id again as soon as it has the reply.
            let reply = answered.and_then(|id| requests.reply(id));
            // If writing fails, `lost` ends the connection.
            _ = output.line(&message).await;
            drop(reply);
            Ok((output, requests))
        },
    );
    ((Box::pin(replies), Box::pin(messages)), ends)
}

async fn read(
    reader: impl AsyncRead + Unpin,
    sender: mpsc::Sender<ClientJsonRpcMessage>,
    output: Arc<Output<impl AsyncWrite + Unpin>>,
    ends: Ends,
) {
    let mut reader = BufReader::new(reader);
    let (mut line, mut opened) = (Vec::new(), false);
    loop {
        let parsed = match next(&mut reader, &mut line).await {
            Ok(Some(Line::Whole)) => parse(&line, &ends.requests),
            Ok(Some(Line::TooLong { bytes, id })) => {
                let text = format!("the message has {bytes} bytes, and may have {MAX_LINE}");
                let code = ErrorCode::INVALID_REQUEST;
                Err(errors::response(&id, code, &text))
            }
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "cannot read the messages of the client");
                break;
            }
        };
        let goes_on = match parsed {
            Ok(Some(message)) => {
                opened |= is_opening(&message);
                // Before the handshake, `rmcp` answers requests one by one and gives up at any other message. So other
                // messages are dropped until then.
                let is_taken = opened || matches!(message, JsonRpcMessage::Request(_));
                !is_taken || sender.send(message).await.is_ok()
            }
            Ok(None) => true,
            // The loop reads no further line while the client does not read this reply.
            Err(error) => output.line(&error).await.is_ok(),
        };
        if !goes_on {
            break;
        }
    }
    ends.lost.cancel();
}

/// Returns whether `rmcp` takes any message from this one on. That is a handshake, or a request that carries all that a
/// handshake would.
fn is_opening(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
            let known = ProtocolVersion::KNOWN_VERSIONS;
            missing.is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|it| known.contains(&it))
        }
    }
}

/// A line that was read.
enum Line {
    /// It was short enough to be kept.
    Whole,
    /// It was not kept. The client waits for a reply to its id.
    TooLong { bytes: usize, id: Value },
}

/// Reads the next line. Returns `None` if the input has ended.
async fn next(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<Line>> {
    let (mut bytes, mut id) = (0, None::<IdSearch>);
    loop {
        line.clear();
        // One more byte ends the line.
        let mut most = reader.take(MAX_LINE as u64 + 1);
        let read = most.read_until(b'\n', line).await?;
        let is_last = line.ends_with(b"\n");
        bytes += read - usize::from(is_last);
        if is_last && id.is_none() {
            return Ok(Some(Line::Whole));
        }
        if !is_last && read <= MAX_LINE {
            return Ok(None);
        }
        let search = id.get_or_insert_default();
        search.read(line);
        if is_last {
            let id = id.unwrap_or_default().id();
            return Ok(Some(Line::TooLong { bytes, id }));
        }
    }
}

/// Returns the message of a line, or `None` if the line needs no reply. If the line is no message or its request cannot
/// begin, returns the error reply.
fn parse(line: &[u8], requests: &Requests) -> Result<Option<ClientJsonRpcMessage>, Value> {
    const NO_MESSAGE: &str = "this is not a message of JSON-RPC 2.0";
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let error = match Message::read(line) {
        Ok(message) => match message.parse() {
            Ok(message) => return register(requests, message),
            Err(_) => format!("{NO_MESSAGE}: {}", message.fault()),
        },
        Err(error) => format!("{NO_MESSAGE}: {error}"),
    };
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let text = format!("a line is not valid JSON: {error}");
        errors::response(&ids::of(line), ErrorCode::PARSE_ERROR, &text)
    })?;
    let has = |key| value.get(key).is_some();
    let is_notification = !has("id") && value.get("method").is_some_and(Value::is_string);
    if is_notification || has("result") || has("error") {
        // Notifications and responses get no reply.
        return Ok(None);
    }
    Err(errors::response(
        &ids::of(line),
        ErrorCode::INVALID_REQUEST,
        &error,
    ))
}

/// Registers the request of a message, or returns the reply that refuses it.
fn register(
    requests: &Requests,
    message: ClientJsonRpcMessage,
) -> Result<Option<ClientJsonRpcMessage>, Value> {
    match &message {
        JsonRpcMessage::Request(request) => requests.admit(&request.id).map_err(|text| {
            let id = request.id.clone().into_json_value();
            errors::response(&id, ErrorCode::INVALID_REQUEST, text)
        })?,
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                // A cancelled request gets no reply.
                requests.remove(id);
            }
        }
        _ => {}
    }
    Ok(Some(message))
}

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn line(&self, message: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut writer = self.writer.lock().await;
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let written = written.await;
        if written.is_err() {
            self.broken.cancel();
        }
        written
    }
}
