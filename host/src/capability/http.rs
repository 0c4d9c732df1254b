//! `wasi:http`: requests to where the operator lets the plugin send them.
//!
//! wasmtime-wasi-http makes a task of each request. It runs on the threads for guests, beside its guest, and ends with the
//! resource that stands for it: with the call at the latest. Waiting costs the guest nothing; what its tasks compute, which
//! is mostly TLS, is added to its work.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::http::uri::Scheme;
use hyper::{Request, Response};
use tracing::Level;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use super::{LineLog, Scope};
use crate::audit::{Trail, Use};
use crate::files::{Work, thread_time};
use crate::outgoing::{Destination, Limit, Observer, Quota, SendError, Sender, Session, Timeouts};

/// What `wasi:http` needs to know of a call.
#[derive(Debug)]
pub(crate) struct Http {
    hooks: Hooks,
    context: WasiHttpCtx,
}

#[derive(Debug)]
struct Hooks {
    session: Session,
    work: Arc<Work>,
}

impl Http {
    /// Begins the requests of one call.
    pub(crate) fn new(sender: &Arc<Sender>, quota: Quota, scope: &Scope) -> Self {
        let observer = Recorder {
            trail: scope.trail.clone(),
            log: scope.log.clone(),
        };
        let deadline = scope.call.as_ref().map(|call| call.deadline);
        let hooks = Hooks {
            session: sender.session(quota, Arc::new(observer), deadline),
            work: Arc::clone(&scope.work),
        };
        Self {
            hooks,
            context: WasiHttpCtx::new(),
        }
    }

    pub(crate) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            hooks: &mut self.hooks,
            table,
            ctx: &mut self.context,
        }
    }

    /// Returns which limit the call has reached, if it has: a guest mostly traps soon after.
    pub(crate) fn refusal(&self) -> Option<Limit> {
        self.hooks.session.reached()
    }
}

type Exchange = Result<
    (
        Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for Hooks {
    fn set_host_header(&mut self) -> bool {
        // The session writes it, in the spelling that it has checked.
        false
    }

    fn default_scheme(&mut self) -> Option<Scheme> {
        Some(Scheme::HTTPS)
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Exchange> + Send> {
        let options = options.unwrap_or_default();
        let timeouts = Timeouts {
            connect: options.connect_timeout,
            first_byte: options.first_byte_timeout,
            between_bytes: options.between_bytes_timeout,
        };
        let sending = self.session.send(request, timeouts);
        let work = Arc::clone(&self.work);
        let exchange = async move {
            let (response, connection) = sending.await.map_err(code)?;
            let response = response.map(|body| body.map_err(code).boxed_unsync());
            let rest = Charged::new(work, async move {
                connection.await;
                Ok(())
            });
            let rest: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(rest);
            Ok((response, rest))
        };
        Box::new(Charged::new(Arc::clone(&self.work), exchange))
    }
}

/// A task of a guest on other threads, for whose CPU time the guest is charged.
struct Charged<F> {
    work: Arc<Work>,
    task: Pin<Box<F>>,
}

impl<F> Charged<F> {
    fn new(work: Arc<Work>, task: F) -> Self {
        Self {
            work,
            task: Box::pin(task),
        }
    }
}

impl<F: Future> Future for Charged<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let began = thread_time();
        let result = self.task.as_mut().poll(context);
        let time = thread_time().saturating_sub(began);
        self.work.add(Duration::from_nanos(time));
        result
    }
}

/// Tells the audit trail what was sent and refused, and the plugin's log why.
#[derive(Debug)]
struct Recorder {
    trail: Trail,
    log: LineLog,
}

impl Observer for Recorder {
    fn sent(&self, method: &str, destination: &Destination, status: Option<u16>) {
        self.trail.record(&Use::HttpRequest {
            method: method.to_owned(),
            authority: destination.to_string(),
            status,
        });
    }

    fn denied(&self, destination: &Destination, why: &SendError) {
        self.trail.record(&Use::Denied {
            capability: "http",
            what: format!("a request to {destination}"),
        });
        self.log.line(Level::WARN, &why.to_string());
    }
}

/// Finds the code of WASI for an error. Few have room for a text.
fn code(error: SendError) -> Error {
    match error {
        SendError::Host(_) => Error::HttpRequestUriInvalid,
        SendError::Scheme => Error::HttpProtocolError,
        SendError::Method(_) => Error::HttpRequestMethodInvalid,
        SendError::NotGranted(_) => Error::HttpRequestDenied,
        SendError::Prohibited(_) => Error::DestinationIpProhibited,
        SendError::Limit(limit) => Error::InternalError(Some(limit.to_string())),
        SendError::Crowded => Error::ConnectionLimitReached,
        SendError::Lookup(error) => Error::DnsError {
            rcode: Some(error.to_string()),
            info_code: None,
        },
        SendError::LookupTimeout => Error::DnsTimeout,
        SendError::Connect(_) => Error::ConnectionRefused,
        SendError::ConnectTimeout => Error::ConnectionTimeout,
        SendError::Tls(error) => {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            match cause {
                Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
                _ => Error::TlsProtocolError,
            }
        }
        SendError::ResponseTimeout => Error::HttpResponseTimeout,
        SendError::ReadTimeout => Error::ConnectionReadTimeout,
        SendError::Incomplete => Error::HttpResponseIncomplete,
        SendError::Http(_) => Error::HttpProtocolError,
    }
}
