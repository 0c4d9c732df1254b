//! `wasi:http`: requests to the destinations that the operator grants the plugin.
//!
//! wasmtime-wasi-http makes a task of each request. It runs on the threads for guests, beside its guest, and ends with the
//! resource that stands for it: with the call at the latest. Waiting costs the guest nothing; the CPU time of its tasks, which
//! goes mostly to TLS, is added to its work.
//!
//! The host holds a request that a guest prepares and never sends. So headers, texts and the buffered part of a body are
//! bounded for each request, and the handles of the call bound the number of requests.

mod lent;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::http::uri::Scheme;
use hyper::{Request, Response};
use tracing::Level;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{
    ErrorCode, Host, HostOutgoingRequest, IoError, Method, OutgoingRequest,
};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use super::{CallContext, CallState, Capability, Scope, View};
use crate::line_log::LineLog;

use super::State;
use crate::grants::{GrantValue, Grants, InvalidGrant};
use crate::outgoing::{
    Answers, Destination, Network, Observer, Pattern, Quota, SendError, Sender, Session, Timeouts,
};
use crate::reached::Reached;
use toolhost_call::audit::Use;
use toolhost_state::thread_time::thread_time;
use toolhost_workspace::files::CpuAccount;

/// The interface of which some functions are replaced, in the version that wasmtime-wasi-http links.
const TYPES: &str = "wasi:http/types@0.2.12";

/// The most memory that the headers of one request take, in bytes, with the overhead of a map.
const MAX_FIELDS: usize = 16 << 10;

/// The most that a guest writes to a body at once, in bytes. Two such pieces wait for the connection.
const MAX_CHUNK: usize = 16 << 10;

/// The longest texts of a request, in bytes. A scheme has at most 64 already.
const MAX_METHOD: usize = 64;
const MAX_AUTHORITY: usize = 1 << 10;
const MAX_PATH: usize = 16 << 10;

/// The most requests of one call at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// The name of the capability.
pub(crate) const NAME: &str = "http";

/// The capability to send HTTP requests.
pub(super) const CAPABILITY: Capability = Capability {
    name: NAME,
    imports: &["wasi:http/types", "wasi:http/outgoing-handler"],
    world: None,
    line: r#"http = ["https://api.example.com"]"#,
    meaning: "`http` lets it send requests to the hosts that you list; if it needs none, build it without HTTP, for jco and componentize-js with `-d http -d fetch-event`",
    options: &["http=PATTERN"],
    read,
    // A name that no resolver knows (RFC 6761).
    least: || GrantValue::List(vec!["https://toolhost.invalid".into()]),
    link,
};

impl Grants {
    /// Returns these grants with the grant to send requests to these destinations.
    #[must_use]
    pub fn with_http(mut self, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        let patterns = patterns.into_iter().map(|pattern| pattern.to_string());
        let value = GrantValue::List(patterns.collect());
        self.granted.insert(NAME, value);
        self
    }
}

/// Reads a list of patterns, or one pattern.
fn read(value: GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>) {
    let texts = match value {
        GrantValue::Text(text) => vec![text],
        GrantValue::List(texts) => texts,
        GrantValue::Table(_) => {
            let what = r#"a list of texts, such as ["a", "b"]"#;
            return (None, vec![InvalidGrant::must_be(what)]);
        }
    };
    let (mut patterns, mut problems) = (Vec::new(), Vec::new());
    for (index, text) in texts.into_iter().enumerate() {
        match text.parse::<Pattern>() {
            Ok(_) => patterns.push(text),
            Err(error) => problems.push(InvalidGrant {
                part: format!("[{index}]"),
                text: error.to_string(),
            }),
        }
    }
    let granted = (!patterns.is_empty()).then_some(GrantValue::List(patterns));
    (granted, problems)
}

