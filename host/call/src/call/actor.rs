//! The actor of a request: the principal that calls, cancels or changes something.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolhost_state::workspace_name::{WorkspaceName, WorkspacePattern};

/// A client: its name in the audit trail, and the tools and workspaces that bound its reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    name: Arc<str>,
    tools: ToolSet,
    workspaces: Reach,
    /// The templates from which it may make machines.
    templates: ToolSet,
}

/// Some tools by their names; `None`: all.
pub type ToolSet = Option<Arc<BTreeSet<String>>>;

/// The workspaces that an actor reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All of them.
    #[default]
    All,
    /// Those to which another actor has bound its chats, and the default one. It names none.
    OfItsChats,
    /// Those that one of these patterns matches.
    Some(Arc<[WorkspacePattern]>),
}

impl Actor {
    /// Makes an actor that may use all tools and workspaces.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            tools: None,
            workspaces: Reach::All,
            templates: None,
        }
    }

    /// Returns the actor bound to these tools: it may call them, and see and end what their calls left.
    #[must_use]
    pub fn with_tools(self, tools: BTreeSet<String>) -> Self {
        let tools = Some(Arc::new(tools));
        Self { tools, ..self }
    }

    /// Returns the actor bound to these workspaces.
    #[must_use]
    pub fn with_workspaces(self, workspaces: Reach) -> Self {
        Self { workspaces, ..self }
    }

    /// Returns the actor bound to these templates.
    #[must_use]
    pub fn with_templates(self, templates: BTreeSet<String>) -> Self {
        Self {
            templates: Some(Arc::new(templates)),
            ..self
        }
    }

    /// Returns whether the actor may see this template, and make machines from it.
    pub fn may_use_template(&self, template: &str) -> bool {
        includes(&self.templates, template)
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

    /// Returns the workspaces that the actor reaches.
    pub fn workspaces(&self) -> &Reach {
        &self.workspaces
    }

    /// Returns whether the actor may use chats of this workspace.
    pub fn may_reach(&self, workspace: &WorkspaceName) -> bool {
        match &self.workspaces {
            Reach::All | Reach::OfItsChats => true,
            Reach::Some(patterns) => matches_one(patterns, workspace),
        }
    }

    /// Returns whether the actor may name this workspace: make it, look at it, remove it, and bind chats to it.
    pub fn may_name(&self, workspace: &WorkspaceName) -> bool {
        match &self.workspaces {
            Reach::All => true,
            Reach::OfItsChats => false,
            Reach::Some(patterns) => matches_one(patterns, workspace),
        }
    }

    /// Returns the one workspace that the actor reaches, if it is only one: its chats belong there.
    pub fn only_workspace(&self) -> Option<WorkspaceName> {
        match &self.workspaces {
            Reach::Some(patterns) => match &**patterns {
                [pattern] => pattern.name(),
                _ => None,
            },
            Reach::All | Reach::OfItsChats => None,
        }
    }
}

fn matches_one(patterns: &[WorkspacePattern], workspace: &WorkspaceName) -> bool {
    patterns.iter().any(|pattern| pattern.matches(workspace))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_reaches_and_names_the_workspaces_of_its_patterns() {
        let name = |text: &str| text.parse::<WorkspaceName>().unwrap();
        let bound = |patterns: &[&str]| {
            let patterns = patterns.iter().map(|pattern| pattern.parse().unwrap());
            Actor::new("a").with_workspaces(Reach::Some(patterns.collect()))
        };
        let team = bound(&["team-a/*", "shared"]);
        for (workspace, reaches) in [
            ("team-a/web", true),
            ("shared", true),
            ("team-b/web", false),
            ("default", false),
        ] {
            assert_eq!(team.may_reach(&name(workspace)), reaches, "{workspace}");
            assert_eq!(team.may_name(&name(workspace)), reaches, "{workspace}");
        }
        assert_eq!(team.only_workspace(), None);
        assert_eq!(bound(&["a/*"]).only_workspace(), None);
        assert_eq!(bound(&["a/b"]).only_workspace(), Some(name("a/b")));
        let of_chats = Actor::new("a").with_workspaces(Reach::OfItsChats);
        assert!(of_chats.may_reach(&name("a")) && !of_chats.may_name(&name("a")));
    }
}
