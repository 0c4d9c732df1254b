//! Request bodies, bounded in time, in size, and in the memory that all of them hold together.

use std::error::Error as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::BodyExt;

use super::limits::{Held, NoRoom, RequestPermit};
use super::problem::{Kind, Problem};
use super::stream::Stopping;
use toolhost_call::call::Refused;

/// The longest time that a client may take to send a body, unless a caller of [`read_within`] allows more; and the longest time
/// without a byte from it.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The most bytes of an oversized body that are read and discarded, so that the client gets to read the error response.
const THROWN_AWAY: usize = 16 << 20;

/// A reason why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client took too long to send the body.
    #[error("the body took too long")]
    Slow,
    /// The body is larger than this many bytes.
    #[error("the body has more than {0} bytes, which is the most")]
    TooLarge(usize),
    /// The connection failed while the body was read.
    #[error("the body broke off: {0}")]
    Broken(String),
    /// The server stops.
    #[error(transparent)]
    Stopping(#[from] Stopping),
    /// The request bodies in memory have reached their limit.
    #[error(transparent)]
    Busy(#[from] NoRoom),
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let detail = error.to_string();
        match error {
            BodyError::Slow => Self::new(Kind::SLOW_BODY, detail),
            BodyError::TooLarge(_) => Self::new(Kind::TOO_LARGE, detail),
            BodyError::Broken(_) => Self::broken_request(detail),
            BodyError::Stopping(_) => Refused::Closed.into(),
            BodyError::Busy(_) => Self::busy(detail),
        }
    }
}

/// A body that was read. Its bytes count against the limits until this is dropped.
#[derive(Debug)]
pub struct Read {
    /// The whole body.
    pub bytes: Vec<u8>,
    held: Held,
}

impl Read {
    /// Returns the counter of the bytes, for callers that also keep other memory for the request.
    pub fn into_held(self) -> Held {
        self.held
    }

    /// Returns the bytes and their count.
    pub fn into_parts(self) -> (Vec<u8>, Held) {
        (self.bytes, self.held)
    }
}

/// Reads the body of a request, of at most this many bytes.
pub async fn read(request: Request, max: usize) -> Result<Read, BodyError> {
    read_within(request, max, BODY_TIME).await
}

/// Reads the body of a request, of at most this many bytes, for which a client may take this long.
pub async fn read_within(request: Request, max: usize, time: Duration) -> Result<Read, BodyError> {
    let place = request.extensions().get::<RequestPermit>().cloned();
    let reading = collect(request.into_body(), place.as_ref(), max);
    match tokio::time::timeout(time, reading).await {
        Ok(read) => read,
        Err(_) => Err(BodyError::Slow),
    }
}

/// A body that is read in parts, so that no more than one of them is in memory.
#[derive(Debug)]
pub struct Parts {
    body: Body,
    /// The bytes that came with the last part and are of the next one.
    rest: Bytes,
    left: u64,
    most: u64,
}

impl Parts {
    /// Begins to read the body of a request, of at most this many bytes.
    pub fn of(request: Request, most: u64) -> Self {
        Self {
            body: request.into_body(),
            rest: Bytes::new(),
            left: most,
            most,
        }
    }

