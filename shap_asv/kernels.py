"""Compiled functions, kept on disk under everything they contain. Importing this module imports numba.

numba keeps compiled code on disk and takes it back as long as the file of the function is the same. But compiled code
contains what the function calls as well, and that may stand in other files: after a change there, the old code would go
on being used, by whoever tests the change and by whoever upgrades the package. So the stamp of a kernel covers the
source of its own module and of all modules of the package that this one imports, directly or not.
"""

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from linecache import getlines
from typing import Any

import numba

# Absolute imports at the top of a module: the module, and the names taken from it, which may be modules themselves.
_IMPORT = re.compile(r"^(?:from|import) (shap_asv[\w.]*)(?: import (\([^)]*\)|.*))?", re.MULTILINE)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit(nogil=True, cache=True)``, cached under the source of all that is compiled; with or without options.

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
    options = {"nogil": True, "cache": True, **options}
    compiled = numba.njit(**options)(function)
    if options["cache"] and not numba.config.DISABLE_JIT:
        index = compiled._cache._cache_file
        index._source_stamp = (index._source_stamp, digest_sources(function.__module__))
    return compiled


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
