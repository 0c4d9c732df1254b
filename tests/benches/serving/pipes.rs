//! A server over its standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A server with a tool `echo`, which ends when it is dropped.
pub(crate) struct Pipes {
    child: Child,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Pipes {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut pipes = Self {
            child,
            output,
            last: 0,
        };
        let client = json!({ "name": "bench", "version": "1" });
        pipes.request(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        );
        pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        // A plugin may still be compiled.
        while !pipes.has_echo() {
            std::thread::sleep(Duration::from_millis(100));
        }
        pipes
    }

    fn has_echo(&mut self) -> bool {
        let listed: Value = serde_json::from_str(&self.request("tools/list", &json!({}))).unwrap();
        let tools = listed["result"]["tools"].as_array();
        tools
            .expect("there is a list")
            .iter()
            .any(|tool| tool["name"] == "echo")
    }

    fn send(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().expect("it is piped");
        input
            .write_all(format!("{message}\n").as_bytes())
            .expect("it reads");
    }

    /// Asks and returns the reply.
    fn request(&mut self, method: &str, params: &Value) -> String {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        // The id of a reply is at its start or at its end.
        let (first, last) = (format!("\"id\":{id},"), format!("\"id\":{id}}}"));
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it can be read");
            assert_ne!(read, 0, "it ended");
            if line.contains(&first) || line.contains(&last) {
                return line;
            }
        }
    }

    /// Calls the tool, and returns how long that took.
    pub(crate) fn echo(&mut self, text: &str) -> Duration {
        let call = json!({ "name": "echo", "arguments": { "text": text } });
        let begun = Instant::now();
        let reply = self.request("tools/call", &call);
        let time = begun.elapsed();
        assert!(reply.contains(&format!("\"text\":\"{text}\"")), "{reply}");
        time
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Not all servers end with their input.
        std::thread::sleep(Duration::from_millis(100));
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
