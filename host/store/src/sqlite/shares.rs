//! Max-min fair shares: small needs are met in full, and the others share the rest equally.

/// Returns the share of the room for each of these needs.
pub(super) fn shares(needs: &[u64], room: u64) -> Vec<u64> {
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
