//! The program of a compiler process: it reads a component and writes its code, with as few rights as possible.

use std::ffi::OsStr;
use std::io::{self, Read, Write};

use nix::sys::resource::{Resource, setrlimit};

use crate::cache::compatibility;
use crate::engine::compiling_engine;

/// The argument that makes the Toolhost program a compiler.
pub const ARGUMENT: &str = "compiler";

/// The exit code if the component cannot be compiled; the text on standard error says why.
pub(super) const BAD_COMPONENT: i32 = 3;

/// The exit code if the compiler cannot work.
const BROKEN: i32 = 4;

/// The bytes before the code: a mark, and a hash of the engine's properties with which the code is compatible.
pub(super) const HEADER: usize = 8 + 32;

/// The mark.
const MARK: [u8; 8] = *b"thcode 1";

/// The most memory of a compiler in bytes. Memory that is only reserved, of which threads have much, does not count. A
/// component of Python takes 350 MiB.
const MEMORY: u64 = 2 << 30;

/// The increment of the niceness: calls have priority over compiling.
const NICE: i32 = 10;

/// The largest component, far above what any plugin may have.
const MAX_COMPONENT: u64 = 1 << 30;

/// Returns the argument that says where the instances of the code will live, on which the code depends.
pub(super) fn allocation(pooling: bool) -> &'static str {
    if pooling { "pool" } else { "on-demand" }
}

/// Returns the header of the code for an engine.
pub(super) fn header(engine: &wasmtime::Engine) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let compatible = compatibility(engine);
    let bytes = MARK.iter().chain(compatible.as_bytes());
    header
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    header
}

/// Reads a component from standard input, writes its code to standard output, and ends this process.
pub fn run(allocation: &OsStr) -> ! {
    let (code, text) = match compile(allocation) {
        Ok(()) => (0, String::new()),
        Err(failure) => failure,
    };
    _ = io::stderr().write_all(text.as_bytes());
    std::process::exit(code)
}

/// Fails with an exit code and a text.
fn compile(allocation: &OsStr) -> Result<(), (i32, String)> {
    let broken = |text: String| (BROKEN, text);
    let pooling = [true, false]
        .into_iter()
        .find(|pooling| *allocation == *self::allocation(*pooling))
        .ok_or_else(|| broken("the allocation of instances is pool or on-demand".into()))?;
    confine().map_err(|error| broken(format!("cannot set limits: {error}")))?;
    let component =
        read().map_err(|error| broken(format!("cannot read the component: {error}")))?;
    let engine = compiling_engine(pooling).map_err(|error| broken(format!("{error:#}")))?;
    let code = engine
        .precompile_component(&component)
        .map_err(|error| (BAD_COMPONENT, format!("{error:#}")))?;
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(&header(&engine))
        .and_then(|()| stdout.write_all(&code))
        .and_then(|()| stdout.flush())
        .map_err(|error| broken(format!("cannot write the code: {error}")))
}

/// Sets the limits of this process; the host adds that of CPU time. A command of the same user must not get into this process
/// either, because the host runs the code that this process writes.
fn confine() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)?;
    nix::sys::prctl::set_no_new_privs()?;
    for (resource, limit) in [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_DATA, MEMORY),
    ] {
        // The host itself may have been started with a lower limit.
        let (_, hard) = nix::sys::resource::getrlimit(resource)?;
        let limit = limit.min(hard);
        setrlimit(resource, limit, limit)?;
    }
    _ = rustix::process::nice(NICE);
    Ok(())
}

/// Reads the component, and from then on ends this process when its input ends: the host is gone, or gave up.
fn read() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut size = [0; 8];
    stdin.read_exact(&mut size)?;
    let size = u64::from_le_bytes(size);
    if size > MAX_COMPONENT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut component = Vec::new();
    if stdin.by_ref().take(size).read_to_end(&mut component)? as u64 != size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    drop(stdin);
    let watch = std::thread::Builder::new().name("watch".into());
    watch.spawn(|| {
        _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(BROKEN)
    })?;
    Ok(component)
}
