"""Compiled functions, kept on disk under everything they contain. Importing this module imports numba.

numba keeps compiled code on disk and takes it back as long as the file of the function is the same. But compiled code
contains what the function calls as well, and that may stand in other files: after a change there, the old code would go
on being used, in tests and after an upgrade of the package. So the stamp of a kernel covers the source of its own
module and of all modules of the package that this one imports, directly or not.

The first use of a kernel on a machine compiles it, which takes seconds: :func:`listening` tells a progress bar, or a
line on the screen.
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from linecache import getlines
from typing import Any

import numba
from numba import extending
from numba.core import event
from numba.core.runtime import rtsys

#: For the screen.
COMPILING = "compiling, once on this machine; later processes read it from disk"

# Absolute imports at the top of a module: the module, and the names taken from it, which may be modules themselves.
_IMPORT = re.compile(r"^(?:from|import) (shap_asv[\w.]*)(?: import (\([^)]*\)|.*))?", re.MULTILINE)


@extending.intrinsic
def count_bits(typing: Any, word: Any) -> Any:
    """Bits that are set in an unsigned integer, inside kernels: one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit(nogil=True, cache=True)``, cached under the source of all that is compiled; with or without options.

    A kernel whose name begins with an underscore is a part of those that call it: Python cannot call it, and it is not
    kept on disk by itself.

    Parameters
    ----------
    function : callable
    **options
        Further options of ``numba.njit``.

    Examples
    --------
    >>> from shap_asv.kernels import kernel
    >>> @kernel(cache=False)
    ... def add(a, b):
    ...     return a + b
    >>> add(1, 2)
    3
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    # without the entry for other languages, which takes as long to compile as Python's own, and without Python's where
    # other kernels alone call it
    inner = function.__name__.startswith("_")
    options = {"nogil": True, "cache": not inner, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner, **options}
    compiled = numba.njit(**options)(function)
    if options["cache"] and not numba.config.DISABLE_JIT:
        index = compiled._cache._cache_file
        index._load_index = partial(_known_index, index._load_index)
        index._source_stamp = (index._source_stamp, digest_sources(function.__module__))
        compiled._cache.load_overload = partial(_load_without_compiler, compiled._cache)
    return compiled


def _known_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What is on disk for a kernel; nothing where it was written by a version whose modules have gone.

    An upgrade leaves the files of numba where they are, and numba would fail at the types of arguments in them.
    """
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


def _load_without_compiler(kept: Any, signature: Any, context: Any) -> Any:
    """What is on disk for a signature, ready to be called; None where nothing is.

    numba's own ``load_overload`` gets its compiler ready first, a quarter of a second in a fresh process, where a small
    problem takes a tenth. Code from the disk needs the runtime alone; a compiler that is needed gets itself ready.
    """
    rtsys.initialize(context)
    with kept._guard_against_spurious_io_errors():
        return kept._load_overload(signature, context)


@cache
def digest_sources(module: str) -> str:
    """SHA-256 of the source of a module, and of the modules of the package that it imports, directly or not.

    Examples
    --------
    >>> len(digest_sources("shap_asv.kernels"))
    64
    """
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources or name not in sys.modules:
            continue
        found = sys.modules[name]
        sources[name] = "".join(getlines(str(found.__file__), vars(found)))  # from an archive, too
        for base, names in _IMPORT.findall(sources[name]):
            waiting += [base, *(f"{base}.{taken}" for taken in re.findall(r"\w+", names))]
    return hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()


@contextmanager
def listening(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call ``tell(True)`` before each compilation of a kernel of this package and ``tell(False)`` after it.

    Compilations are nested, and may happen in any thread; threads that need the same kernel wait for each other.
    """
    with event.install_listener("numba:compile", _Listener(tell)):
        yield


class _Listener(event.Listener):
    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell

    def on_start(self, heard: Any) -> None:
        self._hear(heard, True)

    def on_end(self, heard: Any) -> None:
        self._hear(heard, False)

    def _hear(self, heard: Any, begins: bool) -> None:
        # functions made by exec may have no module
        if (heard.data["dispatcher"].py_func.__module__ or "").partition(".")[0] == __package__:
            self._tell(begins)
