//! Sharing: links by which a person without a token gets a file of a chat, or uses a server of it.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{CpuAccount, Error};

use crate::audit::Trail;

/// The lifetime of a link if the caller names none: a day, in seconds.
pub const LIFETIME: u64 = 24 * 60 * 60;

/// The lifetimes that a link can have: from a minute to a week, in seconds.
pub const LIFETIMES: RangeInclusive<u64> = 60..=7 * 24 * 60 * 60;

/// The most files that one chat shares in one hour.
pub const MAX_SHARED: usize = 256;

/// A file that a call or a client shares.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The chat of the file.
    pub chat: &'a ChatId,
    /// The name of the principal that shares it.
    pub principal: &'a str,
    /// The workspace of the chat, as far as the caller may read its files.
    pub workspace: &'a dyn Workspace,
    /// The path, absolute or relative to the workspace.
    pub path: String,
    /// The lifetime of the link in seconds, one of [`LIFETIMES`]; `None`: [`LIFETIME`].
    pub lifetime: Option<u64>,
    /// The account to which the CPU time of reading the file is charged.
    pub work: Arc<CpuAccount>,
    /// The trail in which the share is recorded and counted.
    pub trail: &'a Trail,
}

/// A link to a file, and facts about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFile {
    /// The address, which needs no token.
    pub url: String,
    /// The end of the link.
    pub expires_at: SystemTime,
    /// The name of the file, without its directory.
    pub name: String,
    /// The size of the file in bytes.
    pub size: u64,
    /// The media type that the name stands for.
    pub media_type: &'static str,
}

/// A link to a server of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortLink {
    /// The address, which needs no token.
    pub url: String,
    /// The end of the link, in seconds since the Unix epoch.
    pub expires_at_unix: u64,
}

/// A reason why a file was not shared. The texts are for models and people.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// There is no such file for the caller, or the workspace cannot be reached.
    #[error(transparent)]
    File(#[from] Error),
    /// A link cannot have this lifetime, in seconds.
    #[error("a link lasts from 60 to 604800 seconds, not {0}")]
    Lifetime(u64),
    /// The path is not UTF-8, or too long for a link.
    #[error(
        "the path of the file is too long for a link, or no text: share a copy of it at another path"
    )]
    Path,
    /// People cannot reach the host by HTTP.
    #[error(
        "this server has no address at which a person could open a link: tell the person the path of the file instead"
    )]
    NoAddress,
    /// The chat has shared [`MAX_SHARED`] files in the last hour.
    #[error(
        "this chat has shared {MAX_SHARED} files in the last hour, and no more can be: use the links that there are, or tell the person the paths"
    )]
    TooMany,
}

/// The part of a host that makes links.
pub trait Sharing: fmt::Debug + Send + Sync {
    /// Makes a link to a regular file, and records that in the trail.
    ///
    /// # Errors
    ///
    /// See [`ShareError`].
    fn share<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<SharedFile, ShareError>>;

    /// Returns the address at which a person opens the server at a port of this chat; `None` if the servers of chats are not shown. Any bearer
    /// of the address can use the server, until it expires.
    fn port(&self, chat: &ChatId, port: u16, principal: &str) -> Option<PortLink>;
}
