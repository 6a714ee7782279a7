"""One row of the table: what was measured, what beside it, and whether that is what was promised."""

from typing import NamedTuple


class Row(NamedTuple):
    name: str
    value: float  # ours, in `unit`
    unit: str
    reference: float | None  # the same quantity of what we compare with, measured in the same run
    ratio: float | None  # of `value` to `reference`
    target: str | None  # "<= 1.15": of the ratio, or of the value where there is no reference
    holds: bool | None  # None: the row is only told


def row(name, value, unit, reference=None, *, ratio=None, at_most=None, at_least=None) -> Row:
    """`ratio`: where it is more than a division of the two, like a median of the ratios of pairs."""
    if ratio is None and reference is not None:
        ratio = value / reference
    judged = value if ratio is None else ratio
    if at_most is not None:
        return Row(name, value, unit, reference, ratio, f"<= {at_most:g}", judged <= at_most)
    if at_least is not None:
        return Row(name, value, unit, reference, ratio, f">= {at_least:g}", judged >= at_least)
    return Row(name, value, unit, reference, ratio, None, None)


def number(value) -> str:
    """Three digits that matter, without an exponent up to a billion."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{2 if abs(value) >= 10 else 3}f}"


def table(rows: list[Row]) -> str:
    head = ("", "value", "unit", "reference", "ratio", "target", "holds")
    words = {True: "yes", False: "NO", None: ""}
    lines = [head] + [
        (r.name, number(r.value), r.unit, number(r.reference), number(r.ratio), r.target or "", words[r.holds])
        for r in rows
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    left = {0, 2, 6}
    return "\n".join(
        "  ".join(w.ljust(n) if i in left else w.rjust(n) for i, (w, n) in enumerate(zip(line, widths))).rstrip()
        for line in lines
    )
