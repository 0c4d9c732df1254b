//! A client that calls tools over one connection of HTTP, and costs little itself.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The token that the server knows.
pub(crate) const TOKEN: &str = "a-token-for-the-benchmark";

/// A connection to a server.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("it can be set");
        let buffer = vec![0; 64 << 10];
        Self { stream, buffer }
    }

    /// Calls a tool, waits, and returns the reply.
    pub(crate) fn call(&mut self, chat: &str, id: &str, body: &str) -> &str {
        self.send(chat, id, body);
        self.receive()
    }

    /// Calls a tool.
    pub(crate) fn send(&mut self, chat: &str, id: &str, body: &str) {
        let request = format!(
            "PUT /v1/chats/{chat}/calls/{id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).expect("it reads");
    }

    /// Returns whether the server has a tool.
    pub(crate) fn has_tool(&mut self, name: &str) -> bool {
        let request = format!(
            "GET /v1/tools HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
        );
        self.stream.write_all(request.as_bytes()).expect("it reads");
        self.receive().contains(&format!(r#""name":"{name}""#))
    }

    /// Waits for a reply, which must be a good one, and returns its body.
    pub(crate) fn receive(&mut self) -> &str {
        let mut read = 0;
        let (start, end) = loop {
            let room = self.buffer.get_mut(read..).expect("it is within");
            let more = self.stream.read(room).expect("it answers");
            assert_ne!(more, 0, "it closed the connection");
            read += more;
            let reply = self.buffer.get(..read).expect("it is within");
            let text = std::str::from_utf8(reply).expect("it is text");
            let Some((head, rest)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            assert!(head.starts_with("HTTP/1.1 200"), "{text}");
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.parse::<usize>().ok()).flatten()
            });
            if rest.len() >= length.expect("it has a length") {
                break (head.len() + 4, read);
            }
        };
        let body = self.buffer.get(start..end).expect("it is within");
        std::str::from_utf8(body).expect("it is text")
    }
}
