"""The package in other environments than this one: ``python -m tests.reliability.compatibility``.

- the built wheel and the built sdist, each installed into an environment of its own, explain a model (``smoke.py``)
  outside of the source tree;
- the whole test suite, with the oldest version of every dependency that ``pyproject.toml`` declares, and with the
  newest that pip finds, for each of the newest Pythons;
- the time that ``import shap_asv`` takes beside ``import shap``, and that pgmpy waits for a network.

Everything happens in a copy of the committed tree. About three quarters of an hour.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

from tests.reliability.declared import ROOT, extras, listed, suite_bounds
from tests.reliability.records import Figure, Record, keep

PARTS = ("packages", "oldest", "newest", "imports")
DECLARED = "declared lower bounds"
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
ROUNDS = 9
IMPORTS = {
    "import shap": "import shap",
    "import shap_asv": "import shap_asv",
    "import shap, shap_asv": "import shap, shap_asv",
    "the explainer class, which needs shap": "from shap_asv import AsymmetricExplainer",
}
SLOWEST = 1.25  # of import shap, for what imports shap
MATRIX = """
import sys
import numpy as np
from shap_asv import AsymmetricExplainer
matrix = np.random.default_rng(0).normal(size=(30, 3))
values = AsymmetricExplainer(lambda X: X[:, 0] * X[:, 1], matrix)(matrix[:1]).values
assert values.shape == (1, 3)
print("pgmpy" in sys.modules)
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment below the working folder."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / ("Scripts" if os.name == "nt" else "bin") / "python")

    @classmethod
    def make(cls, python: str, folder: Path) -> "Environment":
        shutil.rmtree(folder, ignore_errors=True)
        run([python, "-m", "venv", str(folder)])
        return cls(folder)

    def install(self, *arguments: str) -> None:
        run([self.python, *PIP, "install", *arguments])

    def ask(self, code: str, cwd: Path) -> str:
        """What a fresh process prints; it sees nothing but what is installed."""
        return run([self.python, "-I", "-c", code], cwd=cwd).stdout.strip()

    def versions(self) -> dict[str, str]:
        found = json.loads(run([self.python, "-m", "pip", "list", "--format=json"]).stdout)
        return {entry["name"].lower(): entry["version"] for entry in found}


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run to the end; the output of what failed is the message."""
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def copy_tree(folder: Path) -> tuple[Path, str]:
    """The committed tree, and the commit's short name."""
    target = folder / "source"
    shutil.rmtree(target, ignore_errors=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    return target, run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT).stdout.strip()


def try_packages(python: str, source: Path, folder: Path) -> list[Figure]:
    """Build sdist and wheel, install each into a clean environment, explain a model with it."""
    builder = Environment.make(python, folder / "builder")
    builder.install("build")
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    run([builder.python, "-m", "build", "--outdir", str(packages), str(source)])
    figures = []
    away = folder / "away"
    away.mkdir(exist_ok=True)
    for kind, pattern in (("wheel", "*.whl"), ("sdist", "*.tar.gz")):
        (package,) = packages.glob(pattern)
        environment = Environment.make(python, folder / kind)
        environment.install(str(package))
        home = environment.ask((ROOT / "tests" / "reliability" / "smoke.py").read_text(), away)
        figures.append(
            Figure(
                f"pip install of the {kind} into a clean environment",
                f"{package.name} ({package.stat().st_size / 1024:.0f} KiB) explains a tree over a network",
                "works outside of the source tree",
                str(environment.folder) in home,
            )
        )
    return figures


