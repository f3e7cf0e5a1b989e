"""Run experiments by name: ``python -m benchmarks [names] [--small] [--out FOLDER] [--list]``."""

import argparse
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks.experiment import Claim, Experiment, Progress, Size
from benchmarks.page import write_page
from benchmarks.registry import EXPERIMENTS, find
from benchmarks.storage import ROOT, Places, Stored, commit_of_code, keep, say

VERDICTS = {None: "no verdict", True: "holds", False: "DOES NOT HOLD"}


def report(claim: Claim) -> str:
    """A claim in a line: what is claimed, what was asked, our figure, the verdict."""
    asked = f" (asked: {claim.asked})" if claim.asked else ""
    return f"  {claim.text}{asked}: {claim.measured} - {VERDICTS[claim.holds]}"


def cpu_seconds() -> float:
    """What this process and those that it has waited for have taken so far."""
    took = os.times()
    return took.user + took.system + took.children_user + took.children_system


def perform(experiment: Experiment, size: Size, places: Places, progress: Progress) -> Stored:
    """Run, draw, keep, and print the claims."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    say(f"{experiment.title} ({experiment.name}, {size})")
    commit = commit_of_code()
    start = cpu_seconds()
    result = experiment.run(size, progress)
    seconds = cpu_seconds() - start
    try:
        stored = keep(result, experiment.draw(result), size, seconds, places, commit)
    finally:
        plt.close("all")
    for claim in result.claims:
        say(report(claim))
    say(f"  took {seconds:.0f} s of the CPU")
    return stored


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run experiments, regenerate the page.")
    parser.add_argument("names", nargs="*", help="experiments to run (all by default)")
    parser.add_argument("--small", action="store_true", help="seconds instead of minutes; figures mean nothing")
    parser.add_argument("--out", type=Path, help="folder for results, plots and page (the repository by default)")
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        for experiment in EXPERIMENTS:
            say(f"{experiment.name:<14} {experiment.title}")
        return
    try:
        experiments = [find(name) for name in chosen.names] or list(EXPERIMENTS)
    except LookupError as problem:
        parser.error(str(problem))
    # a small run never overwrites the figures that the documentation shows
    out = chosen.out or (ROOT / "build" / "benchmarks" if chosen.small else None)
    warnings.filterwarnings("ignore", category=FutureWarning, module="pgmpy")  # about its own later versions
    places = Places.in_repository() if out is None else Places.under(out)
    progress = Progress(not chosen.quiet)
    for experiment in progress.over(experiments, "experiments"):
        perform(experiment, "small" if chosen.small else "full", places, progress)
        write_page(places)
    say(f"wrote {places.page}")


if __name__ == "__main__":
    main()
