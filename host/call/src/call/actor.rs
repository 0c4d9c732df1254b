//! The actor of a request: the principal that calls, cancels or changes something.

use std::collections::BTreeSet;
use std::sync::Arc;

/// A client: its name in the audit trail, and the tools that bound its reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    name: Arc<str>,
    tools: ToolSet,
}

/// Some tools by their names; `None`: all.
pub type ToolSet = Option<Arc<BTreeSet<String>>>;

impl Actor {
    /// Makes an actor that may use all tools.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            tools: None,
        }
    }

    /// Returns the actor bound to these tools: it may call them, and see and end what their calls left.
    #[must_use]
    pub fn with_tools(self, tools: BTreeSet<String>) -> Self {
        let tools = Some(Arc::new(tools));
        Self { tools, ..self }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the actor may use this tool.
    pub fn may_use(&self, tool: &str) -> bool {
        includes(&self.tools, tool)
    }

    /// Returns whether the actor may use all tools.
    pub fn may_use_all(&self) -> bool {
        self.tools.is_none()
    }

    /// Returns the tools that the actor may use.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }
}

impl Default for Actor {
    /// The program that the host is part of.
    fn default() -> Self {
        Self::new("host")
    }
}

/// Returns whether a tool is one of these.
pub fn includes(tools: &ToolSet, tool: &str) -> bool {
    tools.as_ref().is_none_or(|tools| tools.contains(tool))
}

/// Returns the tools that are in one of both sets.
pub fn union(one: &ToolSet, other: &ToolSet) -> ToolSet {
    let (one, other) = (one.as_ref()?, other.as_ref()?);
    Some(Arc::new(one.union(other).cloned().collect()))
}
