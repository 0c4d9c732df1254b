"""What vouches for the artefacts: their checksums, a signature of these, and a statement of how they were made."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .programs import REQUIREMENTS, TOOLS
from .project import COMMIT, EPOCH, REPOSITORY, ROOT, VERSION, Target

SUMS = "SHA256SUMS"
STATEMENT = f"toolhost-{VERSION}.intoto.json"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make(targets: list[Target], out: Path) -> None:
    """Writes the statement about all artefacts, the checksums, and the signature."""
    for name in STATEMENT, SUMS, f"{SUMS}.minisig":
        (out / name).unlink(missing_ok=True)
    digests = {path.name: digest(path.read_bytes()) for path in sorted(out.iterdir()) if path.is_file()}
    (out / STATEMENT).write_text(json.dumps(statement(targets, digests), indent=2) + "\n")
    digests[STATEMENT] = digest((out / STATEMENT).read_bytes())
    lines = [f"{digests[name]}  {name}\n" for name in sorted(digests)]
    (out / SUMS).write_text("".join(lines))
    sign(out / SUMS)


def statement(targets: list[Target], digests: dict[str, str]) -> dict:
    """Returns a statement of in-toto with the predicate of SLSA 1.0. It has no times of the build, so that it is reproducible."""
    compiler = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    materials = [{"uri": f"git+{REPOSITORY}@{COMMIT}", "digest": {"gitCommit": COMMIT}}]
    materials += [{"uri": f"pkg:pypi/{requirement.replace('==', '@')}"} for requirement in REQUIREMENTS]
    materials += [{"uri": f"pkg:generic/rust@{compiler.split()[1]}", "name": compiler}]
    for busybox in sorted((TOOLS.parent).glob("busybox-*/bin/busybox")):
        name = busybox.parents[1].name
        materials.append(
            {"uri": f"pkg:deb/debian/busybox-static?arch={name.removeprefix('busybox-')}", "digest": {"sha256": digest(busybox.read_bytes())}}
        )
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": value}} for name, value in digests.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{REPOSITORY}/blob/{COMMIT}/tools/dist",
                "externalParameters": {
                    "source": f"git+{REPOSITORY}@{COMMIT}",
                    "targets": [target.triple for target in targets],
                },
                "internalParameters": {"SOURCE_DATE_EPOCH": EPOCH},
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": os.environ.get("DIST_BUILDER", f"{REPOSITORY}/local-build")}},
        },
    }


def sign(sums: Path) -> None:
    """Signs the checksums with minisign, with the key in MINISIGN_KEY or in the file MINISIGN_KEY_FILE; it has no password."""
    text, file = os.environ.get("MINISIGN_KEY"), os.environ.get("MINISIGN_KEY_FILE")
    if not (text or file):
        print(f"warning: {sums.name} is not signed: set MINISIGN_KEY or MINISIGN_KEY_FILE", file=sys.stderr)
        return
    with tempfile.NamedTemporaryFile("w") as key:
        key.write(text or "")
        key.flush()
        # The default comment has the time of the signature.
        comment = f"toolhost {VERSION} {COMMIT}"
        command = ["minisign", "-S", "-s", file or key.name, "-m", sums, "-t", comment, "-c", "signature of SHA256SUMS"]
        subprocess.run(command, check=True, input=b"", stdout=subprocess.DEVNULL)
