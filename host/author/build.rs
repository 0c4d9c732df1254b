//! Embeds the contract, the SDKs and the templates: writes lists of their files as Rust.

#[path = "build/manifests.rs"]
mod manifests;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The lists, each with its folder relative to this crate.
const FOLDERS: [(&str, &str); 11] = [
    ("CONTRACT", "../../wit"),
    ("WASI", "../../guest-tools/wasi"),
    ("PYTHON_SDK", "../../guest-tools/python/toolhost"),
    ("JAVASCRIPT_SDK", "../../guest-tools/javascript/toolhost"),
    ("COMMON", "templates/common"),
    ("RUST", "templates/rust"),
    ("GO", "templates/go"),
    ("C", "templates/c"),
    ("PYTHON", "templates/python"),
    ("JAVASCRIPT", "templates/javascript"),
    ("TYPESCRIPT", "templates/typescript"),
];

/// The crates of the SDK for Rust, with their folders relative to that of the SDK.
const CRATES: [&str; 2] = ["", "macros"];

/// Names of folders and files that tools make. They are not embedded.
const MADE: [&str; 5] = ["target", "node_modules", "__pycache__", "build", "dist"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let mut code = String::new();
    for (list, folder) in FOLDERS {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        if folder.is_dir() {
            collect(&folder, &mut files)?;
        }
        let files = files.into_iter().map(|file| {
            let path = file.strip_prefix(&folder).map(Path::to_owned);
            path.map(|path| (path, file))
        });
        write_list(&mut code, list, files.collect::<Result<_, _>>()?)?;
    }
    let sdk = sdk(&root, &out)?;
    write_list(&mut code, "RUST_SDK", sdk)?;
    fs::write(out.join("embedded.rs"), code)?;
    Ok(())
}

/// Returns the files of the SDK for Rust: its sources as they are, and manifests that need no workspace.
fn sdk(root: &Path, out: &Path) -> Result<Vec<(PathBuf, PathBuf)>, Box<dyn Error>> {
    let repository = root.join("../..");
    let sdk = repository.join("guest-tools/sdk");
    println!("cargo::rerun-if-changed={}", sdk.display());
    for file in ["Cargo.toml", "Cargo.lock"] {
        println!(
            "cargo::rerun-if-changed={}",
            repository.join(file).display()
        );
    }
    let mut files = Vec::new();
    let mut needed = Vec::new();
    for (index, folder) in CRATES.into_iter().enumerate() {
        let mut sources = Vec::new();
        collect(&sdk.join(folder).join("src"), &mut sources)?;
        for source in sources {
            files.push((source.strip_prefix(&sdk)?.to_owned(), source));
        }
        let made = manifests::stand_alone(&repository, &sdk, &sdk.join(folder))?;
        let written = out.join(format!("manifest-{index}.toml"));
        fs::write(&written, made.text)?;
        files.push((Path::new(folder).join("Cargo.toml"), written));
        needed.extend(made.needed);
    }
    let lock = out.join("Cargo.lock");
    fs::write(&lock, manifests::lock(&repository, needed)?)?;
    files.push(("../Cargo.lock".into(), lock));
    Ok(files)
}

/// Writes a list of files, each with the path that it will have.
fn write_list(
    code: &mut String,
    list: &str,
    mut files: Vec<(PathBuf, PathBuf)>,
) -> Result<(), Box<dyn Error>> {
    files.sort();
    writeln!(code, "pub(crate) static {list}: &[File] = &[")?;
    for (path, file) in files {
        let file = file.canonicalize()?;
        writeln!(
            code,
            "    File {{ path: {path:?}, content: include_bytes!({file:?}) }},"
        )?;
    }
    writeln!(code, "];")?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if MADE.iter().any(|made| name == *made) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
