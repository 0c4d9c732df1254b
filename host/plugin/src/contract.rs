//! The name and the version of the contract.

/// The package of the contract.
pub(super) const PACKAGE: &str = "toolhost:plugin/";

/// The version of the contract that this host speaks.
pub(super) const CONTRACT: &str = "0.1";
