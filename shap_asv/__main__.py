"""``python -m shap_asv``: explain a decision tree over a Bayesian network by SHAP and by ASV."""

import argparse
import sys
from pathlib import Path

DESCRIPTION = """\
Draw data from a Bayesian network, train a decision tree on it, and explain the tree by SHAP and by asymmetric
Shapley values (ASV): prints both side by side, writes plots and an index.html."""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m shap_asv", description=DESCRIPTION)
    add = parser.add_argument
    add("--network", default="cancer", help="a bundled network (cancer, asia, child, insurance, ...) or a .bif file")
    add("--target", help="the node to predict (by default a telling one, else the last)")
    add("--state", help="the state of the target whose probability is explained")
    add("--data", metavar="CSV", help="rows to train on and explain, a column for each node (by default drawn)")
    add("--rows", type=int, default=300, help="rows to explain (default: %(default)s)")
    add("--depth", type=int, default=5, help="depth of the decision tree (default: %(default)s)")
    add("--algorithm", default="auto", help="auto, exact, sampling, or a backend by name (default: %(default)s)")
    add("--seed", type=int, default=0, help="of data, model and sampling (default: %(default)s)")
    add("--out", type=Path, default=Path("demo"), help="folder for plots and index.html (default: %(default)s)")
    options = parser.parse_args(arguments)
    for name in ("rows", "depth"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    from shap_asv import demo
    from shap_asv.errors import ShapAsvError

    asked = {name: value for name, value in vars(options).items() if name != "out"}
    try:
        outcome = demo.run(demo.Request(**asked))
        print(demo.report(outcome))
        written = demo.write_page(outcome, options.out)
    except (ShapAsvError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(f"\nwritten to {options.out}: {', '.join(path.name for path in written)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
