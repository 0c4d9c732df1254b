//! The file tools through their component, on real files. What they decide is tested beside their code; here is what only the
//! whole shows.

mod cases;
mod crash;
mod edit;
mod escapes;
mod grants;
mod kinds;
mod large;
mod patches;
mod permissions;
mod read;
mod round_trip;
mod write;

use serde_json::{Value, json};
use toolhost_call::tool::Content;

use crate::harness::Setup;

impl Setup {
    /// Writes a file of the workspace.
    fn make(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.root().join(name), content).unwrap();
    }

    /// Returns the content of a file of the workspace.
    fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.root().join(name)).unwrap()
    }

    /// Makes a symbolic link in the workspace.
    fn link(&self, name: &str, target: impl AsRef<std::path::Path>) {
        std::os::unix::fs::symlink(target, self.root().join(name)).unwrap();
    }

    /// Calls a tool, and returns its structured reply, or the text of its failure.
    async fn try_call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let called = self.try_call_with_images(tool, arguments).await;
        called.map(|(reply, _)| reply)
    }

    /// Calls a tool, and returns its structured reply and the types and bytes of its images, or the text of its failure.
    async fn try_call_with_images(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<(Value, Vec<(String, Vec<u8>)>), String> {
        let outcome = self.outcome(tool, arguments).await;
        let reply = outcome
            .result
            .as_ref()
            .map_err(|error| error.message.clone())?;
        if reply.is_error {
            let [Content::Text { text }] = reply.content.as_slice() else {
                panic!("{reply:?}");
            };
            return Err(text.clone());
        }
        let images = reply.content.iter().filter_map(|part| match part {
            Content::Image { media_type, data } => Some((media_type.clone(), data.clone())),
            _ => None,
        });
        let structured = serde_json::from_str(reply.structured().unwrap().get()).unwrap();
        Ok((structured, images.collect()))
    }

    async fn read(&self, path: &str) -> Result<Value, String> {
        self.try_call("read_file", json!({ "path": path })).await
    }

    async fn write(&self, path: &str, content: &str) -> Result<Value, String> {
        let arguments = json!({ "path": path, "content": content });
        self.try_call("write_file", arguments).await
    }

    /// Makes one edit in one file.
    async fn edit(&self, path: &str, old: &str, new: &str) -> Result<Value, String> {
        let edit = json!({ "old_text": old, "new_text": new });
        let files = json!([{ "path": path, "edits": [edit] }]);
        self.try_call("edit_files", json!({ "files": files })).await
    }

    /// Returns the names in the workspace.
    fn names(&self) -> Vec<String> {
        names(&self.root())
    }
}

fn names(directory: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
