"""The module that componentize-py makes a component of: it imports the author's `plugin`, and exports its tools."""

import plugin  # noqa: F401 -- the author's file, which defines the tools

from .exports import Tools
from .tool import TOOLS

__all__ = ["Tools"]

if not TOOLS:
    raise RuntimeError("plugin.py defines no tool: put @tool above a function")
