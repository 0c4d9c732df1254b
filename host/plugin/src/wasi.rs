//! The WASI of a plugin: its grants, looked up once when the plugin is loaded, and nothing else.
//!
//! Operations on files run on threads that may block, one at a time for each call, since the guest waits for the operation.
//! Their cost is not guest time, and they read and write a few megabytes at most. The deadline of the call ends the guest, not
//! the operation under way. Only the disk limits the bytes that a plugin with a grant to write may write.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use toolhost_state::closed::Closed;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

use super::LoadError;
use super::line_log::LineLog;
use super::stdio::GuestOutput;
use crate::capability::Prepared;
use crate::grants::{Grants, Preopen};

/// The most random bytes of one request.
const MAX_RANDOM: u64 = 64 << 10;

/// The grants of a plugin, ready for its stores.
#[derive(Debug)]
pub(super) struct Granted {
    environment: Vec<(String, String)>,
    directories: Vec<Directory>,
    pub(super) capabilities: Prepared,
}

/// A directory that is held by a descriptor: it stays the checked directory, even if another one takes its name later.
#[derive(Debug)]
struct Directory {
    descriptor: OwnedFd,
    preopen: Preopen,
}

impl Granted {
    /// Looks up variables and opens directories. No directory may be, contain, or lie in a closed path.
    pub(super) fn look_up(
        plugin: &str,
        grants: &Grants,
        closed: &Closed,
    ) -> Result<Self, LoadError> {
        let environment = grants.env.iter().filter_map(|name| variable(plugin, name));
        let directories = grants
            .preopens
            .iter()
            .map(|preopen| Directory::open(preopen, closed));
        Ok(Self {
            environment: environment.collect(),
            directories: directories.collect::<Result<_, _>>()?,
            capabilities: Prepared::new(grants),
        })
    }

    /// Makes the WASI of one call: output to the log, the grants, and no arguments, input or sockets.
    pub(super) fn context(&self, log: &LineLog) -> WasiCtx {
        let mut builder = WasiCtxBuilder::new();
        builder
            .stdout(GuestOutput::output(log.clone()))
            .stderr(GuestOutput::error(log.clone()))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .max_random_size(MAX_RANDOM)
            .envs(&self.environment);
        for directory in &self.directories {
            let Preopen {
                directory: path,
                name,
                write,
            } = &directory.preopen;
            let permissions = if *write {
                FsPerms::ReadWrite
            } else {
                FsPerms::ReadOnly
            };
            let same = format!("/proc/self/fd/{}", directory.descriptor.as_raw_fd());
            if let Err(error) = builder.preopened_dir(same, name, permissions) {
                tracing::error!(directory = %path.display(), error = format!("{error:#}"), "a granted directory cannot be opened");
            }
        }
        builder.build()
    }
}

/// Returns a variable of the host and its value.
fn variable(plugin: &str, name: &str) -> Option<(String, String)> {
    match std::env::var(name) {
        Ok(value) => Some((name.to_owned(), value)),
        Err(error) => {
            tracing::warn!(plugin, name, %error, "a variable that is granted to a plugin is left out");
            None
        }
    }
}

impl Directory {
    fn open(preopen: &Preopen, closed: &Closed) -> Result<Self, LoadError> {
        let path = &preopen.directory;
        let refused = |problem: String| LoadError::Preopen {
            directory: path.clone(),
            problem,
        };
        let unusable = |error: std::io::Error| refused(error.to_string());
        let whole = path.canonicalize().map_err(unusable)?;
        let opened = File::options()
            .read(true)
            .custom_flags(nix::libc::O_PATH | nix::libc::O_DIRECTORY)
            .open(&whole)
            .map_err(unusable)?;
        if let Some(closed) = closed.overlap(&whole) {
            let closed = closed.display();
            return Err(refused(format!(
                "it is, contains or lies in {closed}, which is closed to tools and commands (never): grant another one"
            )));
        }
        Ok(Self {
            descriptor: opened.into(),
            preopen: preopen.clone(),
        })
    }
}
