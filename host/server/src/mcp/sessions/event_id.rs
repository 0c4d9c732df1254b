//! The ids of events. An id says which server sent the event, because the numbers of `rmcp` begin anew with each server.

use rmcp::transport::common::server_side_http::ServerSseMessage;

/// The place of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the stream of a request that this server got: the index of the event, and the number of the stream.
    Request(u64, u64),
    /// On the stream that belongs to no request, from this index on.
    Standalone(u64),
}

/// The name of a server among all that had the same sessions.
#[derive(Debug)]
pub(super) struct Server(String);

impl Default for Server {
    fn default() -> Self {
        let random = uuid::Uuid::new_v4().simple().to_string();
        Self(random.chars().take(12).collect())
    }
}

impl Server {
    /// Adds the name of this server to the id that `rmcp` gave to an event.
    pub(super) fn sign(&self, mut event: ServerSseMessage) -> ServerSseMessage {
        if let Some(id) = &mut event.event_id {
            id.push('@');
            id.push_str(&self.0);
        }
        event
    }

    /// Returns the place of an event; `None` if its stream is gone, or if it is no id of an event.
    ///
    /// The standalone stream has no end of its own. A client that lost it with an earlier server reads it from its beginning.
    pub(super) fn place(&self, id: &str) -> Option<Place> {
        let (place, server) = match id.split_once('@') {
            Some((place, server)) => (place, server),
            // `rmcp` begins a stream with the id 0 of its own.
            None => (id, ""),
        };
        let is_ours = server == self.0;
        if let Some((index, stream)) = place.split_once('/') {
            let place = Place::Request(index.parse().ok()?, stream.parse().ok()?);
            return Some(place).filter(|_| is_ours);
        }
        let index = place.parse().ok()?;
        Some(Place::Standalone(if is_ours { index } else { 0 }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_event_of_an_earlier_server_is_not_taken_for_one_of_this_server() {
        let (earlier, server) = (Server::default(), Server::default());
        let signed = |server: &Server, id: &str| {
            let event = ServerSseMessage::priming(id, Duration::ZERO);
            server.sign(event).event_id.unwrap()
        };
        let place = |id: &str| server.place(id);
        assert_eq!(place(&signed(&server, "1/7")), Some(Place::Request(1, 7)));
        assert_eq!(place(&signed(&earlier, "1/7")), None);
        assert_eq!(place(&signed(&server, "3")), Some(Place::Standalone(3)));
        assert_eq!(place(&signed(&earlier, "3")), Some(Place::Standalone(0)));
        assert_eq!(place("0"), Some(Place::Standalone(0)));
        for none in ["1/7", "x", "x@y", "1/x", "", "@"] {
            assert_eq!(place(none), None, "{none}");
        }
        assert_eq!(server.sign(ServerSseMessage::default()).event_id, None);
    }
}