/// Links `wasi:http`, and replaces the functions that would keep texts of any length.
fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store, (request, method): (Resource<OutgoingRequest>, Method)| {
            if matches!(&method, Method::Other(text) if text.len() > MAX_METHOD) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store, (request, authority): (Resource<OutgoingRequest>, Option<String>)| {
            if is_longer(authority.as_deref(), MAX_AUTHORITY) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store, (request, path): (Resource<OutgoingRequest>, Option<String>)| {
            if is_longer(path.as_deref(), MAX_PATH) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_path_with_query(request, path)?,))
        },
    )?;
    types.func_wrap(
        "http-error-code",
        |mut store, (error,): (Resource<IoError>,)| {
            let mut http = store.data_mut().http();
            let code = http.table.get(&error)?.downcast_ref().and_then(within_body);
            match code {
                Some(code) => Ok((Some(code),)),
                None => Ok((http.http_error_code(error)?,)),
            }
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn is_longer(text: Option<&str>, most: usize) -> bool {
    text.is_some_and(|text| text.len() > most)
}

/// Returns the code of an error within the body of a response, which wasmtime-wasi-http keeps in another type than the one
/// that it looks for.
fn within_body(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::InternalError(text) => Some(ErrorCode::InternalError(text.clone())),
        Error::ConnectionReadTimeout => Some(ErrorCode::ConnectionReadTimeout),
        Error::HttpResponseIncomplete => Some(ErrorCode::HttpResponseIncomplete),
        Error::HttpProtocolError => Some(ErrorCode::HttpProtocolError),
        _ => None,
    }
}

/// The state of `wasi:http` for one call.
#[derive(Debug)]
pub(crate) struct Http {
    hooks: Hooks,
    context: WasiHttpCtx,
}

#[derive(Debug)]
struct Hooks {
    session: Session,
    work: Arc<CpuAccount>,
    scope: Scope,
    /// Answers in place of the network.
    answers: Option<Arc<Answers>>,
}

impl CallState for Http {
    type Grant = Arc<Sender>;

    fn prepare(value: Option<&GrantValue>) -> Arc<Sender> {
        let patterns: Vec<_> = match value {
            Some(GrantValue::List(texts)) => {
                texts.iter().filter_map(|text| text.parse().ok()).collect()
            }
            _ => Vec::new(),
        };
        let network = match patterns.is_empty() {
            true => Network::unused(),
            false => Network::system(),
        };
        Sender::new(patterns, network)
    }

    fn begin(sender: &Arc<Sender>, context: &CallContext) -> Self {
        let quota = Quota {
            requests: context.limits.http_requests,
            bytes: context.limits.http_bytes,
            concurrent: CONCURRENT_REQUESTS,
        };
        let observer = Recorder {
            scope: context.scope(NAME),
            log: context.log.clone(),
        };
        let deadline = context.call.as_ref().map(|call| call.deadline);
        let hooks = Hooks {
            session: sender.session(quota, Arc::new(observer), deadline),
            work: Arc::clone(&context.work),
            scope: context.scope(NAME),
            answers: context.call.as_ref().and_then(|call| call.answers.clone()),
        };
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        Self { hooks, context }
    }

    fn reached(&self) -> Option<Reached> {
        let limit = self.hooks.session.reached()?;
        let most = usize::try_from(limit.most).unwrap_or(usize::MAX);
        Some(Reached::of(limit.kind, most))
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let View::<Http> { state, table } = self.view();
        WasiHttpCtxView {
            hooks: &mut state.hooks,
            table,
            ctx: &mut state.context,
        }
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
        // The session writes this header, in the spelling that it has checked.
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_CHUNK
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
        let (head, body) = request.into_parts();
        let (body, rest) = lent::lend(body);
        let request = Request::from_parts(head, body);
        // This task ends when the guest has finished the body, at the latest with the guest.
        let work = Arc::clone(&self.work);
        let discard = move || drop(tokio::spawn(Charged::new(work, rest.discard())));
        match self.scope.call() {
            Ok(call) => call.effects.note(),
            Err(_) => {
                return Box::new(async {
                    discard();
                    Err(Error::HttpRequestDenied)
                });
            }
        }
        if let Some(answers) = &self.answers {
            let answer = answers.take(&request.into_parts().0);
            return Box::new(async {
                discard();
                answered(answer)
            });
        }
        let options = options.unwrap_or_default();
        let timeouts = Timeouts {
            connect: options.connect_timeout,
            first_byte: options.first_byte_timeout,
            between_bytes: options.between_bytes_timeout,
        };
        let sending = self.session.send(request, timeouts);
        let work = Arc::clone(&self.work);
        let exchange = async move {
            let (response, connection) = sending.await.map_err(|error| {
                discard();
                code(error)
            })?;
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

/// Returns the answer of a test as an exchange.
fn answered(answer: Result<Response<Bytes>, String>) -> Exchange {
    let response = answer.map_err(|text| Error::InternalError(Some(text)))?;
    let response = response.map(|body| {
        Full::new(body)
            .map_err(|never| match never {})
            .boxed_unsync()
    });
    Ok((response, Box::new(std::future::ready(Ok(())))))
}

/// A task of a guest on other threads, for whose CPU time the guest is charged.
struct Charged<F> {
    work: Arc<CpuAccount>,
    task: Pin<Box<F>>,
}

impl<F> Charged<F> {
    fn new(work: Arc<CpuAccount>, task: F) -> Self {
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

/// Records sent and refused requests in the audit trail, and the reasons in the plugin's log.
#[derive(Debug)]
struct Recorder {
    scope: Scope,
    log: LineLog,
}

impl Observer for Recorder {
    fn sent(&self, method: &str, destination: &Destination, status: Option<u16>) {
        self.scope.trail.record(&Use::HttpRequest {
            method: method.to_owned(),
            authority: destination.to_string(),
            status,
        });
    }

    fn denied(&self, destination: &Destination, why: &SendError) {
        self.scope.denied(format!("a request to {destination}"));
        self.log.line(Level::WARN, &why.to_string());
    }

    fn ended(&self, sent: u64, received: u64) {
        let trail = &self.scope.trail;
        trail.metrics.http_bytes(&trail.plugin, sent, received);
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
        SendError::Interfaces(error) => Error::InternalError(Some(error.to_string())),
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
