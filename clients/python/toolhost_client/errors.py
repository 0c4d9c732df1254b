"""The two ways in which a request fails: Toolhost refuses it, or no answer comes."""

from __future__ import annotations

from typing import Literal

# After these codes, the call may have run.
MAY_HAVE_RUN = ("cancelled", "gone")


class Refused(Exception):
    """A final problem document. Only a changed request can succeed.

    A refused call did not run, unless the code is `cancelled` or `gone`: then it may have.
    """

    is_error: Literal[True] = True
    # Whether an earlier attempt of the request may have been carried out, and its answer was lost.
    after_lost_answer = False

    def __init__(self, code: str, status: int, detail: str) -> None:
        super().__init__(code, status, detail)
        self.code, self.status, self.detail = code, status, detail

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"

    @property
    def may_have_run(self) -> bool:
        """Whether the refused call may have run all the same."""
        return self.code in MAY_HAVE_RUN

    @property
    def text(self) -> str:
        """The result of the call for a model."""
        advice = "\nThe call may have run. Look at its effects before you repeat it." if self.may_have_run else ""
        return f"{self}{advice}"


class Unanswered(Exception):
    """No answer came for too long. The call may have run, or may still run: the same request, sent later, gets its reply."""
