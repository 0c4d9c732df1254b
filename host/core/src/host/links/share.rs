//! Sharing a file: the checks that it can be shared, and the address of the link.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use tokio::time::Instant;
use toolhost_call::audit::Use;
use toolhost_call::scratch;
use toolhost_call::sharing::{
    Asked, LIFETIME, LIFETIMES, PortLink, ShareError, SharedFile, Sharing,
};
use toolhost_state::id::ChatId;
use toolhost_state::unix_time;
use toolhost_workspace::files::{Error, Kind};

use super::{Link, Links, MAX_CHARACTERS, Target};
use crate::host::{Actor, ChatFiles, Host};

/// The tool whose users may share files without a call. The approval hook is asked about it by this name.
pub const SHARE_TOOL: &str = "share_file";

/// The characters of a name that are escaped in an address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'.')
    .remove(b'-')
    .remove(b'_')
    .remove(b'~');

impl Sharing for Links {
    fn share<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<SharedFile, ShareError>> {
        Box::pin(self.make(asked))
    }

    fn port(&self, chat: &ChatId, port: u16, principal: &str) -> Option<PortLink> {
        self.to_port(chat, port, principal)
    }
}

impl Links {
    async fn make(&self, asked: Asked<'_>) -> Result<SharedFile, ShareError> {
        let lifetime = asked.lifetime.unwrap_or(LIFETIME);
        if !LIFETIMES.contains(&lifetime) {
            return Err(ShareError::Lifetime(lifetime));
        }
        let found = asked
            .workspace
            .metadata(asked.path, Arc::clone(&asked.work))
            .await?;
        if found.kind != Kind::File {
            return Err(Error::NotAFile.into());
        }
        let address = self.address.get().ok_or(ShareError::NoAddress)?;
        let path = found.path.to_str().ok_or(ShareError::Path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let expires_at_unix = unix_time::now_ms() / 1000 + lifetime;
        let signed = self.sign(&Link {
            chat: asked.chat.clone(),
            target: Target::File(path.to_owned()),
            expires_at_unix,
            by: asked.principal.to_owned(),
        });
        if signed.len() > MAX_CHARACTERS {
            return Err(ShareError::Path);
        }
        if !self.shares.lock().add(asked.chat, Instant::now()) {
            return Err(ShareError::TooMany);
        }
        scratch::keep(asked.workspace, &found.path, &asked.work).await?;
        asked.trail.record(&Use::FileShare {
            path: path.to_owned(),
            expires_at: expires_at_unix,
        });
        let escaped = utf8_percent_encode(name, ESCAPED);
        Ok(SharedFile {
            url: format!("{}/v1/links/{signed}/{escaped}", address.origin),
            expires_at: std::time::UNIX_EPOCH + Duration::from_secs(expires_at_unix),
            name: name.to_owned(),
            size: found.size,
            media_type: mime_guess::from_path(name)
                .first_raw()
                .unwrap_or("application/octet-stream"),
        })
    }
}

impl Host {
    /// Makes a link to a file of a chat for a client, without a call. `lifetime` is in seconds.
    ///
    /// # Errors
    ///
    /// See [`ShareError`].
    pub async fn share_file(
        &self,
        chat: &ChatId,
        files: &ChatFiles,
        actor: &Actor,
        path: String,
        lifetime: Option<u64>,
    ) -> Result<SharedFile, ShareError> {
        let asked = Asked {
            chat,
            principal: actor.name(),
            workspace: &**files.workspace(),
            path,
            lifetime,
            work: Default::default(),
            trail: &self.files_trail(chat, actor),
        };
        self.inner.links.share(asked).await
    }

    /// Asks the approval hook about a share that a client makes without a call.
    ///
    /// # Errors
    ///
    /// The reason of the refusal.
    pub async fn approve_share(
        &self,
        chat: &ChatId,
        actor: &Actor,
        path: &str,
        lifetime: Option<u64>,
    ) -> Result<(), String> {
        let arguments = json!({ "path": path, "lifetime_secs": lifetime });
        let trail = self.files_trail(chat, actor);
        self.approve(&trail, (chat, actor), SHARE_TOOL, &arguments)
            .await
    }

    /// Records and counts a use of a link. `result` is `ok`, or the code of a problem.
    pub fn link_used(&self, link: &Link, result: &'static str) {
        let (kind, used) = match &link.target {
            Target::File(path) => ("file", json!({ "path": path, "result": result })),
            Target::Port(port) => ("port", json!({ "port": port, "result": result })),
        };
        self.metrics().link_used(kind, result);
        let trail = self.files_trail(&link.chat, &Actor::new(link.by.clone()));
        trail.event("link_used", used);
    }
}
