//! Directories that last as long as this program: nothing drops what is in a `static`, and a `TempDir` there would stay for ever.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Removes the directory when the standard input ends, which it does with the program. A server of it may still write for a moment.
const SCRIPT: &str =
    r#"trap "" HUP INT TERM; cat >/dev/null; until rm -rf -- "$0" 2>/dev/null; do sleep 0.1; done"#;

/// Makes a directory.
#[allow(dead_code, reason = "a server has a directory of its own")]
pub(crate) fn directory() -> PathBuf {
    let directory = tempfile::tempdir().unwrap().keep();
    remove(&directory);
    directory
}

/// Has a directory removed when this program has ended.
pub(crate) fn remove(directory: &Path) {
    let mut remover = Command::new("sh");
    remover.args(["-c", SCRIPT]).arg(directory);
    remover
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Neither waited for nor ended: it outlives this program, whose end closes the pipe.
    std::mem::forget(remover.spawn().unwrap());
}
