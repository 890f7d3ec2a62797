"""The yardstick of storing: the built-in embedder alone in a process, told on stdin what to embed.

A line is `{"texts": [...], "together": true}`; the answer is a line with the seconds it took.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from archivist.embedders.builtin import BuiltinEmbedder


async def main(models: Path) -> None:
    embedder = BuiltinEmbedder(models, on_progress=lambda _line: None)
    await embedder.start()
    await embedder.settle()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        task = json.loads(line)
        started = time.perf_counter()
        if task["together"]:
            await embedder.passages(task["texts"])
        else:
            for text in task["texts"]:
                await embedder.passages([text])
        print(time.perf_counter() - started, flush=True)
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
