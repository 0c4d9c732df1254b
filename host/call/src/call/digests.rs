//! The digests by which the record of a call says which request it is of, and whether the call may run again.

use super::Request;

/// The digests under which a request may be recorded. The record of a call that may run again has a digest of its own kind, so that
/// the record needs no other mark, and a host that does not know the kind refuses the repeat as a mismatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digests {
    /// The digest of a call that runs once.
    pub(super) once: [u8; 32],
    /// The digest of a call that runs again if its host was killed while it ran.
    pub(super) resumable: [u8; 32],
}

impl Digests {
    pub(super) fn of(request: &Request) -> Self {
        let once = request.digest();
        let resumable = blake3::keyed_hash(&once, b"resumable");
        Self {
            once,
            resumable: *resumable.as_bytes(),
        }
    }

    /// Returns whether a recorded digest is of this request.
    pub(super) fn include(&self, recorded: &[u8; 32]) -> bool {
        *recorded == self.once || *recorded == self.resumable
    }

    /// Returns the digest for the record of a call.
    pub(super) fn for_record(&self, is_resumable: bool) -> [u8; 32] {
        match is_resumable {
            true => self.resumable,
            false => self.once,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_of_one_request_and_says_whether_it_may_run_again() {
        let request = |arguments: &str| {
            let arguments = super::super::Arguments::parse(arguments).unwrap();
            Request::new("a".parse().unwrap(), "1".parse().unwrap(), "t", arguments)
        };
        let (one, other) = (
            Digests::of(&request("{}")),
            Digests::of(&request(r#"{"a":1}"#)),
        );
        assert_eq!(one.for_record(false), request("{}").digest());
        assert!(one.include(&one.for_record(true)) && one.include(&one.for_record(false)));
        assert!(!one.include(&other.for_record(true)) && !one.include(&other.for_record(false)));
        assert_ne!(one.for_record(true), one.for_record(false));
    }
}
