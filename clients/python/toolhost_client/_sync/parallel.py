"""Waiting and running at the same time, with threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_thread = threading.local()


class Stopped(Exception):
    """The program that waits for this thread was interrupted."""


def sleep(seconds: float) -> None:
    """Waits for so many seconds. Raises `Stopped` in a job of `gather` that was interrupted."""
    stop: threading.Event | None = getattr(_thread, "stop", None)
    if stop is None:
        time.sleep(seconds)
    elif stop.wait(seconds):
        raise Stopped


def gather(jobs: Sequence[Callable[[], T]], on_cancel: Callable[[], object]) -> list[T]:
    """Runs jobs at the same time, and returns their results once all have ended. Raises the first exception of a job.

    If the wait is interrupted, as by Ctrl-C, runs `on_cancel`.
    """
    if not jobs:
        return []
    stop = threading.Event()

    def run(job: Callable[[], T]) -> T:
        _thread.stop = stop
        return job()

    with ThreadPoolExecutor(len(jobs), "toolhost") as threads:
        futures: list[Future[T]] = []
        try:
            for job in jobs:
                futures.append(threads.submit(run, job))
            # A signal that arrives right before a wait is handled only after it, so that no wait is long.
            while wait(futures, timeout=0.5).not_done:
                pass
        except BaseException:
            stop.set()
            # The interruption goes on, whether or not the server can be told of it.
            with suppress(Exception):
                on_cancel()
            raise
    return [future.result() for future in futures]


def pieces(path: Path) -> Iterator[bytes]:
    """Yields the bytes of a file."""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece
