//! Sending one request: from the check of its destination to the end of its connection.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::Body;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::account::{Account, Counted, Quota};
use super::body::ResponseBody;
use super::connect;
use super::error::{Limit, SendError};
use super::network::Network;
use super::observer::Observer;
use super::pattern::Pattern;
use toolhost_egress::{Allowance, Destination, Scheme, origin_form};

/// The default time for a connection: resolving the name, TCP and TLS together.
const CONNECT: Duration = Duration::from_secs(10);

/// The most bytes of a response that are held for a guest that does not read, and the most that its headers may have.
const BUFFER: usize = 64 << 10;

/// Sends the requests of one plugin.
#[derive(Debug)]
pub struct Sender {
    patterns: Vec<Pattern>,
    network: Network,
}

/// Sends the requests of one call, within its quota. Clones share everything.
#[derive(Clone, Debug)]
pub struct Session {
    sender: Arc<Sender>,
    account: Arc<Account>,
    permits: Arc<Semaphore>,
    observer: Arc<dyn Observer>,
    deadline: Option<Instant>,
}

/// How long a guest is willing to wait. All of it ends at the deadline of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection; 10 s by default.
    pub connect: Option<Duration>,
    /// For the headers of the response, once there is a connection.
    pub first_byte: Option<Duration>,
    /// For more of the body.
    pub between_bytes: Option<Duration>,
}

/// The future that drives the rest of an exchange. Poll it while the body is read; dropping it closes the connection.
pub type Connection = BoxFuture<'static, ()>;

impl Sender {
    /// Makes a sender for requests that one of these patterns allows.
    pub fn new(patterns: Vec<Pattern>, network: Network) -> Arc<Self> {
        Arc::new(Self { patterns, network })
    }

    /// Begins the requests of one call.
    pub fn session(
        self: &Arc<Self>,
        quota: Quota,
        observer: Arc<dyn Observer>,
        deadline: Option<Instant>,
    ) -> Session {
        Session {
            sender: Arc::clone(self),
            account: Arc::new(Account::new(quota, Arc::clone(&observer))),
            permits: Arc::new(Semaphore::new(quota.concurrent)),
            observer,
            deadline,
        }
    }
}

impl Session {
    /// Returns the limit that the call has reached, if it has.
    pub fn reached(&self) -> Option<Limit> {
        self.account.reached()
    }

    /// Sends a request. The request is counted and compared with the patterns at once; everything else happens as the future is
    /// polled. Dropping the future, or the [`Connection`] that it returns, closes the connection.
    ///
    /// The URI must be absolute. The header `Host` is made from the URI, and replaces that of the request.
    ///
    /// # Errors
    ///
    /// See [`SendError`].
    pub fn send<B>(
        &self,
        request: Request<B>,
        timeouts: Timeouts,
    ) -> impl Future<Output = Result<(Response<ResponseBody>, Connection), SendError>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let admitted = self.admit(&request);
        let session = self.clone();
        async move {
            let (destination, allowance) = admitted?;
            session
                .exchange(request, &destination, allowance, timeouts)
                .await
        }
    }

    /// Counts a request, and returns its destination if the patterns allow it.
    fn admit<B>(&self, request: &Request<B>) -> Result<(Destination, Allowance), SendError> {
        self.account.request()?;
        if request.method() == Method::CONNECT {
            return Err(SendError::Method(request.method().to_string()));
        }
        let uri = request.uri();
        let scheme = uri
            .scheme_str()
            .and_then(Scheme::parse)
            .ok_or(SendError::Scheme)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let destination = Destination::parse(scheme, authority)?;
        let patterns = self.sender.patterns.iter();
        match patterns
            .filter_map(|pattern| pattern.allows(&destination))
            .max()
        {
            Some(allowance) => Ok((destination, allowance)),
            None => {
                let error = SendError::NotGranted(destination.clone());
                self.observer.denied(&destination, &error);
                Err(error)
            }
        }
    }

    async fn exchange<B>(
        self,
        mut request: Request<B>,
        destination: &Destination,
        allowance: Allowance,
        timeouts: Timeouts,
    ) -> Result<(Response<ResponseBody>, Connection), SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let network = &self.sender.network;
        let until = self.until(timeouts.connect.unwrap_or(CONNECT));
        let permit = timeout_at(until, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(SendError::Crowded);
        };
        let found = connect::find(network, destination, allowance, until).await;
        let addresses = found.inspect_err(|error| {
            if error.is_denial() {
                self.observer.denied(destination, error);
            }
        })?;
        let mut sent = Sent::new(&self.observer, request.method(), destination);
        let stream = connect::connect(network, destination, &addresses, until).await?;
        prepare(&mut request, destination);
        let counted = Counted::new(stream, Arc::clone(&self.account));
        let explain = |error| SendError::explain(error, self.account.reached());
        let (mut requests, driver) = http1::Builder::new()
            .max_buf_size(BUFFER)
            .handshake(TokioIo::new(counted))
            .await
            .map_err(explain)?;
        let mut connection: BoxFuture<'static, hyper::Result<()>> = Box::pin(async move {
            let _permit = permit;
            driver.await
        });
        let mut response = pin!(requests.send_request(request));
        let response = async {
            tokio::select! {
                biased;
                response = &mut response => response,
                ended = &mut connection => {
                    connection = Box::pin(std::future::ready(Ok(())));
                    // The connection has ended: the response is here now or will never come. That the server closed before it had the
                    // whole request is no error if it has answered.
                    match (response.as_mut().now_or_never(), ended) {
                        (Some(Ok(response)), _) => Ok(response),
                        (_, Err(error)) | (Some(Err(error)), Ok(())) => Err(error),
                        (None, Ok(())) => response.await,
                    }
                }
            }
        };
        let response = match timeouts.first_byte {
            Some(patience) => timeout_at(self.until(patience), response)
                .await
                .map_err(|_| SendError::ResponseTimeout)?,
            None => response.await,
        };
        let response = response.map_err(explain)?;
        sent.status = Some(response.status().as_u16());
        let (account, patience) = (Arc::clone(&self.account), timeouts.between_bytes);
        let response = response.map(|incoming| ResponseBody::new(incoming, account, patience));
        // The reader of the body gets the error.
        let connection = connection.map(drop).boxed();
        Ok((response, connection))
    }

    /// Returns the instant after this time, but at the latest the deadline of the call.
    fn until(&self, time: Duration) -> Instant {
        let now = Instant::now();
        // A guest can ask for a time that an `Instant` cannot represent.
        let latest = now + Duration::from_secs(24 * 60 * 60);
        let end = now.checked_add(time).unwrap_or(latest);
        end.min(self.deadline.unwrap_or(latest))
    }
}

/// Reduces the URI to its path and query, and sets the headers `Host` and `Connection`.
fn prepare<B>(request: &mut Request<B>, destination: &Destination) {
    *request.uri_mut() = origin_form(request.uri());
    let headers = request.headers_mut();
    if let Ok(host) = HeaderValue::from_str(&destination.authority()) {
        headers.insert(HOST, host);
    }
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}

/// Reports a request when it is over, also if its future was dropped.
struct Sent {
    observer: Arc<dyn Observer>,
    method: Method,
    destination: Destination,
    status: Option<u16>,
}

impl Sent {
    fn new(observer: &Arc<dyn Observer>, method: &Method, destination: &Destination) -> Self {
        Self {
            observer: Arc::clone(observer),
            method: method.clone(),
            destination: destination.clone(),
            status: None,
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.observer
            .sent(self.method.as_str(), &self.destination, self.status);
    }
}
