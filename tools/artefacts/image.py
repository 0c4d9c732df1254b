"""OCI images of server and agent as archives of their layout, written without an engine."""

import json
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from . import seal
from .packing import Entry, directory, gzip, tar
from .programs import Programs, runner
from .project import COMMIT, DESCRIPTION, EPOCH, LICENSE, LICENSES, REPOSITORY, ROOT, VERSION, Target
from .registry import SERVER

KIND = "application/vnd.oci.image."
USER = 10001
FILES = {
    "etc/passwd": f"root:x:0:0:root:/root:/bin/sh\ntoolhost:x:{USER}:{USER}::/home/toolhost:/bin/sh\n",
    "etc/group": f"root:x:0:\ntoolhost:x:{USER}:\n",
}
SERVE = ["serve", "--listen", "0.0.0.0:7411", "--no-console-link"]
AGENT = ["--listen", "0.0.0.0:7412"]


def make_all(built: list[Programs], out: Path) -> None:
    """Writes an archive for each program. It has an image for each target, and an engine takes the one for its machine."""
    bases = [base(programs) for programs in built]
    write(out, "toolhost", SERVE, 7411, built, bases, lambda programs: programs.toolhost)
    write(out, "toolhost-agent", AGENT, 7412, built, bases, lambda programs: programs.agent)


def write(
    out: Path,
    name: str,
    arguments: list[str],
    port: int,
    built: list[Programs],
    bases: list[bytes],
    program: Callable[[Programs], Path],
) -> None:
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes | dict, **further: object) -> dict:
        raw = json.dumps(content).encode() if isinstance(content, dict) else content
        digest = seal.digest(raw)
        blobs[digest] = raw
        return {"mediaType": KIND + kind, "digest": f"sha256:{digest}", "size": len(raw), **further}

    images = []
    for programs, lower in zip(built, bases):
        upper = [
            Entry(f"usr/local/bin/{name}", program(programs).read_bytes(), 0o755),
            *(Entry(f"usr/share/doc/{name}/{licence}", (ROOT / licence).read_bytes()) for licence in LICENSES),
        ]
        layers = [lower, tar(upper)]
        described = config(programs.target, name, arguments, port, layers)
        manifest = {
            "schemaVersion": 2,
            "mediaType": KIND + "manifest.v1+json",
            "config": blob("config.v1+json", described),
            "layers": [blob("layer.v1.tar+gzip", gzip(layer)) for layer in layers],
        }
        platform = {"os": "linux", "architecture": programs.target.debian}
        images.append(blob("manifest.v1+json", manifest, platform=platform))
    several = {"schemaVersion": 2, "mediaType": KIND + "index.v1+json", "manifests": images}
    reference = {"org.opencontainers.image.ref.name": f"{name}:{VERSION}"}
    index = {"schemaVersion": 2, "manifests": [blob("index.v1+json", several, annotations=reference)]}
    entries = [Entry(f"blobs/sha256/{digest}", content) for digest, content in blobs.items()]
    entries.append(Entry("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'))
    entries.append(Entry("index.json", json.dumps(index).encode()))
    (out / f"{name}-{VERSION}.oci.tar").write_bytes(tar(entries))


def config(target: Target, name: str, arguments: list[str], port: int, layers: list[bytes]) -> dict:
    """Returns what an engine needs to run an image; it says the same as examples/operating/Containerfile."""
    created = datetime.fromtimestamp(EPOCH, UTC).isoformat()
    return {
        "created": created,
        "os": "linux",
        "architecture": target.debian,
        "config": {
            "User": "toolhost",
            "Env": [
                "PATH=/usr/local/bin:/usr/bin:/bin",
                "TOOLHOST_WORKSPACE=/workspace",
                "TOOLHOST_STATE_DIR=/state",
                "TOOLHOST_LOG_FORMAT=json",
            ],
            "Entrypoint": [name],
            "Cmd": arguments,
            "ExposedPorts": {f"{port}/tcp": {}},
            "Volumes": {"/workspace": {}, "/state": {}},
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": name,
                "org.opencontainers.image.description": DESCRIPTION,
                "org.opencontainers.image.licenses": LICENSE,
                "org.opencontainers.image.revision": COMMIT,
                "org.opencontainers.image.source": REPOSITORY,
                "org.opencontainers.image.version": VERSION,
                "io.modelcontextprotocol.server.name": SERVER,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{seal.digest(layer)}" for layer in layers]},
        "history": [{"created": created, "created_by": "tools/dist"} for _ in layers],
    }


def base(programs: Programs) -> bytes:
    """Returns the lower layer: a shell and the usual programs, which commands need, and the user of the server."""
    busybox = fetch_busybox(programs.target)
    listed = subprocess.run([*runner(programs.target), busybox, "--list"], check=True, capture_output=True, text=True).stdout
    entries = [
        Entry("bin/busybox", busybox.read_bytes(), 0o755),
        *(Entry(f"bin/{applet}", None, link="busybox") for applet in listed.split() if applet != "busybox"),
        Entry("usr/bin", None, link="../bin"),
        Entry("sbin", None, link="bin"),
        *(Entry(path, text.encode()) for path, text in FILES.items()),
        directory("root", 0o700),
        directory("tmp", 0o1777),
        directory("var/tmp", 0o1777),
        directory("home/toolhost", 0o700, USER),
        directory("state", 0o700, USER),
        directory("workspace", 0o700, USER),
    ]
    return tar(entries)


def fetch_busybox(target: Target) -> Path:
    """Returns the static busybox of Debian for a target, which apt fetches once into target/tools."""
    folder = ROOT / "target/tools" / f"busybox-{target.debian}"
    program = folder / "bin/busybox"
    if program.exists():
        return program
    with tempfile.TemporaryDirectory() as state:
        for name in ["lists/partial", "cache/archives/partial"]:
            (Path(state) / name).mkdir(parents=True)
        settings = {
            "APT::Architecture": target.debian,
            "APT::Architectures": target.debian,
            "APT::Sandbox::User": "root",
            "Dir::State": state,
            "Dir::State::status": "/dev/null",
            "Dir::Cache": f"{state}/cache",
        }
        options = [option for key, value in settings.items() for option in ("-o", f"{key}={value}")]
        for command in ["update"], ["download", "busybox-static"]:
            subprocess.run(["apt-get", "-qq", *options, *command], check=True, cwd=state)
        (package,) = Path(state).glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return program
