"""What every plugin may ask its host, by the bindings of the contract."""

import importlib

from componentize_py_types import Err
from wit_world.imports import context, progress, settings
from wit_world.imports import log as lines

from ..errors import Denied

LEVELS = {
    "debug": lines.Level.DEBUG,
    "info": lines.Level.INFO,
    "warn": lines.Level.WARN,
    "error": lines.Level.ERROR,
}

chat = context.chat
workspace_root = context.workspace_root
remaining_ms = context.remaining_ms
cancelled = context.cancelled
attribute = context.attribute
report = progress.report
setting = settings.get


def secret(name: str) -> str:
    try:
        return settings.secret(name)
    except Err as error:
        raise Denied(error.value) from None


def log(level: str, message: str):
    lines.log(LEVELS[level], message)


def load(name: str):
    """Returns a function that returns the interface `processes`, `files` or `http`.

    It is called while the component is built: later nothing can be imported. Raises `RuntimeError` if the plugin is built without
    the interface.
    """
    try:
        module = importlib.import_module(f"{__package__}.component_{name}")
    except ImportError as error:
        reason = f'the plugin imports toolhost.{name}, and is built without it: add `{name} = "the reason"` to [grants] in plugin.toml'
        raise RuntimeError(reason) from error
    return lambda: module
