//! The sandbox for the commands of a workspace, which the host prepares in advance.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::denial::Rules;
use crate::files;
use crate::filter::{self, Options};
use crate::limits::KernelLimits;
use crate::network::Network;
use crate::places::Places;
use crate::plan::Plan;
use crate::policy::{Mode, Policy};
use crate::prepare_error::PrepareError;
use crate::recipe::Recipe;
use crate::report::Report;
use crate::support::Support;
use crate::view::Entered;

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
        entered: Option<&Entered>,
    ) -> Result<Self, PrepareError> {
        Self::of(Plan::new(policy, places), support, entered)
    }

    /// Returns the report of the sandbox that [`Sandbox::of`] would make.
    ///
    /// # Errors
    ///
    /// If the policy is `required` and a part is not supported, if the workspace is forbidden, or if a path cannot be looked at.
    pub fn foresee(plan: &Plan<'_>, support: &Support) -> Result<Report, PrepareError> {
        let (policy, rules) = (plan.policy, &plan.rules);
        if policy.mode == Mode::Off {
            return Ok(Report::off());
        }
        if let Some((path, errno)) = &rules.unread {
            let error = io::Error::from_raw_os_error(*errno);
            return Err(PrepareError::unread(path, error));
        }
        let is_refused = |path: &&PathBuf| rules.refused.contains(path);
        if let Some(path) = plan.places.workspace.iter().find(is_refused) {
            return Err(PrepareError::Forbidden(path.clone()));
        }
        let report = Report::new(policy, plan.places, rules, support);
        if policy.required && !report.missing.is_empty() {
            let missing: Vec<_> = report.missing.iter().map(ToString::to_string).collect();
            return Err(PrepareError::Missing(missing.join("; ")));
        }
        Ok(report)
    }

    /// Makes the sandbox of a plan. Its commands run in the namespaces of `entered`; `None`: in those of this process. Parts that this machine does
    /// not support are left out, and named in the report.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::foresee`], or if the kernel refuses a part that it supports.
    pub fn of(
        plan: Plan<'_>,
        support: &Support,
        entered: Option<&Entered>,
    ) -> Result<Self, PrepareError> {
        let report = Self::foresee(&plan, support)?;
        let Plan {
            policy,
            places,
            rules,
        } = plan;
        if policy.mode == Mode::Off {
            return Ok(Self {
                recipe: Recipe::default(),
                report,
                rules: Rules::default(),
            });
        }
        // A list of hosts needs a network namespace whose only way out is the proxy. Without one, commands get no network.
        let offline = policy.network != Network::All && entered.is_none();
        let new = entered.map(|entered| entered.new.as_slice());
        let ruleset = match &support.landlock {
            Ok(_) => files::ruleset(&rules.rules, offline, new.unwrap_or_default())?,
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
                limits: policy.limits.for_kernel(),
                ruleset,
                filter,
            },
            rules: Rules::new(policy, places, rules, entered.is_some()),
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
