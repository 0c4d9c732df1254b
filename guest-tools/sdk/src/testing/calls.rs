//! Tools that follow a script, for tests of plugins that call tools.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Duration;

use crate::calls::{Calls, Content, Error, Reply, Tool, Waited};

type Answer = Box<dyn Fn(&str, &str) -> Result<Reply, Error>>;

/// Tools that a function answers for, in place of [`calls::Host`](crate::calls::Host).
///
/// A call ends when it is waited for: the last one first, so that a plugin which counts on the order of its starts shows that.
pub struct FakeCalls {
    tools: Vec<Tool>,
    answer: Answer,
    started: RefCell<Vec<(String, String)>>,
    cancels: Cell<bool>,
}

/// A call of a [`FakeCalls`].
#[derive(Debug)]
pub struct FakeCall {
    number: usize,
    ended: Cell<bool>,
    cancelled: Cell<bool>,
    end: Result<Reply, Error>,
}

impl FakeCalls {
    /// Makes tools with these names. `answer` gets the name of the tool and the text of the arguments.
    pub fn new(
        tools: &[&str],
        answer: impl Fn(&str, &str) -> Result<Reply, Error> + 'static,
    ) -> Self {
        let tools = tools.iter().map(|name| Tool {
            name: (*name).to_owned(),
            description: format!("The tool {name}."),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            read_only: false,
        });
        Self {
            tools: tools.collect(),
            answer: Box::new(answer),
            started: RefCell::default(),
            cancels: Cell::new(false),
        }
    }

    /// Replaces the tools.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Tool>) -> Self {
        Self { tools, ..self }
    }

    /// From now on, waits say that the running call was cancelled.
    pub fn cancel_all(&self) {
        self.cancels.set(true);
    }

    /// Returns the tool and the arguments of each call, in the order of their starts.
    pub fn started(&self) -> Vec<(String, String)> {
        self.started.borrow().clone()
    }

    /// Returns a reply with one JSON value.
    pub fn json(json: impl Into<String>) -> Result<Reply, Error> {
        Ok(Reply {
            content: vec![Content::Json(json.into())],
            is_error: false,
            processes: Vec::new(),
        })
    }
}

impl Calls for FakeCalls {
    type Call = FakeCall;

    fn tools(&self) -> Result<Vec<Tool>, Error> {
        Ok(self.tools.clone())
    }

    fn search(&self, query: &str, max: u32) -> Result<Vec<Tool>, Error> {
        let tools = self.tools.iter().filter(|tool| tool.name.contains(query));
        Ok(tools.take(max as usize).cloned().collect())
    }

    fn start(&self, tool: &str, arguments: &str) -> Result<FakeCall, Error> {
        if !self.tools.iter().any(|known| known.name == tool) {
            return Err(Error::UnknownTool(format!("there is no tool {tool}")));
        }
        let mut started = self.started.borrow_mut();
        started.push((tool.to_owned(), arguments.to_owned()));
        Ok(FakeCall {
            number: started.len(),
            ended: Cell::new(false),
            cancelled: Cell::new(false),
            end: (self.answer)(tool, arguments),
        })
    }

    /// Returns `/workspace/.toolhost/scratch/test`, which is never made.
    fn scratch(&self) -> Result<String, Error> {
        Ok("/workspace/.toolhost/scratch/test".to_owned())
    }

    fn wait_any(&self, calls: &[&FakeCall], _: Duration) -> Result<Waited, Error> {
        if self.cancels.get() {
            return Ok(Waited::Cancelled);
        }
        let ended = calls.iter().position(|call| call.ended.get());
        let Some(at) = ended.or(calls.len().checked_sub(1)) else {
            return Ok(Waited::TimedOut);
        };
        if let Some(call) = calls.get(at) {
            call.ended.set(true);
        }
        Ok(Waited::Ended(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    fn reply(&self, call: &FakeCall) -> Option<Result<Reply, Error>> {
        if call.cancelled.get() {
            return Some(Err(Error::Cancelled("the call was cancelled".to_owned())));
        }
        call.ended.get().then(|| call.end.clone())
    }

    fn id(&self, call: &FakeCall) -> String {
        format!("test/{}", call.number)
    }

    fn cancel(&self, call: &FakeCall) {
        call.cancelled.set(true);
        call.ended.set(true);
    }
}

impl fmt::Debug for FakeCalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("FakeCalls");
        shown
            .field("started", &self.started.borrow())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_end_as_the_script_says() {
        let calls = FakeCalls::new(&["echo"], |_, arguments| FakeCalls::json(arguments));
        let (one, other) = (
            calls.start("echo", "{}").unwrap(),
            calls.start("echo", r#"{"a":1}"#).unwrap(),
        );
        assert!(calls.start("other", "{}").is_err());
        assert_eq!(calls.reply(&one), None);
        let waited = calls.wait_any(&[&one, &other], Duration::ZERO).unwrap();
        assert_eq!(waited, Waited::Ended(1));
        assert_eq!(calls.reply(&other), Some(FakeCalls::json(r#"{"a":1}"#)));
        calls.cancel(&one);
        assert_eq!(calls.reply(&one).unwrap().unwrap_err().kind(), "cancelled");
        assert_eq!(calls.started().len(), 2);
        calls.cancel_all();
        assert_eq!(
            calls.wait_any(&[&one], Duration::ZERO).unwrap(),
            Waited::Cancelled
        );
    }
}
