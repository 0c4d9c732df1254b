//! Reads and writes messages as lines; the length of a line and the number of open requests are bounded.
//!
//! `rmcp` has a line transport. It sends no error for a line that is too long or no JSON. It reads on while the client takes no
//! replies. It stops altogether at a message that comes too early. So the server has a transport of its own.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::errors;
use super::message::{Carried, Message};
use crate::ENVELOPE;
use toolhost_call::call::MAX_ARGUMENTS;

/// The longest line of a client, in bytes.
pub(super) const MAX_LINE: usize = MAX_ARGUMENTS + ENVELOPE;

/// The maximum number of requests without a reply. A call also takes a place of the host's; this limit bounds all other
/// requests.
const MAX_REQUESTS: usize = 1024;

/// How many messages may be read ahead of `rmcp`.
const AHEAD: usize = 16;

/// The line transport for `rmcp`.
pub(super) struct Lines<W> {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    /// Cancelled when `rmcp` is to receive no more messages, although the client could send more.
    closed: CancellationToken,
    output: Output<W>,
    requests: Requests,
}

/// The output to which lines are written, each as a whole.
struct Output<W> {
    writer: Arc<AsyncMutex<W>>,
    /// Cancelled when a write fails, because the client reads no more.
    broken: CancellationToken,
}

/// The requests that have no reply yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    open: Arc<Mutex<HashSet<RequestId>>>,
    count: Arc<watch::Sender<usize>>,
}

/// The handles on a connection for the code outside the transport.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    /// Cancelled when the client sends no more, or reads no more.
    pub(super) lost: CancellationToken,
    /// Cancelled by the caller to stop receiving messages.
    pub(super) closed: CancellationToken,
    pub(super) requests: Requests,
}

/// Begins to read lines.
pub(super) fn lines<R, W>(reader: R, writer: W, lost: CancellationToken) -> (Lines<W>, Ends)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (sender, messages) = mpsc::channel(AHEAD);
    let output = Output {
        writer: Arc::new(AsyncMutex::new(writer)),
        broken: lost.clone(),
    };
    let ends = Ends {
        lost,
        closed: CancellationToken::new(),
        requests: Requests::default(),
    };
    let reading = read(reader, sender, output.clone(), ends.clone());
    tokio::spawn(ends.closed.clone().run_until_cancelled_owned(reading));
    let lines = Lines {
        messages,
        closed: ends.closed.clone(),
        output,
        requests: ends.requests.clone(),
    };
    (lines, ends)
}

async fn read<R, W>(
    reader: R,
    sender: mpsc::Sender<ClientJsonRpcMessage>,
    output: Output<W>,
    ends: Ends,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut reader = BufReader::new(reader);
    let (mut line, mut opened) = (Vec::new(), false);
    loop {
        let error = match next(&mut reader, &mut line).await {
            Ok(Line::Complete) => match parse(&line) {
                Ok(Some(message)) => match note(&ends.requests, &message) {
                    Ok(()) => {
                        opened |= opens(&message);
                        // Before the handshake, `rmcp` answers requests one by one and gives up at any other message. So other
                        // messages are dropped until then.
                        let is_taken = opened || matches!(message, JsonRpcMessage::Request(_));
                        if is_taken && sender.send(message).await.is_err() {
                            break;
                        }
                        continue;
                    }
                    Err(error) => error,
                },
                Ok(None) => continue,
                Err(error) => error,
            },
            Ok(Line::TooLong) => {
                let text = format!("a line has at most {MAX_LINE} bytes");
                errors::response(&Value::Null, ErrorCode::INVALID_REQUEST, &text)
            }
            Ok(Line::None) => break,
            Err(error) => {
                tracing::warn!(%error, "cannot read what the client says");
                break;
            }
        };
        // The loop reads no further line while the client does not read this reply.
        if output.line(&error).await.is_err() {
            break;
        }
    }
    ends.lost.cancel();
}

