"""Waiting and running at the same time, with anyio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

T = TypeVar("T")


async def sleep(seconds: float) -> None:
    """Waits for so many seconds."""
    await anyio.sleep(seconds)


async def gather(jobs: Sequence[Callable[[], Awaitable[T]]], on_cancel: Callable[[], Awaitable[object]]) -> list[T]:
    """Runs jobs at the same time, and returns their results once all have ended. Raises the first exception of a job.

    If the wait is cancelled, runs `on_cancel` for 30 seconds at most.
    """
    results: dict[int, T] = {}
    errors: list[Exception] = []

    async def run(number: int, job: Callable[[], Awaitable[T]]) -> None:
        try:
            results[number] = await job()
        except Exception as error:
            errors.append(error)

    try:
        async with anyio.create_task_group() as group:
            for number, job in enumerate(jobs):
                group.start_soon(partial(run, number, job))
    except anyio.get_cancelled_exc_class():
        # The cancellation goes on, whether or not the server can be told of it.
        with anyio.move_on_after(30, shield=True), suppress(Exception):
            await on_cancel()
        raise
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(jobs))]


async def pieces(path: Path) -> AsyncIterator[bytes]:
    """Yields the bytes of a file."""
    async with await anyio.open_file(path, "rb") as file:
        while piece := await file.read(1 << 20):
            yield piece
