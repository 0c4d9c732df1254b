//! `wasi:sockets`: plugins get no sockets. A function that begins the use of one fails with access denied, and is recorded.
//!
//! WASI's own interfaces stay linked, as every Python component imports them; only their three ways in are replaced, so that a
//! guest never holds a socket, which would be a descriptor of the host.

use wasmtime::Result;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{
    self, HostResolveAddressStream, ResolveAddressStream,
};
use wasmtime_wasi::p2::bindings::sockets::network::{
    self, ErrorCode, HostNetwork, IpAddress, IpAddressFamily, Network,
};
use wasmtime_wasi::p2::bindings::sockets::tcp_create_socket::{self, TcpSocket};
use wasmtime_wasi::p2::bindings::sockets::udp_create_socket::{self, UdpSocket};
use wasmtime_wasi::p2::{DynPollable, IoError, SocketError, SocketResult};

use super::State;
use super::{CallContext, Of, Scope, View};

/// The scope that records the uses of sockets.
#[derive(Debug)]
pub(crate) struct Sockets(Scope);

/// Replaces the socket functions that WASI links.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    tcp_create_socket::add_to_linker::<State, Of<Sockets>>(linker, State::view)?;
    udp_create_socket::add_to_linker::<State, Of<Sockets>>(linker, State::view)?;
    ip_name_lookup::add_to_linker::<State, Of<Sockets>>(linker, State::view)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl Sockets {
    pub(super) fn begin(context: &CallContext) -> Self {
        Self(context.scope("sockets"))
    }

    fn refuse(&self, what: &str) -> ErrorCode {
        self.0.denied(what.to_owned());
        ErrorCode::AccessDenied
    }
}

/// The other WASI interfaces need this to tell their errors from traps.
impl network::Host for View<'_, Sockets> {
    fn convert_error_code(&mut self, error: SocketError) -> Result<ErrorCode> {
        error.downcast()
    }

    fn network_error_code(&mut self, error: Resource<IoError>) -> Result<Option<ErrorCode>> {
        self.table.get(&error)?;
        Ok(None)
    }
}

/// No guest has a network of this kind.
impl HostNetwork for View<'_, Sockets> {
    fn drop(&mut self, network: Resource<Network>) -> Result<()> {
        self.table.delete(network)?;
        Ok(())
    }
}

impl tcp_create_socket::Host for View<'_, Sockets> {
    fn create_tcp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        Err(self.state.refuse("a TCP socket").into())
    }
}

impl udp_create_socket::Host for View<'_, Sockets> {
    async fn create_udp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        Err(self.state.refuse("a UDP socket").into())
    }
}

impl ip_name_lookup::Host for View<'_, Sockets> {
    fn resolve_addresses(
        &mut self,
        _: Resource<Network>,
        _: String,
    ) -> SocketResult<Resource<ResolveAddressStream>> {
        Err(self.state.refuse("the lookup of a name").into())
    }
}

/// No guest has one of these streams, so every handle is forged.
impl HostResolveAddressStream for View<'_, Sockets> {
    fn resolve_next_address(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> SocketResult<Option<IpAddress>> {
        self.table.get(&stream)?;
        Err(ErrorCode::AccessDenied.into())
    }

    fn subscribe(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> Result<Resource<DynPollable>> {
        wasmtime_wasi::p2::subscribe(self.table, stream)
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}
