"""A line that says what is going on: on a terminal, and in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, Union

Progress = Union[None, bool, Callable[[str, int, int], Any]]


def shown(progress: Progress) -> Optional[Callable[[str, int, int], Any]]:
    """Returns what to call with each step: what is done, and how many of how many parts are finished (0 of 0: not known)."""
    if callable(progress):
        return progress
    if progress is False:
        return None
    if _is_notebook():
        return _InNotebook()
    if progress or sys.stderr is not None and sys.stderr.isatty():
        return _OnTerminal()
    return None


def finish(progress: Optional[Callable[[str, int, int], Any]]) -> None:
    """Removes the line."""
    if isinstance(progress, (_OnTerminal, _InNotebook)):
        progress.finish()


def _is_notebook() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _text(what: str, done: int, of: int, began: float) -> str:
    filled = 24 * done // of if of else 0
    return f"{what:38} [{'=' * filled}{' ' * (24 - filled)}] {time.monotonic() - began:.0f} s"


class _OnTerminal:
    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        sys.stderr.write("\r\x1b[K" + _text(what, done, of, self.began))
        sys.stderr.flush()

    def finish(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _InNotebook:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.display: Any = None

    def __call__(self, what: str, done: int, of: int) -> None:
        self.show(_text(what, done, of, self.began))

    def finish(self) -> None:
        self.show(f"{time.monotonic() - self.began:.1f} s")

    def show(self, text: str) -> None:
        from IPython.display import display

        shown = {"text/plain": text}
        if self.display is None:
            self.display = display(shown, raw=True, display_id=True)
        else:
            self.display.update(shown, raw=True)
