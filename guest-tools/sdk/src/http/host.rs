//! The requests that the host sends.

use super::{Error, Http, Request, Response, Url};

/// The host, which sends requests. In a test, the network of the
/// [`Surroundings`](crate::testing::Surroundings) stands for it, and without one everything is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host;

impl Http for Host {
    fn send(&self, request: &Request) -> Result<Response, Error> {
        let url = Url::read(&request.url)?;
        #[cfg(target_family = "wasm")]
        return wasi::send(request, &url);
        #[cfg(not(target_family = "wasm"))]
        match crate::testing::surroundings(|now| now.http.clone()) {
            Some(http) => http.send(request),
            None => Err(Error::Denied(format!(
                "there is no host off WebAssembly that sends to {}; tests use testing::FakeHttp",
                url.authority
            ))),
        }
    }
}

#[cfg(target_family = "wasm")]
mod wasi {
    use std::time::Duration;

    use wasip2::http::outgoing_handler;
    use wasip2::http::types::{
        ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method,
        OutgoingBody, OutgoingRequest, RequestOptions, Scheme, http_error_code,
    };
    use wasip2::io::streams::StreamError;

    use crate::http::{Error, Request, Response, Url, codes};

    /// The most bytes that one write may have.
    const WRITE: usize = 4096;
    /// The most bytes that one read asks for.
    const READ: usize = 64 << 10;

    pub(super) fn send(request: &Request, url: &Url<'_>) -> Result<Response, Error> {
        let error = |code: &ErrorCode| codes::error(code, &request.method, url.authority);
        let outgoing = outgoing(request, url)?;
        let body = outgoing.body().map_err(|()| codes::misuse())?;
        let response = outgoing_handler::handle(outgoing, Some(options(request.timeout)))
            .map_err(|code| error(&code))?;
        write(body, &request.body);
        let response = wait(&response)?.map_err(|code| error(&code))?;
        let (status, headers) = (response.status(), headers(&response));
        let body = read(&response, request.max_response)?.map_err(|broken| {
            let code = broken.and_then(|broken| http_error_code(&broken));
            code.map_or_else(codes::broken, |code| error(&code))
        })?;
        Ok(Response {
            status,
            headers,
            body,
        })
    }

    fn outgoing(request: &Request, url: &Url<'_>) -> Result<OutgoingRequest, Error> {
        let headers = request.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.clone(), value.clone().into_bytes()))
            .collect();
        let headers = Fields::from_list(&headers).map_err(|_| {
            Error::Invalid("a header is not valid, or the host sets it itself".to_owned())
        })?;
        let outgoing = OutgoingRequest::new(headers);
        let scheme = if url.is_https {
            Scheme::Https
        } else {
            Scheme::Http
        };
        outgoing
            .set_method(&method(&request.method))
            .and_then(|()| outgoing.set_scheme(Some(&scheme)))
            .and_then(|()| outgoing.set_authority(Some(url.authority)))
            .and_then(|()| outgoing.set_path_with_query(Some(&url.path)))
            .map_err(|()| {
                let (method, url) = (&request.method, &request.url);
                Error::Invalid(format!(
                    "{method} {url}: the method or the address is not valid"
                ))
            })?;
        Ok(outgoing)
    }

    fn method(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            "PATCH" => Method::Patch,
            other => Method::Other(other.to_owned()),
        }
    }

    fn options(timeout: Option<Duration>) -> RequestOptions {
        let options = RequestOptions::new();
        let timeout = timeout.map(|timeout| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        if timeout.is_some() {
            // A host that cannot bound one of these times still bounds the call.
            let _ = options.set_connect_timeout(timeout);
            let _ = options.set_first_byte_timeout(timeout);
            let _ = options.set_between_bytes_timeout(timeout);
        }
        options
    }

    /// Writes the body. If the other side takes no more of it, the response says why.
    fn write(body: OutgoingBody, bytes: &[u8]) {
        if let Ok(stream) = body.write() {
            let mut chunks = bytes.chunks(WRITE);
            let _ = chunks.try_for_each(|chunk| stream.blocking_write_and_flush(chunk));
        }
        let _ = OutgoingBody::finish(body, None);
    }

    type Outcome = Result<IncomingResponse, ErrorCode>;

    fn wait(response: &FutureIncomingResponse) -> Result<Outcome, Error> {
        response.subscribe().block();
        let outcome = response.get().and_then(Result::ok);
        outcome.ok_or_else(codes::misuse)
    }

    fn headers(response: &IncomingResponse) -> Vec<(String, String)> {
        let headers = response.headers().entries().into_iter();
        headers
            .map(|(name, value)| {
                (
                    name.to_ascii_lowercase(),
                    String::from_utf8_lossy(&value).into_owned(),
                )
            })
            .collect()
    }

    type Body = Result<Vec<u8>, Option<wasip2::io::error::Error>>;

    fn read(response: &IncomingResponse, most: usize) -> Result<Body, Error> {
        let incoming = response.consume().map_err(|()| codes::misuse())?;
        let stream = incoming.stream().map_err(|()| codes::misuse())?;
        let mut body = Vec::new();
        loop {
            match stream.blocking_read(READ as u64) {
                Ok(bytes) => body.extend_from_slice(&bytes),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => return Ok(Err(Some(error))),
            }
            if body.len() > most {
                return Err(Error::TooLarge(most));
            }
        }
        drop(stream);
        drop(IncomingBody::finish(incoming));
        Ok(Ok(body))
    }
}
