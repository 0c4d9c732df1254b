//! Twenty tasks, each done in two ways: by calls one after the other, as a model makes them, and by one script. Both must come to the
//! same answer and leave the same files. The tests compare what passes through the context of a model, a benchmark also the times.

#[path = "tasks/editing.rs"]
mod editing;
#[path = "tasks/reading.rs"]
mod reading;
#[path = "tasks/running.rs"]
mod running;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolhost_artifacts::SCRIPT;
use toolhost_core::{Arguments, Builder, CallId, Grants, Host, Options, Request};
use toolhost_guests::WORD_COUNT;

/// A task.
pub(crate) struct Task {
    /// What is to be done, in a few words.
    pub(crate) name: &'static str,
    /// The files of the workspace before it.
    files: fn() -> Vec<(String, String)>,
    /// Does it by calls, and returns the answer.
    direct: for<'a> fn(&'a mut Direct) -> BoxFuture<'a, Value>,
    /// Does it, and returns the answer.
    script: &'static str,
}

/// What a task took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// The calls of the model.
    pub(crate) calls: u32,
    /// The bytes of their arguments and replies, which pass through the context of the model.
    pub(crate) bytes: usize,
    /// The time of the calls, without that of the model between them.
    pub(crate) time: Duration,
}

/// How a task was done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) cost: Cost,
    pub(crate) answer: Value,
    /// The files afterwards, with their content.
    pub(crate) files: BTreeMap<String, String>,
}

/// Returns all tasks.
pub(crate) fn all() -> Vec<Task> {
    let tasks = [reading::tasks(), editing::tasks(), running::tasks()];
    tasks.into_iter().flatten().collect()
}

/// Adds the plugins that the tasks use beside the embedded ones.
pub(crate) fn plugins(builder: Builder) -> Builder {
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        ..Options::new("script")
    };
    let builder = builder.plugin(WORD_COUNT, Options::new("word_count"));
    builder.plugin(SCRIPT, options)
}

impl Task {
    /// Does it by calls, in a workspace that this empties first.
    pub(crate) async fn directly(&self, host: &Host, root: &Path) -> Done {
        self.prepare(root);
        let mut direct = Direct::new(host);
        let answer = (self.direct)(&mut direct).await;
        Done {
            cost: direct.cost,
            answer,
            files: files(root),
        }
    }

    /// Does it by a script, in a workspace that this empties first.
    pub(crate) async fn by_script(&self, host: &Host, root: &Path) -> Done {
        self.prepare(root);
        let mut direct = Direct::new(host);
        let reply = direct.call("run_script", json!({ "code": self.script }));
        let mut reply = reply.await;
        assert_eq!(reply["success"], true, "{}: {reply}", self.name);
        Done {
            cost: direct.cost,
            answer: reply["result"].take(),
            files: files(root),
        }
    }

    fn prepare(&self, root: &Path) {
        for entry in std::fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => std::fs::remove_dir_all(path).unwrap(),
                false => std::fs::remove_file(path).unwrap(),
            }
        }
        for (name, content) in (self.files)() {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }
}

/// The calls of a model in a chat of its own.
struct Direct {
    host: Host,
    chat: String,
    cost: Cost,
}

impl Direct {
    fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            chat: CallId::random().to_string(),
            cost: Cost::default(),
        }
    }

    /// Calls a tool, which must reply with JSON.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let arguments = arguments.to_string();
        self.cost.calls += 1;
        self.cost.bytes += arguments.len();
        let arguments = Arguments::parse(&arguments).unwrap();
        let chat = self.chat.parse().unwrap();
        let request = Request::new(chat, CallId::random(), tool, arguments);
        let begun = Instant::now();
        let outcome = self.host.call(request).await.unwrap();
        self.cost.time += begun.elapsed();
        let reply = outcome.result.as_ref();
        let reply = reply.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
        let text = reply.structured().unwrap().get();
        self.cost.bytes += text.len();
        serde_json::from_str(text).unwrap()
    }

    /// Runs a command.
    async fn run(&mut self, command: &str) -> Value {
        self.call("execute", json!({ "command": command })).await
    }

    /// Reads a whole file.
    async fn read(&mut self, path: &str) -> String {
        let page = self.call("read_file", json!({ "path": path })).await;
        without_numbers(&page)
    }

    /// Lists a directory.
    async fn entries(&mut self, path: &str) -> Vec<String> {
        let page = self.call("read_file", json!({ "path": path })).await;
        let entries = page["entries"].as_array().unwrap().iter();
        let names = entries.map(|name| name.as_str().unwrap().to_owned());
        names.collect()
    }
}

/// Returns the text of a page of a file.
fn without_numbers(page: &Value) -> String {
    let lines = page["content"].as_str().unwrap().split_inclusive('\n');
    lines
        .map(|line| line.split_once('\t').map_or(line, |(_, line)| line))
        .collect()
}

/// Makes the script begin with a function that returns the text of a file.
macro_rules! with_read {
    ($code:literal) => {
        concat!(
            "const read = async (path) => (await tools.read_file({ path })).content.trimEnd();\n",
            $code
        )
    };
}
use with_read;

/// The files below a directory, with their content.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}
