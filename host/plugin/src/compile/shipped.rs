//! Compiled code at the end of the program: a release ends with that of its own plugins, so that its first start compiles nothing.
//!
//! Such code is trusted as the program that it is a part of: an attacker who could replace the code could replace the program. The code
//! uses the instructions that every processor of the architecture has, and is for engines with a pool of instances. Other engines compile.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::cache::MAX_CODE;
use crate::engine::portable_engine;

/// The argument, after that of a compiler, that makes the Toolhost program write the code of plugins that are part of it.
pub const SHIP: &str = "embedded";

/// The last bytes of a program with code.
const MARK: [u8; 16] = *b"toolhost code 1\n";

/// The bytes of the number of entries, and of the mark.
const FOOTER: usize = 8 + MARK.len();

/// The bytes of an entry: the BLAKE3 of the component and of the code, and the length of the code.
const ENTRY: usize = HASH + HASH + 8;
const HASH: usize = blake3::OUT_LEN;

/// More entries than any program has.
const MOST: u64 = 64;

/// Compiles components, and writes what their program is to end with: the code of each, an entry for each, and the footer.
///
/// # Errors
///
/// If a component cannot be compiled, or the code cannot be written.
pub fn write(components: &[&[u8]], mut to: impl Write) -> io::Result<()> {
    let useless = |error: wasmtime::Error| io::Error::other(format!("{error:#}"));
    let engine = portable_engine().map_err(useless)?;
    let mut entries = Vec::new();
    for component in components {
        let code = engine.precompile_component(component).map_err(useless)?;
        to.write_all(&code)?;
        entries.extend_from_slice(blake3::hash(component).as_bytes());
        entries.extend_from_slice(blake3::hash(&code).as_bytes());
        entries.extend_from_slice(&(code.len() as u64).to_le_bytes());
    }
    to.write_all(&entries)?;
    to.write_all(&(components.len() as u64).to_le_bytes())?;
    to.write_all(&MARK)?;
    to.flush()
}

/// Returns the code of a component that a program ends with; `None` if it ends with none, or with that of others.
pub(super) fn read(program: &Path, component: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(program)?;
    let Some(entries) = entries(&file)? else {
        return Ok(None);
    };
    let wanted = blake3::hash(component);
    // The code of the last entry is right before the entries.
    let mut end = entries.at;
    for entry in entries.all.chunks_exact(ENTRY).rev() {
        let (component, rest) = entry.split_at(HASH);
        let (hash, length) = rest.split_at(HASH);
        let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
        let begin = end.checked_sub(length).filter(|_| length <= MAX_CODE);
        let begin = begin.ok_or_else(|| io::Error::other("the entries are damaged"))?;
        if component == wanted.as_bytes() {
            let mut code = vec![0; usize::try_from(length).unwrap_or_default()];
            file.read_exact_at(&mut code, begin)?;
            return match blake3::hash(&code).as_bytes() == hash {
                true => Ok(Some(code)),
                false => Err(io::Error::other("the code is damaged")),
            };
        }
        end = begin;
    }
    Ok(None)
}

/// The entries of a program, and where they begin.
struct Entries {
    all: Vec<u8>,
    at: u64,
}

fn entries(file: &File) -> io::Result<Option<Entries>> {
    let size = file.metadata()?.len();
    let Some(at) = size.checked_sub(FOOTER as u64) else {
        return Ok(None);
    };
    let mut footer = [0; FOOTER];
    file.read_exact_at(&mut footer, at)?;
    let (count, mark) = footer.split_at(8);
    if mark != MARK {
        return Ok(None);
    }
    let count = u64::from_le_bytes(count.try_into().unwrap_or_default());
    let length = count.min(MOST + 1) * ENTRY as u64;
    let at = at.checked_sub(length).filter(|_| count <= MOST);
    let at = at.ok_or_else(|| io::Error::other("the footer is damaged"))?;
    let mut all = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut all, at)?;
    Ok(Some(Entries { all, at }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use bytes::Bytes;
    use tempfile::TempDir;

    use super::*;
    use crate::compile::compile;
    use crate::{Compiler, Engine};

    const ONE: &str = "(component)";
    const OTHER: &str = "(component (core module))";

    /// A file that begins as a program may, and ends with the code of these components. It cannot be executed.
    fn program(components: &[&str]) -> (TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let mut file = b"\x7fELF and so on".to_vec();
        let components: Vec<_> = components
            .iter()
            .map(|text| wat::parse_str(text).unwrap())
            .collect();
        let components: Vec<_> = components.iter().map(Vec::as_slice).collect();
        write(&components, &mut file).unwrap();
        fs::write(&path, file).unwrap();
        (directory, path)
    }

    /// Compiles a component with a program that cannot be executed.
    async fn compiles(program: &Path, component: &str) -> bool {
        let engine = Engine::with_compiler(None, Some(Compiler::new(program))).unwrap();
        assert!(engine.inner.pooling, "the address space is limited");
        let component = Bytes::from(wat::parse_str(component).unwrap());
        let limit = Duration::from_mins(1);
        compile(&engine, "a", &component, limit).await.is_ok()
    }

    #[tokio::test]
    async fn a_component_whose_code_the_program_has_is_not_compiled() {
        let (_directory, program) = program(&[ONE, OTHER]);
        assert!(compiles(&program, ONE).await);
        assert!(compiles(&program, OTHER).await);
        assert!(!compiles(&program, "(component (core module) (core module))").await);
    }

    #[tokio::test]
    async fn code_that_is_damaged_is_not_used() {
        let (_directory, program) = program(&[ONE]);
        let good = fs::read(&program).unwrap();
        // One bit in each part, and an end that is missing.
        for place in [
            20,
            good.len() - 30,
            good.len() - 60,
            good.len() - 1,
            good.len() - 17,
        ] {
            let mut bad = good.clone();
            bad[place] ^= 1;
            fs::write(&program, bad).unwrap();
            assert!(!compiles(&program, ONE).await, "{place}");
        }
        for length in [0, 10, good.len() - 1, good.len() - 24] {
            fs::write(&program, &good[..length]).unwrap();
            assert!(!compiles(&program, ONE).await, "{length}");
        }
        fs::write(&program, good).unwrap();
        assert!(compiles(&program, ONE).await);
    }
}
