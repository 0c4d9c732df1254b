//! Max-min fair shares: small needs are met in full, and the others share the rest equally.

use std::collections::BTreeMap;

/// Returns by how much each chat is over its share of this room: each token has a share of it, and each chat a share of that of its token.
/// `usage` has the usage of each chat by the name of its token.
pub fn excess<C: Clone + Ord>(
    usage: &BTreeMap<String, BTreeMap<C, u64>>,
    room: u64,
) -> Vec<(C, u64)> {
    let owners: Vec<u64> = usage.values().map(|chats| chats.values().sum()).collect();
    if owners.iter().sum::<u64>() <= room {
        return Vec::new();
    }
    // Drop a quarter more than necessary. Otherwise, each further call would need another sweep.
    let mut over = Vec::new();
    for (chats, share) in usage.values().zip(shares(&owners, room / 4 * 3)) {
        let sizes: Vec<u64> = chats.values().copied().collect();
        let shares = shares(&sizes, share);
        let chats = chats
            .iter()
            .zip(shares)
            .map(|((chat, size), share)| (chat.clone(), size.saturating_sub(share)));
        over.extend(chats.filter(|(_, over)| *over > 0));
    }
    over
}

/// Returns the share of the room for each of these needs.
fn shares(needs: &[u64], room: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    let need = |at: usize| needs.get(at).copied().unwrap_or_default();
    order.sort_by_key(|at| need(*at));
    let (mut left, mut shares) = (room, vec![0; needs.len()]);
    for (done, at) in order.into_iter().enumerate() {
        let equal = left / (needs.len() - done) as u64;
        let share = need(at).min(equal);
        left -= share;
        if let Some(slot) = shares.get_mut(at) {
            *slot = share;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_needs_are_met_first() {
        assert_eq!(shares(&[5, 100, 10], 60), [5, 45, 10]);
        assert_eq!(shares(&[100, 100], 50), [25, 25]);
        assert_eq!(shares(&[1, 2], 50), [1, 2]);
        assert_eq!(shares(&[], 50), [0; 0]);
    }
}
