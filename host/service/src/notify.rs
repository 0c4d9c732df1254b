//! Notifications to systemd (`sd_notify`). Without the variable `NOTIFY_SOCKET` they do nothing.

use std::io;

use sd_notify::NotifyState;

/// Says that the server accepts requests.
pub(crate) fn ready() {
    warn(sd_notify::notify(&[NotifyState::Ready]));
}

/// Says that the server reads its files again.
pub(crate) fn reloading() {
    let now = NotifyState::monotonic_usec_now();
    warn(now.and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])));
}

/// Says that the server shuts down.
pub(crate) fn stopping() {
    warn(sd_notify::notify(&[NotifyState::Stopping]));
}

fn warn(sent: io::Result<()>) {
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot notify systemd through NOTIFY_SOCKET");
    }
}
