"""Exceptions that a tool does not catch, in words for the model and lines for the log."""

import posixpath
import traceback

# The folder of this package, and the one with the author's modules.
PACKAGE = posixpath.dirname(__file__)
ROOT = posixpath.dirname(PACKAGE)

NO_FILES = "open() and pathlib reach no files of the workspace: use toolhost.files"
NO_IMPORTS = "import it at the top of the module: once the component is built, nothing can be imported"


def summary(error: BaseException) -> str:
    """Returns type, message and place of an exception: `KeyError: 'zz' (plugin.py:12)`."""
    words = type(error).__name__
    text = str(error)
    if text:
        words = f"{words}: {text}"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [frame for frame in frames if is_own(frame[0])]
    for name, line in (own or frames)[-1:]:
        words = f"{words} ({posixpath.relpath(name, ROOT) if is_own(name) else name}:{line})"
    hint = advice(error)
    return f"{words}; {hint}" if hint else words


def lines(error: BaseException) -> list[str]:
    """Returns the traceback, without the frames of this package that lead to the tool."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and is_below(trace.tb_frame.f_code.co_filename, PACKAGE):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return text.replace(f'File "{ROOT}/', 'File "').splitlines()


def advice(error: BaseException) -> str | None:
    """Returns what to do about an exception that says nothing of the limits of a component."""
    if isinstance(error, OSError) and error.filename is not None:
        return NO_FILES
    return NO_IMPORTS if isinstance(error, ImportError) else None


def is_own(name: str) -> bool:
    """Returns whether a file is one of the author's."""
    return is_below(name, ROOT) and not is_below(name, PACKAGE)


def is_below(name: str, folder: str) -> bool:
    return name.startswith(f"{folder}/")
