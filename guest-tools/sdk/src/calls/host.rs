//! The tools that the host calls.

use std::time::Duration;

use super::{Calls, Error, Reply, Tool, Waited};
use crate::bindings::calls::toolhost::plugin::calls as wit;

/// The tools that the host calls. Off WebAssembly there is no host, and everything is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host;

/// A call that the host was asked for.
#[derive(Debug)]
pub struct Started(wit::Call);

impl Calls for Host {
    type Call = Started;

    fn tools(&self) -> Result<Vec<Tool>, Error> {
        present()?;
        Ok(wit::list_tools()?)
    }

    fn search(&self, query: &str, max: u32) -> Result<Vec<Tool>, Error> {
        present()?;
        Ok(wit::search(query, max)?)
    }

    fn start(&self, tool: &str, arguments: &str) -> Result<Started, Error> {
        present()?;
        Ok(Started(wit::start(tool, arguments)?))
    }

    fn scratch(&self) -> Result<String, Error> {
        present()?;
        Ok(wit::scratch()?)
    }

    fn wait_any(&self, calls: &[&Started], timeout: Duration) -> Result<Waited, Error> {
        present()?;
        let calls: Vec<_> = calls.iter().map(|call| &call.0).collect();
        // Half a millisecond is a wait, and not a look.
        let timeout = u64::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Ok(wit::wait_any(&calls, timeout)?)
    }

    fn reply(&self, call: &Started) -> Option<Result<Reply, Error>> {
        Some(call.0.reply()?.map_err(Error::from))
    }

    fn id(&self, call: &Started) -> String {
        call.0.id()
    }

    fn cancel(&self, call: &Started) {
        call.0.cancel();
    }
}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::Denied(text) => Self::Denied(text),
            wit::Error::UnknownTool(text) => Self::UnknownTool(text),
            wit::Error::InvalidArguments(text) => Self::InvalidArguments(text),
            wit::Error::Limit(text) => Self::Limit(text),
            wit::Error::Busy(text) => Self::Busy(text),
            wit::Error::Unavailable(text) => Self::Unavailable(text),
            wit::Error::Cancelled(text) => Self::Cancelled(text),
            wit::Error::Broken(text) => Self::Broken(text),
            wit::Error::UnknownOutcome(text) => Self::UnknownOutcome(text),
            wit::Error::Gone(text) => Self::Gone(text),
            wit::Error::Failed(text) => Self::Failed(text),
        }
    }
}

/// Off WebAssembly the generated functions would panic.
fn present() -> Result<(), Error> {
    if cfg!(target_family = "wasm") {
        Ok(())
    } else {
        let text = "there is no host here: write tests against `testing::FakeCalls`";
        Err(Error::Denied(text.to_owned()))
    }
}
