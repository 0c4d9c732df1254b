//! The exemption of threads from quotas.

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Makes quotas bind this thread. ext4 exempts threads that have `CAP_SYS_RESOURCE`, such as those of root. Nothing else that the host does
/// on its threads needs this capability.
pub(crate) fn give_up() {
    let Ok(mut own) = capabilities(None) else {
        return;
    };
    if own.effective.contains(CapabilitySet::SYS_RESOURCE) {
        own.effective.remove(CapabilitySet::SYS_RESOURCE);
        if let Err(error) = set_capabilities(None, own) {
            tracing::warn!(%error, "quotas do not bind what the host writes itself");
        }
    }
}
