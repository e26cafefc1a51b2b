"""The command line: `python -m stridec`, and the script `stridec`."""

import signal
import sys

from ._stridec import main


def run() -> int:
    """Runs the command line with the arguments of the process. Ctrl-C ends it at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return main()


if __name__ == "__main__":
    sys.exit(run())
