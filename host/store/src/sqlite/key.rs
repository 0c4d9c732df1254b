//! Keys: digests by which calls are found beside their names.

/// The digest of chat and call.
pub(super) type Key = [u8; 16];

/// Returns the digest of chat and call.
pub(super) fn key(chat: &str, call: &str) -> Key {
    let mut hasher = blake3::Hasher::new();
    // No chat id contains this byte.
    hasher
        .update(chat.as_bytes())
        .update(b"/")
        .update(call.as_bytes());
    let mut key = Key::default();
    hasher.finalize_xof().fill(&mut key);
    key
}
