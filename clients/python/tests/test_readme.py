"""The README and the loops that it shows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples/chat/python"
README = (ROOT / "clients/python/README.md").read_text()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*_loop.py")), ids=lambda path: path.name)
def test_a_loop_has_at_most_25_lines(path: Path) -> None:
    source = path.read_text()
    lines = source.splitlines()
    [loop] = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    counted = [line for line in lines[loop.lineno - 1 : loop.end_lineno] if line.strip()]
    assert len(counted) <= 25


def test_the_readme_has_the_loop() -> None:
    [block] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert block == (EXAMPLES / "anthropic_loop.py").read_text().split("\n\n", 1)[1]


def test_the_readme_is_short() -> None:
    text = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    assert len(text.split()) <= 500
