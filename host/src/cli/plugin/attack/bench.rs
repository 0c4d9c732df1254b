//! Attacking this process with one component after the other: each is loaded, called, and dropped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::attempt::{Attempt, Called, Ended};
use super::measure::Held;
use super::set::End;
use crate::cli::plugin::lone_call;
use toolhost_call::audit::Audit;
use toolhost_call::call::Arguments;
use toolhost_call::metrics::Metrics;
use toolhost_core::Options as PluginOptions;
use toolhost_local::files;
use toolhost_local::process::Config;
use toolhost_local::{Local, process};
use toolhost_plugin::{Engine, Plugin};
use toolhost_state::id::ChatId;
use toolhost_store::HostState;
use toolhost_workspace::Workspace;

/// The bytes of the file that guests search.
const SEARCHED: usize = 16 << 20;

/// A host under attack, which is this process.
pub(super) struct Bench {
    engine: Engine,
    workspace: Arc<Local>,
    root: PathBuf,
    chat: ChatId,
}

/// What an attack did, and what the host held before and afterwards.
pub(super) struct Attacked {
    pub(super) attempts: Vec<Attempt>,
    pub(super) before: Held,
    pub(super) after: Held,
}

impl Bench {
    /// Opens a workspace in this directory.
    pub(super) async fn open(
        engine: Engine,
        directory: &Path,
        spawner: Option<process::Spawner>,
    ) -> anyhow::Result<Self> {
        let root = directory.join("workspace");
        let config = Config {
            spawner,
            ..Config::new(&root)
        };
        let state = HostState::temporary(std::env::temp_dir())?;
        let workspace = Local::open(config, files::Config::new(&root), &state).await?;
        Ok(Self {
            engine,
            workspace: Arc::new(workspace),
            root,
            chat: "attack".parse()?,
        })
    }

    /// Puts the files into the workspace that guests of the set try to misuse: a large one, and a link that leads out.
    pub(super) fn bait(&self) -> anyhow::Result<()> {
        let (line, searched) = ("x".repeat(63) + "\n", self.root.join("hello"));
        let size = searched.metadata().map_or(0, |metadata| metadata.len());
        if size != SEARCHED as u64 {
            std::fs::write(searched, line.repeat(SEARCHED / line.len()))?;
        }
        std::fs::create_dir_all(self.root.join("x"))?;
        let link = self.root.join("link");
        if !link.is_symlink() {
            std::os::unix::fs::symlink("/etc/passwd", link)?;
        }
        Ok(())
    }

    /// Attacks with a component: loads it, makes the calls that `calls` chooses, and drops it.
    pub(super) async fn attack(
        &self,
        component: &[u8],
        options: PluginOptions,
        calls: impl FnOnce(&Plugin) -> Vec<Called>,
    ) -> anyhow::Result<Attacked> {
        let before = Held::now(&self.workspace)?;
        let metrics = Metrics::default();
        let engine = self.engine.clone();
        let engine = engine.observed(Audit::default(), metrics.clone());
        let attempts = match Plugin::load(&engine, component, options).await {
            Ok(plugin) => {
                let mut attempts = Vec::new();
                for called in calls(&plugin) {
                    attempts.push(self.attempt(&plugin, called, &metrics).await?);
                }
                attempts
            }
            Err(error) => vec![Attempt {
                called: Called::loading(),
                ended: Ended {
                    ends: End::Refused,
                    limits: reached(&metrics.text()).into_keys().collect(),
                    message: error.to_string(),
                    cause: error.cause().cloned(),
                },
            }],
        };
        let workspace: &dyn Workspace = &*self.workspace;
        workspace.end_chat(&self.chat).await?;
        let after = Held::after(&before, &self.workspace).await?;
        Ok(Attacked {
            attempts,
            before,
            after,
        })
    }

    async fn attempt(
        &self,
        plugin: &Plugin,
        called: Called,
        metrics: &Metrics,
    ) -> anyhow::Result<Attempt> {
        let arguments = match Arguments::parse(&called.arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let ended = Ended::refused_by_the_host(error.to_string());
                return Ok(Attempt { called, ended });
            }
        };
        let known = reached(&metrics.text());
        let workspace = Arc::clone(&self.workspace) as Arc<dyn Workspace>;
        let (chat, tool) = (self.chat.clone(), &called.tool);
        let (outcome, cause) =
            match lone_call::call(plugin, chat, tool, arguments, workspace, None).await {
                Ok(ended) => ended,
                // No memory is left for another guest.
                Err(busy) => {
                    let ended = Ended {
                        ends: End::Limit,
                        ..Ended::refused_by_the_host(busy.to_string())
                    };
                    return Ok(Attempt { called, ended });
                }
            };
        let now = reached(&metrics.text());
        let new = now
            .into_iter()
            .filter(|(name, count)| known.get(name) != Some(count));
        let limits = new.map(|(name, _)| name).collect();
        let ended = Ended::of(outcome.result, cause, limits);
        Ok(Attempt { called, ended })
    }
}

/// Reads from the text of metrics how often each limit was reached.
fn reached(text: &str) -> BTreeMap<String, u64> {
    let read = |line: &str| {
        let line = line.strip_prefix("toolhost_plugin_limits_hit_total{")?;
        let (labels, count) = line.split_once("} ")?;
        let (_, limit) = labels.split_once("limit=\"")?;
        Some((
            limit.trim_end_matches('"').to_owned(),
            count.trim().parse().ok()?,
        ))
    };
    text.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use toolhost_call::metrics::LimitKind;

    use super::*;

    #[test]
    fn the_limits_that_were_reached_are_read_from_the_metrics() {
        let metrics = Metrics::default();
        assert!(reached(&metrics.text()).is_empty());
        metrics.limit("p", LimitKind::GuestTime);
        metrics.limit("p", LimitKind::GuestTime);
        metrics.limit("p", LimitKind::Log);
        let expected = [("guest_time".to_owned(), 2), ("log".to_owned(), 1)];
        assert_eq!(reached(&metrics.text()), BTreeMap::from(expected));
    }
}
