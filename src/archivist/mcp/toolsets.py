"""The catalogue: which tools a face shows, in the order that assistants see."""

from archivist.domain.toolsets import Toolset
from archivist.mcp.tool import Tool
from archivist.mcp.tools.lineage import INSPECT_MEMORY
from archivist.mcp.tools.memories import DELETE_MEMORIES, FORGET_ALL_MEMORIES, STORE_MEMORY
from archivist.mcp.tools.recall import DATE_SEARCH_MEMORIES, SEARCH, SEARCH_MEMORIES
from archivist.mcp.tools.reflections import COMMIT_REFLECTIONS, CONSOLIDATE_MEMORIES
from archivist.mcp.tools.vaults import MEMORY_STATUS

VAULT: tuple[Tool, ...] = (
    SEARCH_MEMORIES,
    DATE_SEARCH_MEMORIES,
    STORE_MEMORY,
    MEMORY_STATUS,
    FORGET_ALL_MEMORIES,
    CONSOLIDATE_MEMORIES,
    COMMIT_REFLECTIONS,
    INSPECT_MEMORY,
    DELETE_MEMORIES,
    SEARCH,
)

CODING: tuple[Tool, ...] = ()
"""The coding tools: none in this version. Their address can be signed in to, and shows an empty catalogue."""

TOOLS: dict[Toolset, tuple[Tool, ...]] = {"vault": VAULT, "coding": CODING}
