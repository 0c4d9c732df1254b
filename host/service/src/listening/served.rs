//! The trait of things that a server serves.

use std::io;

use toolhost_agent::Offer;
use toolhost_http::Listener;
use toolhost_http::access::Access;
use toolhost_workspace::process::Info;

/// Something that can be served until a signal ends it.
pub trait Served: Clone + Send + 'static {
    /// Whether it offers tools.
    const OFFERS_TOOLS: bool;

    /// Serves until `shutdown` is ready, then ends the processes and returns those that were live.
    fn serve(
        self,
        listeners: Vec<Listener>,
        access: Access,
        shutdown: impl Future<Output = ()>,
    ) -> impl Future<Output = io::Result<Vec<Info>>>;

    /// Is told of the listeners, before anybody else is told of them. Does nothing unless this is replaced.
    fn listens(&self, _listeners: &[Listener]) {}

    /// Returns the problems that the operator should read last when the server starts, a line each. None unless this is replaced.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends sooner, since a further signal came: without the rest of the time for draining, or else without the rest of the grace of
    /// processes that are being ended.
    fn hurry(&self);
}

impl Served for Offer {
    const OFFERS_TOOLS: bool = false;

    async fn serve(
        self,
        listeners: Vec<Listener>,
        access: Access,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Vec<Info>> {
        toolhost_link::serve(listeners, self, access, shutdown).await
    }

    fn hurry(&self) {
        self.workspace.kill_now();
    }
}
