//! The text for a model about an output that is no text.

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use toolhost_sdk::processes::{Process, Snapshot, State};

/// The longest output that is read once more for its hash.
const MAX_HASHED: u64 = 4 * 1024 * 1024;

/// How much of it is read at once.
const CHUNK: u32 = 128 * 1024;

/// An output that is not shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Binary {
    /// How many bytes it has.
    bytes: u64,
    /// The SHA-256 of all of it in hexadecimal, unless it still grows or has more than 4 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Binary {
    /// Names the output of a process.
    pub(crate) fn of(process: &dyn Process, snapshot: &Snapshot) -> Self {
        let seen = (snapshot.head.len() + snapshot.tail.len()) as u64;
        let grows = matches!(snapshot.state, State::Running | State::Lingering(_));
        let sha256 = if grows || snapshot.total > MAX_HASHED {
            None
        } else if seen == snapshot.total {
            let hash = Sha256::new().chain_update(&snapshot.head);
            Some(hash.chain_update(&snapshot.tail))
        } else {
            read(process, snapshot.total)
        };
        Self {
            bytes: snapshot.total,
            sha256: sha256.map(|hash| hexadecimal(&hash.finalize())),
        }
    }

    /// Names a stretch of an output.
    pub(crate) fn stretch(bytes: usize) -> Self {
        Self {
            bytes: bytes as u64,
            sha256: None,
        }
    }
}

/// Hashes an output, if all of it is still there.
fn read(process: &dyn Process, total: u64) -> Option<Sha256> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while at < total {
        let chunk = process.read(at, CHUNK).ok()?;
        if chunk.offset != at || chunk.data.is_empty() {
            return None;
        }
        at += chunk.data.len() as u64;
        hash.update(&chunk.data);
    }
    (at == total).then_some(hash)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use toolhost_sdk::processes::Processes;
    use toolhost_sdk::testing::{FakeProcess, FakeProcesses};

    use super::*;

    fn of(process: FakeProcess) -> Binary {
        let processes = FakeProcesses::new().has(process, "a");
        let process = processes.open("p").unwrap();
        Binary::of(process.as_ref(), &process.snapshot().unwrap())
    }

    #[test]
    fn hashes_what_has_ended() {
        let binary = of(FakeProcess::new("p").prints(b"abc").exits(0));
        assert_eq!(
            (binary.bytes, binary.sha256.as_deref()),
            (
                3,
                Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
            )
        );
        assert_eq!(of(FakeProcess::new("p").prints(b"abc")).sha256, None);
    }

    #[test]
    fn reads_what_the_windows_do_not_show() {
        let million = vec![b'a'; 1_000_000];
        let binary = of(FakeProcess::new("p").prints(&million).exits(0));
        assert_eq!(
            binary.sha256.as_deref(),
            Some("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        );
        let more = vec![0; usize::try_from(MAX_HASHED).unwrap() + 1];
        assert_eq!(
            of(FakeProcess::new("p").prints(&more).exits(0)).sha256,
            None
        );
    }
}