    /// Returns the next bytes; `None` after the last. They are `size` bytes, or fewer at the end and if the client takes longer than `time`
    /// to send them.
    ///
    /// # Errors
    ///
    /// See [`BodyError`]. [`BodyError::Slow`] if the client sends nothing for 30 seconds.
    pub async fn next(
        &mut self,
        size: usize,
        time: Duration,
    ) -> Result<Option<Vec<u8>>, BodyError> {
        let mut part = Vec::with_capacity(size);
        let until = tokio::time::Instant::now() + time;
        while part.len() < size {
            if self.rest.is_empty() {
                let within = match part.is_empty() {
                    true => tokio::time::Instant::now() + BODY_TIME,
                    false => until,
                };
                match tokio::time::timeout_at(within, self.body.frame()).await {
                    Err(_) if part.is_empty() => return Err(BodyError::Slow),
                    Err(_) | Ok(None) => break,
                    Ok(Some(frame)) => {
                        let frame = frame.map_err(|error| broken(&error))?;
                        self.rest = frame.into_data().unwrap_or_default();
                    }
                }
                if let Some(left) = self.left.checked_sub(self.rest.len() as u64) {
                    self.left = left;
                } else {
                    let body = std::mem::take(&mut self.body);
                    // A client that sends no more of it gets the answer as well.
                    _ = tokio::time::timeout(BODY_TIME, throw_away(body)).await;
                    let most = usize::try_from(self.most).unwrap_or(usize::MAX);
                    return Err(BodyError::TooLarge(most));
                }
            }
            let length = self.rest.len().min(size - part.len());
            part.extend_from_slice(&self.rest.split_to(length));
        }
        Ok(Some(part).filter(|part| !part.is_empty()))
    }
}

async fn collect(
    mut body: Body,
    place: Option<&RequestPermit>,
    max: usize,
) -> Result<Read, BodyError> {
    let mut read = Read {
        bytes: Vec::new(),
        held: Held::default(),
    };
    // Bytes count when they arrive, not when they are announced. A client that announces a large body and sends nothing takes
    // no memory.
    loop {
        let frame = tokio::time::timeout(BODY_TIME, body.frame()).await;
        let Some(frame) = frame.map_err(|_| BodyError::Slow)? else {
            return Ok(read);
        };
        let frame = frame.map_err(|error| broken(&error))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if read.bytes.len() + data.len() > max {
            drop(read);
            throw_away(body).await;
            return Err(BodyError::TooLarge(max));
        }
        if let Some(place) = place {
            read.held.add(place, data.len())?;
        }
        read.bytes.extend_from_slice(&data);
    }
}

fn broken(error: &axum::Error) -> BodyError {
    let mut causes = std::iter::successors(error.source(), |error| (*error).source());
    match causes.find_map(|error| error.downcast_ref::<Stopping>()) {
        Some(stopping) => (*stopping).into(),
        None => BodyError::Broken(error.to_string()),
    }
}

async fn throw_away(mut body: Body) {
    let mut left = THROWN_AWAY;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, |data| data.len());
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Returns why the headers do not describe a plain JSON body; `None` if they do. A body without a `Content-Type` is taken for
/// JSON.
pub fn not_json(headers: &HeaderMap) -> Option<String> {
    let text =
        |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    if let Some(encoding) = headers.get(CONTENT_ENCODING).map(text)
        && !encoding.eq_ignore_ascii_case("identity")
    {
        return Some(format!(
            "the body is encoded as {encoding:?}, and must be sent as it is"
        ));
    }
    let given = headers.get(CONTENT_TYPE).map(text)?;
    let essence = given.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let json = essence == "application/json"
        || essence.starts_with("application/") && essence.ends_with("+json");
    (!json).then(|| format!("the body is {given:?}, and must be application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_by_its_type() {
        let check = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            not_json(&headers).is_none()
        };
        assert!(not_json(&HeaderMap::new()).is_none());
        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/vnd.chat+json",
        ] {
            assert!(check("content-type", json), "{json}");
        }
        for other in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "text/x+json",
            "",
            "application/jsonp",
        ] {
            assert!(!check("content-type", other), "{other}");
        }
        assert!(check("content-encoding", "identity") && !check("content-encoding", "gzip"));
    }

    #[tokio::test]
    async fn what_is_too_large_is_refused_and_what_fits_is_read() {
        let read = async |size: usize| read(Request::new(Body::from(vec![b'x'; size])), 100).await;
        assert_eq!(read(100).await.unwrap().bytes.len(), 100);
        assert!(matches!(read(101).await, Err(BodyError::TooLarge(100))));
        let endless =
            futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0_u8; 1 << 20]));
        let request = Request::new(Body::from_stream(endless));
        assert!(matches!(
            super::read(request, 100).await,
            Err(BodyError::TooLarge(100))
        ));
    }
}
