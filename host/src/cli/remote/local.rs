//! The server that uses the state directory, found by its socket there.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::Server;
use super::connection::Endpoint;
use crate::cli::Common;
use toolhost_service::errors::without_numbers;
use toolhost_service::token;
use toolhost_state::state_dir::{StateDir, StateDirError, holder};

/// Returns the server, if one listens.
pub(super) fn found(common: &Common, token_file: Option<&Path>) -> anyhow::Result<Option<Server>> {
    let Some(socket) = common.local_socket() else {
        return Ok(None);
    };
    let url = format!("unix:{}", socket.display());
    match UnixStream::connect(&socket) {
        Ok(_) => {}
        // No server listens at the socket, or none has been there.
        Err(error) if is_none(&error) => return Ok(None),
        Err(error) => {
            let error = without_numbers(error.to_string());
            bail!("cannot reach {url}: {error}; name a server with --server");
        }
    }
    let token = token::configured(token_file)?;
    // A variable may have the token of another server. It is sent only if this one asks for a token.
    let (token, spare) = match token_file {
        Some(_) => (token, None),
        None => (None, token),
    };
    Ok(Some(Server {
        place: Endpoint::new(&url, None)?,
        url,
        token,
        token_file: token_file.map(Path::to_owned),
        spare,
    }))
}

/// Returns the server, or the error that says why there is none and what to do.
pub(super) fn required(common: &Common, token_file: Option<&Path>) -> anyhow::Result<Server> {
    if let Some(server) = found(common, token_file)? {
        return Ok(server);
    }
    let path = common.state_dir().context(
        "there is no state directory in which to look for a server, as neither XDG_STATE_HOME nor HOME is set: name the server with \
         --server",
    )?;
    let shown = path.display();
    match StateDir::existing(&path)?.map(|directory| directory.lock_to_read()) {
        Some(Err(StateDirError::Locked { pid, .. })) => bail!(
            "a toolhost{} uses the state directory {shown} and does not listen there: it is starting, is no `toolhost serve`, or \
             was started with --no-local-socket; name it with --server",
            holder(pid)
        ),
        _ => bail!(
            "no server runs with the state directory {shown}: start one with `toolhost serve`, or name another with --server or \
             --state-dir"
        ),
    }
}

fn is_none(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    // A path that is too long for a socket is one at which no server listens.
    matches!(
        error.kind(),
        ConnectionRefused | NotFound | io::ErrorKind::InvalidInput
    )
}
