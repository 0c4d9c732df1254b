//! The sandbox for the commands of a workspace, which the host prepares in advance.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use crate::denial::Rules;
use crate::files;
use crate::filter::{self, Options};
use crate::landlock_rules;
use crate::limits::KernelLimits;
use crate::network::Network;
use crate::places::Places;
use crate::plan::Plan;
use crate::policy::{Mode, Policy};
use crate::prepare_error::PrepareError;
use crate::recipe::Recipe;
use crate::report::Report;
use crate::support::Support;
use crate::view::{Entered, View};

/// A prepared sandbox. Any number of commands can use it at the same time.
///
/// It grants the files that exist when it is prepared. Prepare a new one when directories that the policy names are made or removed.
#[derive(Debug)]
pub struct Sandbox {
    recipe: Recipe,
    report: Report,
    rules: Rules,
}

impl Sandbox {
    /// Makes the sandbox for a policy, as [`Sandbox::of`] does for its plan.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::of`].
    pub fn prepare(
        policy: &Policy,
        places: &Places,
        support: &Support,
        within: Option<(&View, &Entered)>,
    ) -> Result<Self, PrepareError> {
        Self::of(Plan::new(policy, places), support, within)
    }

    /// Returns the report of the sandbox that [`Sandbox::of`] would make.
    ///
    /// # Errors
    ///
    /// If the policy is `required` and a part is not supported, or if the workspace is forbidden.
    pub fn foresee(plan: &Plan<'_>, support: &Support) -> Result<Report, PrepareError> {
        let (policy, grants) = (plan.policy, &plan.grants);
        if policy.mode == Mode::Off {
            return Ok(Report::off());
        }
        let is_refused = |path: &&PathBuf| grants.refused.contains(path);
        if let Some(path) = plan.places.workspace.iter().find(is_refused) {
            return Err(PrepareError::Forbidden(path.clone()));
        }
        let report = Report::new(policy, plan.places, grants, support);
        if policy.required && !report.missing.is_empty() {
            let missing: Vec<_> = report.missing.iter().map(ToString::to_string).collect();
            return Err(PrepareError::Missing(missing.join("; ")));
        }
        Ok(report)
    }

    /// Makes the sandbox of a plan. Its commands run in the view that a process has entered; `None`: in the namespaces of this process. Parts
    /// that this machine does not support are left out, and named in the report.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::foresee`], or if a path cannot be looked at, or the kernel refuses a part that it supports.
    pub fn of(
        plan: Plan<'_>,
        support: &Support,
        within: Option<(&View, &Entered)>,
    ) -> Result<Self, PrepareError> {
        let report = Self::foresee(&plan, support)?;
        let policy = plan.policy;
        if policy.mode == Mode::Off {
            return Ok(Self {
                recipe: Recipe::default(),
                report,
                rules: Rules::default(),
            });
        }
        // A list of hosts needs a network namespace whose only way out is the proxy. Without one, commands get no network.
        let offline = policy.network != Network::All && within.is_none();
        let rules = match within {
            Some((view, _)) => view.rules(&plan.grants),
            None => landlock_rules::of(&plan)?,
        };
        let root = within.map(|(_, entered)| entered.root.as_fd());
        let ruleset = match &support.landlock {
            Ok(_) => files::ruleset(&rules, offline, root)?,
            Err(_) => None,
        };
        let filter = match &support.seccomp {
            Ok(()) => filter::program(Options {
                nested: policy.nested,
                offline,
                tracing: ruleset.is_some(),
            })?,
            Err(_) => Vec::new(),
        };
        Ok(Self {
            recipe: Recipe {
                confined: true,
                limits: policy.limits.for_kernel(within.is_some()),
                ruleset,
                filter,
            },
            rules: Rules::new(plan, rules, within.map(|(view, _)| view)),
            report,
        })
    }

    /// Returns a sentence for each of the first denials that the output of a command suggests. The sentence names the rule and, in
    /// parentheses, its key in the configuration.
    #[must_use]
    pub fn denials(&self, output: &[u8]) -> Vec<String> {
        self.rules.denials(output)
    }

    /// Returns the report: what the sandbox enforces, and what it does not.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Encodes the recipe for [`Recipe::decode`] in another process. [`Sandbox::descriptors`] must be sent with the bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.recipe.encode()
    }

    /// Returns the descriptors of the recipe: at most one, and none if Landlock is missing or the mode is `off`.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.recipe.descriptors()
    }

    /// Returns a copy of the recipe, for a child that this process forks itself.
    ///
    /// # Errors
    ///
    /// If the process cannot have another descriptor.
    pub fn recipe(&self) -> io::Result<Recipe> {
        let recipe = &self.recipe;
        let ruleset = recipe.ruleset.as_ref();
        Ok(Recipe {
            confined: recipe.confined,
            limits: KernelLimits(recipe.limits.0),
            ruleset: ruleset.map(|ruleset| ruleset.try_clone()).transpose()?,
            filter: recipe.filter.clone(),
        })
    }
}
