"""`python -m archivist` is the `archivist` command."""

from archivist.cli.main import main

if __name__ == "__main__":
    main()
