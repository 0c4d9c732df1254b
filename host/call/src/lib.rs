//! Calls of tools and their records: requests and outcomes, the ledger that runs each call once, events, definitions and
//! replies of tools; and what an operator sees of calls and may refuse: the audit trail, metrics, traces and approvals.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

pub mod approval;
pub mod audit;
pub mod call;
pub mod client;
pub mod events;
pub mod metrics;
pub mod notice;
pub mod scratch;
pub mod sharing;
pub mod threads;
pub mod tool;
pub mod trace;

pub use call::{Arguments, Outcome, Request};
