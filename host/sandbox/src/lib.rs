//! The sandbox of commands, from mechanisms of the kernel that need no privilege: Landlock, seccomp, namespaces and resource limits.
//!
//! The host makes a [`Sandbox`] from a [`Policy`], the [`Places`] of the workspace and the [`Support`] of the machine. It sends the
//! bytes and descriptors of the sandbox to the process that forks commands. There, each forked child applies the [`Recipe`] as its
//! last step before the exec. The expensive work is done once; each command costs a few system calls.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("the sandbox knows the system calls of Linux on x86_64 and aarch64 only");

mod below;
mod capabilities;
mod denial;
mod files;
mod filter;
mod grants;
mod home;
mod landlock_rules;
mod limits;
mod network;
mod places;
mod plan;
mod policy;
mod prepare_error;
mod reach;
mod recipe;
mod report;
mod sandbox;
mod support;
mod sys;
mod view;

pub use files::may_use_openat2;
pub use home::{Home, LayerPlace, name_for};
pub use limits::Limits;
pub use network::{Network, NetworkError};
pub use places::{Lent, Places, credentials, is_of_system};
pub use plan::Plan;
pub use policy::{Mode, ModeError, Narrower, Policy};
pub use prepare_error::PrepareError;
pub use recipe::{ApplyError, Inherited, Part, Recipe};
pub use report::{Gap, Report};
pub use sandbox::Sandbox;
pub use support::{Layer, Support};
pub use view::{EnterError, Entered, LayerMounts, MountTable, View};
