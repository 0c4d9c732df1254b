//! The calls of a plugin under development, as the audit trail has them.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;
use toolhost_call::audit::Audit;
use toolhost_plugin::shown;
use toolhost_service::follow::{Followed, Follower};
use toolhost_service::stderr;

/// Prints a line for each call that ends.
#[derive(Debug)]
pub(super) struct Calls {
    path: PathBuf,
    plugin: String,
    /// The number of bytes of the file that were read.
    read: u64,
}

impl Calls {
    /// Prints the calls of this plugin from now on, until the returned value is dropped. `None`: there is no trail.
    pub(super) fn follow(audit: &Audit, plugin: String) -> Option<Follower> {
        let path = audit.directory()?.join("audit.jsonl");
        let read = path.metadata().map_or(0, |metadata| metadata.len());
        let calls = Self { path, plugin, read };
        let follower = Follower::start(calls);
        follower
            .inspect_err(|error| tracing::warn!(%error, "calls are not shown"))
            .ok()
    }

    /// Returns the lines that were added to the file.
    fn added(&mut self) -> std::io::Result<String> {
        let mut file = std::fs::File::open(&self.path)?;
        let size = file.metadata()?.len();
        if size < self.read {
            // The file was rotated.
            self.read = 0;
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        self.read += bytes.len() as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the line about a call that ended, if this is one of the plugin.
    fn line(&self, event: &Value) -> Option<String> {
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        if text("event") != Some("call") || text("plugin") != Some(&self.plugin) {
            return None;
        }
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        let outcome = text("outcome").unwrap_or("ended");
        let mut line = format!(
            "call    {}  {}",
            shown(text("tool").unwrap_or_default()),
            shown(outcome)
        );
        if let Some(milliseconds) = number("duration_ms") {
            line.push_str(&format!("  {milliseconds} ms"));
        }
        if let Some(memory) = number("memory") {
            line.push_str(&format!("  {} KiB", memory / 1024));
        }
        Some(line)
    }
}

impl Followed for Calls {
    type Read = Vec<String>;

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn read(&mut self) -> Self::Read {
        // A file that is being rotated is read at its next change.
        let added = self.added().unwrap_or_default();
        let events = added
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        events.filter_map(|event| self.line(&event)).collect()
    }

    async fn take(&mut self, lines: Self::Read) -> bool {
        lines.iter().for_each(stderr::line);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_calls_of_the_plugin_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(
            &path,
            "{\"event\":\"call\",\"plugin\":\"a\",\"tool\":\"old\"}\n",
        )
        .unwrap();
        let mut calls = Calls {
            read: path.metadata().unwrap().len(),
            path: path.clone(),
            plugin: "a".into(),
        };
        assert!(calls.read().is_empty());
        let add = |text: &str| {
            use std::io::Write as _;
            let mut file = std::fs::File::options().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add(
            "{\"event\":\"call\",\"plugin\":\"a\",\"tool\":\"t\",\"outcome\":\"ok\",\"duration_ms\":3,\"memory\":2048}\n",
        );
        add("{\"event\":\"call\",\"plugin\":\"b\",\"tool\":\"t\"}\n{\"event\":\"ca");
        assert_eq!(calls.read(), ["call    t  ok  3 ms  2 KiB"]);
        add("ll\",\"plugin\":\"a\",\"tool\":\"u\",\"outcome\":\"broken\"}\n");
        assert_eq!(calls.read(), ["call    u  broken"]);
    }
}
