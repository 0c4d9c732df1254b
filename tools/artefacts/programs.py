"""The static programs, compiled with cargo-zigbuild, and the documents that they write about themselves.

Against a dynamic program of the same sources (tests/benches/starts.py, ten turns, 2026-11-30): 82 and 95 MB, a later start 53 and 50 ms, a call
0.50 and 0.48 ms, idle 60.6 and 60.1 MiB.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

from .packing import Entry
from .project import LICENSES, ROOT, Target

TOOLS = ROOT / "target/tools/venv"
# What the tools are compiled with decides the bytes of the programs.
REQUIREMENTS = ["cargo-zigbuild==0.24.1", "ziglang==0.17.1"]
# What C calls to allocate. musl's allocator returns every large block to the kernel, which made a start a tenth slower with SQLite alone.
ALLOCATOR = ["malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign", "malloc_usable_size"]
# Parts of SQLite that the crate compiles in, and that nothing here uses.
SQLITE = "-USQLITE_ENABLE_FTS3 -USQLITE_ENABLE_FTS3_PARENTHESIS -USQLITE_ENABLE_FTS5 -USQLITE_ENABLE_RTREE -USQLITE_ENABLE_STAT4 -USQLITE_SOUNDEX"
# The linker, start files and C library of Rust. zig's linker can neither fold equal functions nor pack relocations, which together are a
# twentieth of the programs. C gets the allocator that the programs have for Rust.
LINK = [
    "-Clinker=rust-lld",
    "-Clinker-flavor=ld.lld",
    "-Clink-self-contained=yes",
    "-Clink-arg=--strip-all",
    "-Clink-arg=--icf=all",
    "-Clink-arg=--pack-dyn-relocs=relr",
    *(f"-Clink-arg=--defsym={name}=mi_{name}" for name in ALLOCATOR),
]
# The program, its profile, and further arguments of cargo.
PROGRAMS = {
    "toolhost": ("release", ["--package", "toolhost", "--features", "otel"]),
    "toolhost-agent": ("small", ["--package", "toolhost-service"]),
}
# Bytes of the agent, as a goal.
LARGEST_AGENT = 8_000_000
COMPLETIONS = {
    "bash": "share/bash-completion/completions/toolhost",
    "zsh": "share/zsh/site-functions/_toolhost",
    "fish": "share/fish/vendor_completions.d/toolhost.fish",
}


class Programs(NamedTuple):
    """What was compiled for a target."""

    target: Target
    toolhost: Path
    agent: Path


def install_tools() -> None:
    """Installs cargo-zigbuild and zig below target/tools, and the target of the compiler."""
    marker = TOOLS / "requirements"
    if marker.exists() and marker.read_text().split() == REQUIREMENTS:
        return
    venv.create(TOOLS, with_pip=True, clear=True)
    subprocess.run([TOOLS / "bin/pip", "install", "--quiet", *REQUIREMENTS], check=True)
    marker.write_text("\n".join(REQUIREMENTS))


def environment(target: Target, target_dir: Path) -> dict[str, str]:
    """Returns the variables of a compilation whose programs name no directory of this machine."""
    cargo_home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    # The last one that fits is used, and the target directory is often below the checkout.
    places = [(ROOT, "/toolhost"), (cargo_home, "/cargo"), (target_dir, "/target")]
    rust = "\x1f".join(f"--remap-path-prefix={place}={name}" for place, name in places)
    c = " ".join(f"-ffile-prefix-map={place}={name}" for place, name in places[1:])
    return os.environ | {
        "PATH": f"{TOOLS / 'bin'}:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(target_dir),
        "CARGO_INCREMENTAL": "0",
        "CARGO_ENCODED_RUSTFLAGS": rust,
        f"CFLAGS_{target.triple.replace('-', '_')}": c,
        "LIBSQLITE3_FLAGS": SQLITE,
        # The date in the program's allocator. That of the commit would compile all C again after each commit.
        "SOURCE_DATE_EPOCH": "0",
    }


def target_directory() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()


def compile_for(target: Target) -> Programs:
    """Compiles the programs for a target, and checks that they need no library."""
    install_tools()
    subprocess.run(["rustup", "target", "add", target.triple], check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    target_dir = target_directory()
    made = []
    for name, (profile, arguments) in PROGRAMS.items():
        cargo = ["cargo-zigbuild", "rustc", "--locked", "--target", target.triple, "--profile", profile]
        cargo += [*arguments, "--bin", name, "--", *LINK]
        subprocess.run(cargo, check=True, cwd=ROOT, env=environment(target, target_dir))
        made.append(target_dir / target.triple / profile / name)
        check_static(made[-1], target)
        check_date(made[-1])
    made[0] = with_code(target, made[0])
    size = made[1].stat().st_size
    if size > LARGEST_AGENT:
        print(f"warning: {made[1]} has {size} bytes; {LARGEST_AGENT} are the goal", file=sys.stderr)
    return Programs(target, *made)


def check_static(program: Path, target: Target) -> None:
    """Fails if a program names an interpreter, for it then needs libraries of the system, or is always at the same address.

    Of the two targets, Rust makes static programs that can be at any address (`ET_DYN`) for x86-64 alone.
    """
    content = program.read_bytes()
    if content[:5] != b"\x7fELF\x02":
        raise SystemExit(f"{program} is no ELF file of 64 bits")
    if content[16] != 3 and target.machine == "x86_64":
        raise SystemExit(f"{program} is always at the same address")
    table = int.from_bytes(content[32:40], "little")
    size = int.from_bytes(content[54:56], "little")
    for index in range(int.from_bytes(content[56:58], "little")):
        kind = content[table + index * size : table + index * size + 4]
        if int.from_bytes(kind, "little") == 3:
            raise SystemExit(f"{program} is not static: it names an interpreter")


def check_date(program: Path) -> None:
    """Fails if the allocator has the date on which it was compiled: another build in this target directory set none."""
    if b"Jan  1 1970" not in program.read_bytes():
        raise SystemExit(f"{program} has the date on which its C was compiled: remove {program.parents[1]}, and compile anew")


def with_code(target: Target, program: Path) -> Path:
    """Returns a copy of the server that ends with the compiled code of its plugins, so that its first start compiles nothing."""
    code = subprocess.run([*runner(target), program, "compiler", "embedded"], check=True, stdout=subprocess.PIPE).stdout
    whole = program.with_name("toolhost-with-code")
    whole.write_bytes(program.read_bytes() + code)
    whole.chmod(0o755)
    return whole


def runner(target: Target) -> list[str]:
    """Returns the command that runs programs of a target here."""
    if platform.machine() == target.machine:
        return []
    emulator = shutil.which(f"qemu-{target.machine}-static") or shutil.which(f"qemu-{target.machine}")
    if not emulator:
        raise SystemExit(f"programs for {target.machine} write their manual pages under qemu-user; install qemu-user-static")
    return [emulator]


def documents(programs: Programs) -> list[Entry]:
    """Returns manual pages, completions, licences and README of the server, by their paths below a prefix such as /usr."""
    command = [*runner(programs.target), str(programs.toolhost)]
    entries = texts("toolhost")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, "man", folder], check=True)
        entries += [Entry(f"share/man/man1/{page.name}", page.read_bytes()) for page in Path(folder).iterdir()]
    for shell, path in COMPLETIONS.items():
        script = subprocess.run([*command, "completions", shell], check=True, capture_output=True).stdout
        entries.append(Entry(path, script))
    return entries


def texts(package: str) -> list[Entry]:
    """Returns licences and README, by their paths below a prefix."""
    names = [*LICENSES, "README.md"]
    return [Entry(f"share/doc/{package}/{name}", (ROOT / name).read_bytes()) for name in names]
