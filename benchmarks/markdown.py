"""Cells and tables as Markdown."""

from collections.abc import Sequence
from decimal import Decimal

from benchmarks.experiment import Cell


def shown(cell: Cell) -> str:
    """A cell for readers: separators in whole numbers, four digits of the others."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}" if abs(cell) < 10**15 else f"{Decimal(cell):.3e}"  # floats end at 1e308
    if isinstance(cell, float):
        return f"{cell:,.0f}" if 10_000 <= abs(cell) < 1e9 else f"{cell:.4g}"
    return cell.replace("|", "\\|")


def as_markdown(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A Markdown table, numbers to the right."""
    numbers = [
        any(isinstance(row[c], int | float) for row in rows)
        and all(row[c] is None or isinstance(row[c], int | float) for row in rows)
        for c in range(len(columns))
    ]
    lines = [
        "| " + " | ".join(column.replace("|", "\\|") for column in columns) + " |",
        "|" + "|".join("---:" if number else "---" for number in numbers) + "|",
        *("| " + " | ".join(map(shown, row)) + " |" for row in rows),
    ]
    return "\n".join(lines)
