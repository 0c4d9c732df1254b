//! Compresses the files of the page, and writes a table of them for `src/files.rs`.

use std::collections::BTreeMap;
use std::io::{Error, Result, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The file that browsers ask for first. It names the others.
const INDEX: &str = "index.html";

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=page");
    println!("cargo::rerun-if-changed=build.rs");
    let variable =
        |name: &str| env::var_os(name).ok_or_else(|| Error::other(format!("{name} is not set")));
    let page = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("page");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let mut files = BTreeMap::new();
    collect(&page, &page, &mut files)?;
    let version = version(&files);
    let index = files
        .remove(INDEX)
        .ok_or_else(|| Error::other("page/index.html is missing"))?;
    let index = String::from_utf8(index).map_err(Error::other)?;
    let index = index
        .replace("MODULES", &preloads(&files))
        .replace("VERSION", &version);
    files.insert(INDEX.to_owned(), index.into_bytes());
    fs::write(out.join("files.rs"), table(&out, &files, &version)?)
}

/// Reads the files below a directory, by their paths from the root. Documents for readers of the source are left out.
fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension != "md") {
            let name = path.strip_prefix(root).map_err(Error::other)?;
            let name = name
                .to_str()
                .ok_or_else(|| Error::other("the name of a file is not UTF-8"))?;
            files.insert(name.to_owned(), fs::read(&path)?);
        }
    }
    Ok(())
}

/// Returns a name for this content of all files, so that browsers may keep each of them for ever.
fn version(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, content) in files {
        for part in [name.as_bytes(), content] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher
        .finalize()
        .to_hex()
        .as_str()
        .chars()
        .take(16)
        .collect()
}

/// Returns the elements that let a browser fetch all modules at once, rather than each after the one that imports it.
fn preloads(files: &BTreeMap<String, Vec<u8>>) -> String {
    let modules = files
        .keys()
        .filter(|name| name.ends_with(".js") && *name != "main.js");
    let links =
        modules.map(|name| format!("<link rel=\"modulepreload\" href=\"assets/VERSION/{name}\">"));
    links.collect::<Vec<_>>().join("\n")
}

/// Compresses the files into a directory, and returns the source of their table.
fn table(out: &Path, files: &BTreeMap<String, Vec<u8>>, version: &str) -> Result<String> {
    let mut source = format!("pub(crate) const VERSION: &str = {version:?};\n");
    source.push_str("pub(crate) const FILES: &[(&str, &[u8])] = &[\n");
    for (at, (name, content)) in files.iter().enumerate() {
        let compressed = out.join(format!("{at}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content)?;
        fs::write(&compressed, encoder.finish()?)?;
        source.push_str(&format!(
            "    ({name:?}, include_bytes!({compressed:?})),\n"
        ));
    }
    source.push_str("];\n");
    Ok(source)
}
