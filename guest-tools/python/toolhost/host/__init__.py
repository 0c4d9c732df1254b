"""The host: the bindings of the contract within a component, and stand-ins for tests elsewhere."""

try:
    from . import component as current
except ModuleNotFoundError as error:
    if error.name not in ("componentize_py_types", "wit_world"):
        raise
    from . import native as current

__all__ = ["current"]
