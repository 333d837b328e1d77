"""The hierarchy of the clusters: plain values for the dict, and a dendrogram as one SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from manyview.inspection import Explanation, FittedModel
from manyview.inspection.hierarchy import link_clusters
from manyview.inspection.plots import COLORS
from manyview.report.svg import INK, SOFT, svg_element, svg_grid, svg_text
from manyview.utils.types import FloatArray

WIDTH, LEFT, RIGHT, TOP, ROW, FOOT = 720.0, 24.0, 190.0, 8.0, 19.0, 44.0
MOST_LEAVES = 60  # beyond, the cheapest merges are not drawn
MOST_NAMED = 3  # clusters at one leaf


def describe_hierarchy(model: FittedModel, explanation: Explanation) -> dict[str, Any] | None:
    """Describe the merges of the clusters, and which clusters could be one.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    explanation : Explanation
        That of the fit.

    Returns
    -------
    dict or None
        `linkage`, as `link_clusters` returns it, with costs as shares of F; `sizes` of the
        clusters; `proposed`: pairs that could be one. None for one cluster.
    """
    linkage = link_clusters(model._fitted)
    if not len(linkage):
        return None
    linkage[:, 2] /= abs(model.objective_) or 1.0
    borders = explanation.borders
    proposed = borders[borders["could_be_one"]].drop(columns="could_be_one")
    return {
        "linkage": [[int(a), int(b), cost, int(n)] for a, b, cost, n in linkage],
        "sizes": explanation.clusters["size"].tolist(),
        "proposed": proposed.assign(
            cost=proposed["cost"].clip(lower=0) / (abs(model.objective_) or 1.0)
        ).to_dict("records"),
    }


def draw_hierarchy(hierarchy: Mapping[str, Any]) -> Markup:
    """Draw the hierarchy from left (one cluster) to right (those of the fit).

    Parameters
    ----------
    hierarchy : mapping
        As `describe_hierarchy` returns it.

    Returns
    -------
    Markup
        An SVG element.
    """
    linkage = np.array(hierarchy["linkage"], dtype=float)
    k = len(linkage) + 1
    leaves, nodes = _leaves(linkage, min(k, MOST_LEAVES))
    top = float(linkage[-1, 2]) or 1.0
    height = TOP + ROW * len(leaves) + FOOT

    def x(cost: float) -> float:
        return WIDTH - RIGHT - (WIDTH - RIGHT - LEFT) * cost / top

    places = {leaf: TOP + ROW * (row + 0.5) for row, leaf in enumerate(leaves)}
    start = dict.fromkeys(leaves, x(0.0))
    parts = _axis(top, x, height - FOOT)
    for node in nodes:
        a, b, cost = (int(linkage[node - k, 0]), int(linkage[node - k, 1]), linkage[node - k, 2])
        places[node], start[node] = (places[a] + places[b]) / 2, x(cost)
        corners = f"M{start[a]:.1f} {places[a]:.1f}H{x(cost):.1f}V{places[b]:.1f}H{start[b]:.1f}"
        parts.append(
            Markup(
                '<path class="branch" d="{}" fill="none" stroke="{}" stroke-width="1.5">'
                "<title>{:.2%} of F, {} clusters below</title></path>"
            ).format(corners, SOFT, cost, int(linkage[node - k, 3]))
        )
    for leaf in leaves:
        parts += _leaf(_members(linkage, leaf), hierarchy["sizes"], x(0.0), places[leaf])
    title = f"Dendrogram of {k} clusters"
    return svg_element("dendrogram", title, WIDTH, height, parts)


def _leaves(linkage: FloatArray, n_leaves: int) -> tuple[list[int], list[int]]:
    """Nodes that are drawn as leaves, from top to bottom, and those that join them, in order."""
    k = len(linkage) + 1
    first = 2 * k - n_leaves  # the first merge that is drawn
    order, waiting = [], [2 * k - 2]
    while waiting:
        node = waiting.pop()
        if node < first:
            order.append(node)
        else:
            waiting += [int(linkage[node - k, 1]), int(linkage[node - k, 0])]
    return order, list(range(first, 2 * k - 1))


def _members(linkage: FloatArray, node: int) -> list[int]:
    """Clusters of the fit below a node."""
    k = len(linkage) + 1
    if node < k:
        return [node]
    below = [_members(linkage, int(linkage[node - k, side])) for side in (0, 1)]
    return sorted(below[0] + below[1])


def _axis(top: float, x: Any, bottom: float) -> list[Markup]:
    """Lines and costs at the bottom, and what they are."""
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        at = x(share * top)
        parts.append(svg_grid(at, TOP, at, bottom))
        parts.append(svg_text(at, bottom + 17, f"{share * top:.2%}"))
    middle = (x(0.0) + x(top)) / 2
    return [*parts, svg_text(middle, bottom + 37, "increase of F by the merge")]


def _leaf(members: Sequence[int], sizes: Sequence[int], x: float, y: float) -> list[Markup]:
    """A mark in the color of the first cluster, and the clusters with their samples."""
    c, n = members[0], sum(sizes[c] for c in members)
    named = ", ".join(map(str, members[:MOST_NAMED]))
    others = f" + {len(members) - MOST_NAMED}" if len(members) > MOST_NAMED else ""
    mark = Markup(
        '<path class="line color-{}" d="M{:.1f} {:.1f}h14" stroke="{}" stroke-width="9"/>'
    )
    return [
        mark.format(c % len(COLORS), x + 4, y, COLORS[c % len(COLORS)]),
        svg_text(x + 24, y + 4.5, named + others, "start", INK),
        svg_text(WIDTH - 4, y + 4.5, f"{n:,}", "end", SOFT),
    ]
