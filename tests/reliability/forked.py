"""pytest in children of a process that has imported the libraries, but nothing of the package: seconds saved each time.

``Forked(folder, environment)`` starts that process in a copy of the tree; ``run(tests, seconds)`` forks a child of it,
which imports the package as it is then. Needs ``os.fork``. ``judge`` does so with a file that is broken meanwhile.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: What most tests import; one that is not installed is left out. No plugin of pytest: it wants to import these itself.
LIBRARIES = ("shap", "sklearn.ensemble", "sklearn.pipeline", "pandas", "numba", "networkx", "scipy.stats", "pytest")
LIBRARIES += ("pgmpy.models", "xgboost", "lightgbm", "matplotlib.pyplot", "joblib", "cloudpickle")
TOO_LONG = -1
CAUGHT, SURVIVES = "caught", "survives"
FAILED = "failed: "  # and the id of the test, which may hold blanks


class Forked:
    """A process that waits for tests to run; ``with Forked(...) as forked``."""

    def __init__(self, folder: Path, environment: dict[str, str], libraries: Sequence[str] = LIBRARIES) -> None:
        self._sound: set[str] = set()  # tests that were seen to pass while nothing is broken
        command = [sys.executable, "-W", "ignore", "-m", "tests.reliability.forked", *libraries]
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, tests: list[str], seconds: float) -> tuple[int, str]:
        """pytest's exit code (:data:`TOO_LONG` after so many seconds of the clock), and what it said."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"tests": tests, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("the process that runs the tests is gone")
        found = json.loads(answer)
        return found["code"], found["said"]

    def judge(self, path: Path, broken: str, stages: list[list[str]], seconds: float) -> str:
        """What happens while the file holds ``broken``: who notices, or that nobody does. It is whole again afterwards.

        A test that fails has to pass without that; this is asked once for each test.
        """
        source, stamp = path.read_text(), path.stat().st_mtime_ns
        end = time.monotonic() + seconds
        try:
            path.write_text(broken)
            for tests in stages:
                left = end - time.monotonic()
                code, said = self.run(tests, left) if left > 0 else (TOO_LONG, "")
                if code == TOO_LONG:
                    return f"undecided after {seconds:.0f} s"
                if code:
                    break
            else:
                return SURVIVES
        finally:
            path.write_text(source)
            os.utime(path, ns=(stamp, stamp))  # what was compiled before is good again
        failed = [line.removeprefix(FAILED) for line in said.splitlines() if line.startswith(FAILED)]
        asked, how = failed[:1] or tests, "the process dies" if code < 0 else "nothing can be imported"
        if asked[0] not in self._sound:
            code, said = self.run(asked, seconds)
            if code:
                raise SystemExit(f"{' '.join(asked)} fails without any mutant:\n{said}")
            self._sound.add(asked[0])
        return f"{CAUGHT}: {failed[0] if failed else how}"

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve() -> None:
    """Fork a child for each line of the standard input, and answer with what became of it."""
    import importlib

    for name in sys.argv[1:]:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    loaded = [name for name in sys.modules if name.split(".")[0] == "shap_asv"]
    assert not loaded, f"the package is imported before it is changed: {loaded}"
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryFile("w+") as said:
            code = _fork(asked["tests"], asked["seconds"], said.fileno())
            said.seek(0)
            text = said.read()
        print(json.dumps({"code": code, "said": text[-20_000:]}), flush=True)


class Watching:
    """A plugin of pytest: which tests fail, and which files cannot be collected."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed += [report.nodeid] if report.failed else []

    def pytest_collectreport(self, report: Any) -> None:
        self.failed += [report.nodeid] if report.failed else []


def _fork(tests: list[str], seconds: float, output: int) -> int:
    child = os.fork()
    if child == 0:
        os.setsid()  # what it starts is ended with it
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 99
        try:
            import pytest

            watching = Watching()
            options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
            code = int(pytest.main([*options, *tests], plugins=[watching]))
            print("".join(f"\n{FAILED}{test}" for test in watching.failed))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return TOO_LONG


if __name__ == "__main__":
    serve()
