//! The meaning of the codes of `wasi:http`, for a model.

use wasip2::http::types::ErrorCode;

use super::Error;

/// Says why a request to this host has no response.
pub(super) fn error(code: &ErrorCode, method: &str, authority: &str) -> Error {
    use ErrorCode as Code;

    let text = |reason: &str| format!("{method} {authority}: {reason}");
    match code {
        Code::HttpRequestDenied | Code::DestinationIpProhibited => Error::Denied(text(
            "the operator lets this plugin send no requests there; do not repeat it",
        )),
        Code::DnsTimeout | Code::DnsError(_) | Code::DestinationNotFound => {
            Error::Unavailable(text("there is no address for this host"))
        }
        Code::DestinationUnavailable | Code::DestinationIpUnroutable => {
            Error::Unavailable(text("the host cannot be reached"))
        }
        Code::ConnectionRefused => Error::Unavailable(text("the host refuses the connection")),
        Code::ConnectionTimeout => Error::Unavailable(text("the host does not answer in time")),
        Code::ConnectionLimitReached => {
            Error::Unavailable(text("there are too many connections; try again later"))
        }
        Code::TlsProtocolError | Code::TlsAlertReceived(_) => {
            Error::Unavailable(text("no secure connection can be made"))
        }
        Code::TlsCertificateError => {
            Error::Unavailable(text("the certificate of the host is not valid"))
        }
        Code::ConnectionTerminated
        | Code::ConnectionReadTimeout
        | Code::ConnectionWriteTimeout
        | Code::HttpResponseIncomplete
        | Code::HttpResponseTimeout => Error::UnknownOutcome(text(
            "the connection broke before the response was complete; the request may have been served",
        )),
        Code::HttpRequestLengthRequired
        | Code::HttpRequestBodySize(_)
        | Code::HttpRequestMethodInvalid
        | Code::HttpRequestUriInvalid
        | Code::HttpRequestUriTooLong
        | Code::HttpRequestHeaderSectionSize(_)
        | Code::HttpRequestHeaderSize(_)
        | Code::HttpRequestTrailerSectionSize(_)
        | Code::HttpRequestTrailerSize(_) => {
            Error::Invalid(text("the request is too large or not valid"))
        }
        Code::InternalError(Some(reason)) => Error::Failed(text(reason)),
        _ => Error::Failed(text("the response is not valid")),
    }
}

/// The connection broke, and nothing says why.
pub(super) fn broken() -> Error {
    Error::UnknownOutcome("the connection broke before the response was complete".to_owned())
}

/// The host says that a part was asked for twice, which [`Host`](super::Host) does not do.
pub(super) fn misuse() -> Error {
    Error::Failed("the host did not give a part of the request or of the response".to_owned())
}
