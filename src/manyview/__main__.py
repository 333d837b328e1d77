"""The command `manyview`, also as `python -m manyview`."""

from manyview.utils import interruption


def main() -> None:
    """Run the command line, with signals handled from the first import on."""
    interruption.install()
    try:
        from manyview.cli import main as run

        run()
    except KeyboardInterrupt:
        interruption.leave()


if __name__ == "__main__":
    main()
