"""Settings and secrets that the operator gave this plugin."""

from .host import current


def get(key: str, default: str | None = None) -> str | None:
    """Returns the value of a setting, or `default` if the operator did not set it."""
    value = current.setting(key)
    return default if value is None else value


def secret(name: str) -> str:
    """Returns the value of a secret. Raises `Denied` with the reason if it was not granted or cannot be read."""
    return current.secret(name)