/// Registers an incoming message, or returns the reply that refuses it.
fn note(requests: &Requests, message: &ClientJsonRpcMessage) -> Result<(), Value> {
    match message {
        JsonRpcMessage::Request(request) => requests.admit(&request.id).map_err(|text| {
            let id = request.id.clone().into_json_value();
            errors::response(&id, ErrorCode::INVALID_REQUEST, text)
        }),
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                // A cancelled request gets no reply.
                requests.remove(id);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether `rmcp` takes any message from this one on. That is a handshake, or a request that carries all that a
/// handshake would.
fn opens(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            let is_known =
                version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
            is_known && missing.is_empty()
        }
    }
}

enum Line {
    Complete,
    TooLong,
    /// The input has ended.
    None,
}

/// Reads up to the end of the next line. Keeps the line unless it is too long.
async fn next<R: AsyncRead + Unpin>(
    reader: &mut BufReader<R>,
    line: &mut Vec<u8>,
) -> io::Result<Line> {
    line.clear();
    let mut too_long = false;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(Line::None);
        }
        let end = memchr::memchr(b'\n', available);
        let length = end.unwrap_or(available.len());
        too_long |= line.len() + length > MAX_LINE;
        if too_long {
            line.clear();
        } else {
            line.extend(available.iter().take(length));
        }
        reader.consume(length + usize::from(end.is_some()));
        match (end, too_long) {
            (None, _) => {}
            (Some(_), true) => return Ok(Line::TooLong),
            (Some(_), false) => return Ok(Line::Complete),
        }
    }
}

/// Returns the message of a line, or `None` if the line needs no reply. If the line is no message, returns the error reply.
fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Value> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if let Ok(message) = serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        return unambiguous(line, message);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let text = format!("a line is not valid JSON: {error}");
        errors::response(&Value::Null, ErrorCode::PARSE_ERROR, &text)
    })?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64());
    if value.get("id").is_none() && value.get("method").is_some_and(Value::is_string) {
        // A notification gets no reply.
        return Ok(None);
    }
    let text = "this is not a message of JSON-RPC 2.0";
    let id = id.unwrap_or(&Value::Null);
    Err(errors::response(id, ErrorCode::INVALID_REQUEST, text))
}

/// Returns a message with the text of its arguments, or the reply to one in which a key occurs twice.
fn unambiguous(
    line: &[u8],
    mut message: ClientJsonRpcMessage,
) -> Result<Option<ClientJsonRpcMessage>, Value> {
    match (Message::read(line), &message) {
        (Ok(read), _) => {
            if let Some(arguments) = read.arguments() {
                let arguments = Bytes::copy_from_slice(arguments);
                message.insert_extension(Carried::new(Some(arguments), None));
            }
            Ok(Some(message))
        }
        (Err(error), JsonRpcMessage::Request(request)) => {
            let id = request.id.clone().into_json_value();
            let text = format!("this is not a message of JSON-RPC 2.0: {error}");
            Err(errors::response(&id, ErrorCode::INVALID_REQUEST, &text))
        }
        // Notifications and responses get no reply.
        (Err(_), _) => Ok(None),
    }
}

impl Requests {
    /// Waits until each request has its reply.
    pub(super) async fn answered(&self) {
        _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Registers a request, or returns why it cannot begin.
    pub(super) fn admit(&self, id: &RequestId) -> Result<(), &'static str> {
        let mut open = self.open();
        if open.contains(id) {
            return Err("the id of this request is that of another, which has no reply yet");
        }
        if open.len() >= MAX_REQUESTS {
            return Err("too many requests have no reply yet");
        }
        open.insert(id.clone());
        self.count.send_replace(open.len());
        Ok(())
    }

    /// Notes that a request has its reply, or gets none.
    pub(super) fn remove(&self, id: &RequestId) {
        let mut open = self.open();
        open.remove(id);
        self.count.send_replace(open.len());
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock()
    }
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Self {
            writer: Arc::clone(&self.writer),
            broken: self.broken.clone(),
        }
    }
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

impl<W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, requests) = (self.output.clone(), self.requests.clone());
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let written = output.line(&message).await;
            if let Some(id) = answered {
                requests.remove(&id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => None,
            Some(message) = self.messages.recv() => Some(message),
            // The end of the input is no reason to drop the replies to earlier requests.
            else => {
                self.closed.cancelled().await;
                None
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.closed.cancel();
        Ok(())
    }
}