def try_suite(name: str, python: str, source: Path, folder: Path, constraints: list[str], workers: int) -> list[Figure]:
    """The whole test suite in an environment of its own."""
    # the tests compare the declared bounds with the record of the run that tries them, which is this one
    declared = Figure(DECLARED, listed(suite_bounds(source)))
    keep(Record("compatibility", "", "make compatibility", [declared]), source)
    environment = Environment.make(python, folder / "environment")
    file = folder / f"{name}.txt"
    file.write_text("\n".join(constraints) + "\n")
    wanted = f"{source}[{','.join(extras(source))}]"
    environment.install("--only-binary", ":all:", "--constraint", str(file), "--editable", wanted)
    report = folder / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [environment.python, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider"]
    # one thread a worker, as in ``make test``
    alone = os.environ | {"OMP_NUM_THREADS": "1"}
    with open(folder / f"{name}.log", "w") as log:
        subprocess.run([*command, f"--junitxml={report}"], cwd=source, env=alone, stdout=log, stderr=subprocess.STDOUT)
    return judge_suite(name, environment, report, source)


def judge_suite(name: str, environment: Environment, report: Path, source: Path) -> list[Figure]:
    """What the report of a finished run says, with the versions that were installed."""
    suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
    counts = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    bad = counts["failures"] + counts["errors"]
    passed = counts["tests"] - bad - counts["skipped"]
    failed = [case.get("name", "") for case in suite.iter("testcase") if {"failure", "error"} & {c.tag for c in case}]
    failed_names = f" ({', '.join(failed[:5])})" if failed else ""
    found = environment.versions()
    versions = {package: found[package.lower()] for package in suite_bounds(source)}
    release = environment.ask("import platform; print(platform.python_version())", report.parent)
    return [
        Figure(
            f"test suite on Python {release}, {name} versions",
            f"{passed:,} passed, {bad} failed{failed_names}, "
            f"{counts['skipped']} skipped, {float(suite.get('time', 0)) / 60:.0f} min",
            "all pass",
            bad == 0 and passed > 0,
        ),
        Figure(f"{name} versions on Python {release}", listed(versions)),
    ]


def time_imports(environment: Environment, away: Path) -> list[Figure]:
    """CPU seconds of fresh processes, taken in turns; the median of each."""
    seconds: dict[str, list[float]] = {what: [] for what in IMPORTS}
    for round_ in range(ROUNDS):
        turns = list(IMPORTS)
        for what in turns[round_ % len(turns) :] + turns[: round_ % len(turns)]:  # none always follows the same one
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            environment.ask(IMPORTS[what], away)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[what].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    median = {what: statistics.median(taken) for what, taken in seconds.items()}
    alone = median["import shap"]
    figures = [judge_import(what, taken, alone) for what, taken in median.items()]
    heavy = environment.ask("import sys, shap_asv; print('pgmpy' in sys.modules or 'shap' in sys.modules)", away)
    figures.append(Figure("import shap_asv imports shap or pgmpy", heavy, "False", heavy == "False"))
    heavy = environment.ask(MATRIX, away)
    figures.append(Figure("explaining a row over a matrix imports pgmpy", heavy, "False", heavy == "False"))
    return figures


def judge_import(what: str, seconds: float, alone: float) -> Figure:
    """CPU seconds beside those of ``import shap``; asked of what does more than that."""
    value = f"{seconds:.2f} s, {seconds / alone:.2f} of import shap"
    if what in ("import shap", "import shap_asv"):
        return Figure(what, value)
    return Figure(what, value, f"at most {SLOWEST} of import shap", seconds <= SLOWEST * alone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oldest-python", default="python3.11")
    parser.add_argument("--newest-python", nargs="+", default=["python3.12", "python3.13"])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "compatibility")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, help="the others are taken from their last run"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    if hasattr(os, "nice"):
        os.nice(10)
    for part in options.only:
        home = folder / part
        home.mkdir(parents=True, exist_ok=True)
        source, commit = copy_tree(home)
        bounds = suite_bounds(source)
        if part == "packages":
            figures = try_packages(options.newest_python[-1], source, home)
        elif part == "oldest":
            constraints = [f"{package}=={version}" for package, version in bounds.items()]
            figures = [Figure(DECLARED, listed(bounds))]
            figures += try_suite(part, options.oldest_python, source, home, constraints, options.workers)
        elif part == "newest":
            figures = []
            for number, python in enumerate(options.newest_python):
                place = home / str(number)
                place.mkdir(exist_ok=True)
                figures += try_suite(part, python, source, place, [], options.workers)
        else:
            figures = time_imports(Environment(folder / "packages" / "wheel"), home)
        for figure in figures:
            print(f"{figure.what}: {figure.value}", flush=True)
        result = {"commit": commit, "figures": [asdict(figure) for figure in figures]}
        (home / "result.json").write_text(json.dumps(result))
    results = {part: folder / part / "result.json" for part in PARTS}
    missing = [part for part, file in results.items() if not file.exists()]
    if missing:
        sys.exit(f"no record is kept before {' and '.join(missing)} have run")
    record = record_of({part: json.loads(file.read_text()) for part, file in results.items()})
    sys.exit(keep(record))


def record_of(results: dict[str, dict]) -> Record:
    """All parts as one record."""
    figures = [Figure(**figure) for result in results.values() for figure in result["figures"]]
    commits = ", ".join(f"{part} {result['commit']}" for part, result in results.items())
    notes = [
        "The oldest versions are installed by pip from constraints made of pyproject.toml; packages that are not "
        "declared there are the newest that fit.",
        f"Imports: CPU seconds of fresh processes, median of {ROUNDS}, taken in turns, newest versions, bytecode and "
        "file caches warm.",
        f"Taken at the commits: {commits}.",
    ]
    return Record("compatibility", "Compatibility", "make compatibility", figures, notes)


if __name__ == "__main__":
    main()
