"""The `zhat` command."""

from __future__ import annotations

import signal
import sys

from . import _zhat


def main() -> int:
    # Rust code does not return to the interpreter, which would handle Ctrl-C only then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _zhat.main(["zhat", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
