//! The checksum of a row.

/// Returns the checksum of a sequence of byte strings.
pub(super) fn checksum(parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher
            .update(&(part.len() as u64).to_le_bytes())
            .update(part);
    }
    let mut sum = [0; 8];
    hasher.finalize_xof().fill(&mut sum);
    i64::from_le_bytes(sum)
}
