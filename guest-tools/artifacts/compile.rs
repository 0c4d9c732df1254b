//! Building guests for `wasm32-wasip2` with a cargo of its own, for the build scripts of this crate and of `tests/guests`. It installs that
//! target if it is missing.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-wasip2";

/// The sources that all guests share, relative to `guest-tools`.
const SOURCES: [&str; 5] = ["edit", "sdk", "view", "../Cargo.toml", "../Cargo.lock"];

/// Components are embedded and loaded at every start: their size counts, and they spend their time in the host.
const PROFILE: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "true"),
];

/// Vectors of 128 bits, which every engine that runs components has; and a heap that is there from the start, because to grow the memory
/// changes the mapping of a host with several threads, twice for each call.
const FLAGS: [&str; 2] = [
    "-Ctarget-feature=+simd128",
    "-Clink-arg=--initial-heap=262144",
];

/// Ends a build script with the error of the build, if there is one.
pub(crate) fn ended(built: Result<(), Box<dyn Error>>) -> ExitCode {
    let Err(error) = built else {
        return ExitCode::SUCCESS;
    };
    for line in error.to_string().lines() {
        println!("cargo::error={line}");
    }
    // So that cargo shows what the inner cargo wrote, too.
    ExitCode::FAILURE
}

/// Returns flags for the compiler of C that change with the objects of QuickJS, so that cargo lays down new ones.
fn engine_flags(guest_tools: &Path) -> Result<String, Box<dyn Error>> {
    let mut hasher = DefaultHasher::new();
    for name in ["dtoa", "libregexp", "libunicode", "quickjs"] {
        std::fs::read(guest_tools.join(format!("script/engine/{name}.o")))?.hash(&mut hasher);
    }
    Ok(format!("-DOBJECTS={:x}", hasher.finish()))
}

/// Returns the flags of the compiler, as `CARGO_ENCODED_RUSTFLAGS` takes them. Components name no directory of this machine, so that two
/// machines make the same ones.
fn flags(target_dir: &Path) -> Result<OsString, Box<dyn Error>> {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let cargo_home = cargo_home.ok_or("neither CARGO_HOME nor HOME is set")?;
    let mut flags = OsString::from(FLAGS.join("\u{1f}"));
    for (directory, name) in [(cargo_home.as_path(), "/cargo"), (target_dir, "/target")] {
        flags.push("\u{1f}--remap-path-prefix=");
        flags.push(directory);
        flags.push("=");
        flags.push(name);
    }
    Ok(flags)
}

/// Builds guests: each package of the folder `guest_tools`, its folder there, and the variable that names its component to the compiler. The
/// packages `fast` are compiled for speed.
///
/// # Errors
///
/// If the target cannot be installed, or cargo fails.
pub(crate) fn compile(
    guest_tools: &Path,
    guests: &[(&str, &str, &str)],
    fast: &[&str],
) -> Result<(), Box<dyn Error>> {
    let folders = guests.iter().map(|(_, folder, _)| *folder);
    for source in SOURCES.into_iter().chain(folders) {
        let source = guest_tools.join(source);
        println!("cargo::rerun-if-changed={}", source.display());
    }
    provide_target()?;
    let target_dir = PathBuf::from(variable("OUT_DIR")?).join("target");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.args(["build", "--locked", "--release", "--target", TARGET]);
    for (package, ..) in guests {
        cargo.args(["--package", package]);
    }
    for package in fast {
        cargo.args([
            "--config",
            &format!("profile.release.package.{package}.opt-level=3"),
        ]);
    }
    for (name, _) in env::vars_os().filter(|(name, _)| is_for_the_outer_build(name)) {
        cargo.env_remove(name);
    }
    // The outer cargo holds the lock on its own target directory.
    cargo
        .env("CARGO_TARGET_DIR", &target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(&target_dir)?)
        .env("CFLAGS_wasm32_wasip2", engine_flags(guest_tools)?)
        .envs(PROFILE);
    run(&mut cargo)?;

    for (package, _, constant) in guests {
        let file = format!("{}.wasm", package.replace('-', "_"));
        let component = target_dir.join(TARGET).join("release").join(file);
        println!("cargo::rustc-env={constant}={}", component.display());
    }
    Ok(())
}

/// Says whether a variable would make the guests' build differ from one that is started by hand: flags, wrappers (clippy
/// is one), profiles and targets that are meant for the host.
fn is_for_the_outer_build(name: &OsString) -> bool {
    const NAMES: [&str; 6] = [
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CLIPPY_ARGS",
    ];
    let name = name.to_string_lossy();
    NAMES.contains(&name.as_ref())
        || name.starts_with("CARGO_PROFILE_")
        || name.starts_with("CARGO_BUILD_")
}

/// Installs the target with rustup if the compiler does not have it.
fn provide_target() -> Result<(), Box<dyn Error>> {
    let rustc = variable("RUSTC")?;
    let sysroot = Command::new(&rustc).args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8(sysroot.stdout)?;
    let standard_library = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET);
    if standard_library.is_dir() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]);
    // Set by rustup's proxies; without it, rustup looks at rust-toolchain.toml.
    if let Some(toolchain) = env::var_os("RUSTUP_TOOLCHAIN") {
        rustup.arg("--toolchain").arg(toolchain);
    }
    let attempt = match run(&mut rustup) {
        Ok(()) if standard_library.is_dir() => return Ok(()),
        Ok(()) => "rustup installed the target for another compiler".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!(
        "the guests of Toolhost are built for {TARGET}, which this compiler cannot: {} is missing\n\
         with rustup, run: rustup target add {TARGET}\n\
         without, install the standard library of {TARGET} for this compiler; distributions package it apart\n\
         (what was tried: {attempt})",
        standard_library.display(),
    )
    .into())
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?} did not start: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo did not set {name}"))
}
