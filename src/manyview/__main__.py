"""The command `manyview`, also as `python -m manyview`."""

import sys

from manyview._version import __version__
from manyview.utils import interruption


def main() -> None:
    """Run the command line, with signals handled from the first import on."""
    if sys.argv[1:] in (["--version"], ["-V"]):  # answered before any library is loaded
        sys.stdout.write(f"manyview {__version__}\n")
        return
    interruption.install()
    try:
        from manyview.cli import main as run

        run()
    except KeyboardInterrupt:
        interruption.leave()


if __name__ == "__main__":
    main()
