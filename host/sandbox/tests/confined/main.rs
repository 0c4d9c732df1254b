//! What the machine offers for the sandbox.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

/// The layers, tried once for all tests.
mod fixture {
    use std::sync::OnceLock;

    use toolhost_sandbox::Support;

    pub(crate) fn support() -> &'static Support {
        static SUPPORT: OnceLock<Support> = OnceLock::new();
        SUPPORT.get_or_init(Support::detect)
    }
}
