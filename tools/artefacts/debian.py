"""A package of Debian: the server with its unit, user and configuration."""

import subprocess
from pathlib import Path

from .packing import Entry, ar, gzip, ordered, tar, xz
from .programs import Programs, documents, runner
from .project import DESCRIPTION, LICENSES, MAINTAINER, REPOSITORY, ROOT, VERSION

SCRIPTS = Path(__file__).parent / "debian"
CONFIGURATION = "etc/toolhost/toolhost.toml"
UNIT = "usr/lib/systemd/system/toolhost.service"
# What the unit of the examples has, and what that of the package has instead.
CHANGES = {
    "Install it as /etc/systemd/system/toolhost.service; docs": "docs",
    "/usr/local/bin/toolhost": "/usr/bin/toolhost",
    # `keep` is in the configuration, so that an upgrade ends no command.
    "KillMode=mixed": "KillMode=process",
}
SYSUSERS = 'u toolhost - "Toolhost" /srv/toolhost\n'


def make(programs: Programs, out: Path) -> None:
    data = [*payload(programs)]
    size = sum(len(entry.content or b"") for entry in data) // 1024
    control = [
        "Package: toolhost",
        f"Version: {VERSION}",
        f"Architecture: {programs.target.debian}",
        f"Maintainer: {MAINTAINER}",
        f"Installed-Size: {size}",
        "Recommends: bash, ca-certificates, git",
        "Section: net",
        "Priority: optional",
        f"Homepage: {REPOSITORY}",
        f"Description: {DESCRIPTION[0].lower()}{DESCRIPTION[1:].rstrip('.')}",
        " Clients reach it over HTTP, over MCP, and on the command line. The package",
        " has a unit of systemd, which does not start before you enable it.",
        "",
    ]
    members = [
        Entry("control", "\n".join(control).encode()),
        Entry("conffiles", f"/{CONFIGURATION}\n".encode()),
        *(Entry(script.name, script.read_bytes(), 0o755) for script in SCRIPTS.iterdir()),
    ]
    packed = ar(
        [
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", gzip(tar(members, "./"))),
            ("data.tar.xz", xz(tar(data, "./"))),
        ]
    )
    (out / f"toolhost_{VERSION}_{programs.target.debian}.deb").write_bytes(packed)


def payload(programs: Programs) -> list[Entry]:
    """Returns the files that the package installs."""
    entries = [
        Entry("usr/bin/toolhost", programs.toolhost.read_bytes(), 0o755),
        Entry(UNIT, unit().encode()),
        Entry("usr/lib/sysusers.d/toolhost.conf", SYSUSERS.encode()),
        # It may get digests of tokens. The maintainer script gives it to the group of the server.
        Entry(CONFIGURATION, configuration(programs), 0o640),
        Entry("usr/share/doc/toolhost/copyright", b"\n".join((ROOT / name).read_bytes() for name in LICENSES)),
    ]
    for entry in documents(programs):
        if "/man/" in entry.path:
            entry = entry._replace(path=f"{entry.path}.gz", content=gzip(entry.content or b""))
        if "/LICENSE" not in entry.path:
            path = entry.path.replace("zsh/site-functions", "zsh/vendor-completions")
            entries.append(entry._replace(path=f"usr/{path}"))
    return ordered(entries)


def unit() -> str:
    """Returns the unit of the examples with the paths of the package."""
    text = (ROOT / "examples/operating/toolhost.service").read_text()
    for old, new in CHANGES.items():
        if old not in text:
            raise SystemExit(f"examples/operating/toolhost.service no longer has {old!r}, which the package changes")
        text = text.replace(old, new)
    return text


def configuration(programs: Programs) -> bytes:
    """Returns the example of a configuration, in which commands are kept while a server restarts."""
    command = [*runner(programs.target), str(programs.toolhost), "config", "example"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "\n#keep = " not in text:
        raise SystemExit("`toolhost config example` no longer has the key `keep`, which the package sets")
    return text.replace("\n#keep = ", "\nkeep = ").encode()
