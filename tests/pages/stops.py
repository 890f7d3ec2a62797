"""Where the Tab key stops on a page: every place that can be pressed or filled, once, in the order of reading."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from playwright.async_api import Page

from tests.pages.browsing import FROM_THE_TOP, debugging, focused

NAMED = """
  const all = [...document.querySelectorAll("*")];
  const named = one => `${all.indexOf(one)} ${one.localName} ${(one.textContent || one.name).trim().slice(0, 60)}`;
"""
"""What tells an element apart: its number on the page, and enough to find it by."""

STOPS = f"""() => {{{NAMED}
  const wanted = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const seen = [...document.querySelectorAll(wanted)].filter(one =>
    !one.disabled && one.tabIndex >= 0 && one.checkVisibility({{ visibilityProperty: true }}));
  const group = one => seen.filter(other => other.type === "radio" && other.name === one.name);
  const stop = one => one.type !== "radio" || one.checked
    || (!group(one).some(other => other.checked) && group(one)[0] === one);
  return seen.filter(stop).map(one => {{
    const box = one.getBoundingClientRect();
    return {{ what: named(one), top: box.top + scrollY, bottom: box.bottom + scrollY,
              left: box.left, right: box.right }};
  }});
}}"""
"""Every place that Tab has to reach, in the order of the markup; of a group of radio buttons the one that is chosen."""

RING = f"""() => {{{NAMED}
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return {{ what: named(at), inside, ring: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth) }};
}}"""


@dataclass(frozen=True, slots=True)
class Stop:
    """Something that took the focus. ring: the width of the line around it; inside: whether it can be seen."""

    what: str
    ring: float
    inside: bool


async def walked(page: Page) -> list[Stop]:
    """Every stop of a whole walk from the top of the page, in its order. The page may have scripts of its own."""
    await page.locator(":root").evaluate(FROM_THE_TOP)
    met: list[Stop] = []
    async with debugging(page) as session:
        nodes: set[int] = set()
        while True:
            await page.keyboard.press("Tab")
            node, said = await focused(session)
            if not said or node in nodes:
                return met
            nodes.add(node)
            met.append(Stop(**await page.evaluate(RING)))


async def out_of_order(page: Page) -> list[str]:
    """Pairs of neighbouring stops of which the second stands above the first, or to the left of it on the same line."""
    stops: Sequence[dict[str, Any]] = await page.evaluate(STOPS)
    shown = [stop for stop in stops if stop["bottom"] > 0]  # the link to the content waits above the page
    return [
        f"{first['what']} → {second['what']}"
        for first, second in pairwise(shown)
        if second["bottom"] <= first["top"] or (_one_line(first, second) and second["right"] <= first["left"])
    ]


async def stops_of(page: Page) -> list[str]:
    """Every place that a walk has to reach."""
    return [stop["what"] for stop in await page.evaluate(STOPS)]


def _one_line(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return bool(second["top"] < first["bottom"] and first["top"] < second["bottom"])
