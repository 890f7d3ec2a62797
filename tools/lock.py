"""Makes requirements/*.txt anew from pyproject.toml: every package pinned, with the hashes of its files.

The hashes are of the files for every platform; markers say which packages a platform takes.
Pins that still fit are kept; `--upgrade` takes the newest instead. No file names an index, a host or a folder.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    "run.txt": ["pyproject.toml"],
    "dev.txt": ["pyproject.toml", "--all-extras", "--group", "dev", "--constraint", "requirements/run.txt"],
    "build.txt": ["--group", "build"],
    "lock.txt": ["--group", "lock"],
}
"""Each file and what it holds. dev.txt is held to the versions of run.txt, so that tests meet what users get."""

QUIET = ["--no-annotate", "--no-header"]
NOT_OURS = ("PIP_", "UV_", "VIRTUAL_ENV")
"""Settings of the machine that would let local files into the resolution."""


def main() -> int:
    """Resolve each file in turn."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
    for name, options in FILES.items():
        print(f"requirements/{name}", flush=True)
        command = [f"{sys.prefix}/bin/uv", "pip", "compile", "--no-config", "--quiet"]
        universal = ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes"]
        target = ["--output-file", f"requirements/{name}", *sys.argv[1:]]
        subprocess.run([*command, *universal, *QUIET, *options, *target], cwd=ROOT, env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
