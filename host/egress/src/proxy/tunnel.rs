//! Tunnels: copying bytes in both directions until both have ended.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::time::timeout;
use tokio_util::io::InspectReader;

/// Copies bytes in both directions. When one direction ends, the other continues until it ends or is idle for `idle_timeout`. An error in
/// one direction ends both.
pub(super) async fn relay<C, S>(client: C, server: S, idle_timeout: Duration) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite,
    S: AsyncRead + AsyncWrite,
{
    let bytes = AtomicU64::new(0);
    let (client_reader, client_writer) = split(client);
    let (server_reader, server_writer) = split(server);
    let mut up = pin!(one_way(client_reader, server_writer, &bytes));
    let mut down = pin!(one_way(server_reader, client_writer, &bytes));
    tokio::select! {
        ended = &mut up => {
            ended?;
            finish(down, &bytes, idle_timeout).await
        }
        ended = &mut down => {
            ended?;
            finish(up, &bytes, idle_timeout).await
        }
    }
}

/// Copies bytes until the reader ends, and then shuts the writer down.
async fn one_way<R, W>(reader: R, mut writer: W, bytes: &AtomicU64) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let count = |read: &[u8]| _ = bytes.fetch_add(read.len() as u64, Ordering::Relaxed);
    copy(&mut InspectReader::new(reader, count), &mut writer).await?;
    writer.shutdown().await
}

/// Waits for the end of the remaining direction. Fails if no bytes flow for `idle_timeout`.
async fn finish<F>(mut direction: F, bytes: &AtomicU64, idle_timeout: Duration) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Unpin,
{
    loop {
        let before = bytes.load(Ordering::Relaxed);
        match timeout(idle_timeout, &mut direction).await {
            Ok(ended) => return ended,
            Err(_) if bytes.load(Ordering::Relaxed) == before => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(_) => {}
        }
    }
}
