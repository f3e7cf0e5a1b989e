"""Compiled functions, kept on disk under everything they contain. Importing this module imports numba.

numba keeps compiled code on disk and takes it back as long as the file of the function is the same. But compiled code
contains what the function calls as well, and that may stand in other files: after a change there, the old code would go
on being used, by whoever tests the change and by whoever upgrades the package. So the stamp of a kernel covers the
source of its own module and of all modules of the package that this one imports, directly or not.

Compiling takes seconds: listeners (:mod:`shap_asv.compiling`) are told when it begins and ends.
"""

import gc
import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from linecache import getlines
from typing import Any

import numba
from numba import extending
from numba.core import cgutils, event
from numba.core.runtime import rtsys

from shap_asv.compiling import tell

# Absolute imports at the top of a module: the module, and the names taken from it, which may be modules themselves.
_IMPORT = re.compile(r"^(?:from|import) (shap_asv[\w.]*)(?: import (\([^)]*\)|.*))?", re.MULTILINE)

_WRONG_TYPES = "a kernel is called apart with arguments of types that it was not compiled for"


@extending.intrinsic
def count_bits(typing: Any, word: Any) -> Any:
    """Bits that are set in an unsigned integer, inside kernels: one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


@extending.intrinsic
def _call_apart(typing: Any, address: Any, arguments: Any) -> Any:
    """Call a kernel that returns nothing, by its :func:`address_of`, with a tuple of arguments.

    A kernel that is called by its name becomes a part of its caller, and is optimised there all over again. One that is
    called by its address is compiled once.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention = context.call_conv
        where, known = cgutils.unpack_tuple(builder, values[0], 2)
        expected = context.get_constant(numba.types.int64, _digest_types(tuple(arguments)))
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", known, expected)):
            convention.return_user_exc(builder, TypeError, (_WRONG_TYPES,))
        kind = convention.get_function_type(numba.types.none, tuple(arguments))
        callee = builder.inttoptr(where, kind.as_pointer())
        given = cgutils.unpack_tuple(builder, values[1], len(arguments))
        status, _ = convention.call_function(builder, callee, numba.types.none, tuple(arguments), given)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return numba.types.none(address, arguments), generate


def _call_plainly(function: Any, arguments: Any) -> None:
    function(*arguments)


#: Inside kernels: ``call_apart(address, arguments)``, see above; with NUMBA_DISABLE_JIT a kernel is its own address.
call_apart = _call_plainly if numba.config.DISABLE_JIT else _call_apart


def address_of(compiled: Any, *arguments: Any) -> Any:
    """Where a kernel for arguments like these is, and a number that tells their types; compiled here if need be.

    Examples
    --------
    >>> import numpy as np
    >>> @kernel(cache=False)
    ... def double(row):
    ...     row *= 2
    >>> @kernel(cache=False)
    ... def twice(address, row):
    ...     call_apart(address, (row,))
    ...     call_apart(address, (row,))
    >>> row = np.ones(3)
    >>> twice(address_of(double, row), row)
    >>> row
    array([4., 4., 4.])
    """
    if numba.config.DISABLE_JIT:
        return compiled
    types = tuple(map(numba.typeof, arguments))
    compiled.compile(types)
    found = compiled.overloads[types]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name), _digest_types(types)


def _digest_types(types: tuple[Any, ...]) -> int:
    return int.from_bytes(hashlib.sha256(repr(types).encode()).digest()[:7])


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
    # without the entry for other languages, which nobody asks for and which takes as long to compile as Python's own
    inner = function.__name__.startswith("_")  # nor Python's, where other kernels alone call it
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

    numba's own ``load_overload`` gets its compiler ready first, a quarter of a second in a fresh process, half of what
    a small problem takes. Code from the disk needs the runtime alone; a compiler that is needed gets itself ready.
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


def _is_ours(function: Any) -> bool:
    """Functions made by ``exec`` may have no module."""
    return (function.__module__ or "").partition(".")[0] == __package__


class _Teller(event.Listener):
    """Hears of every compilation of numba, and passes on those of this package.

    Meanwhile no garbage is collected: the compiler makes little of it, but so many objects that Python would look
    through all of memory again and again, a tenth of the time.
    """

    def __init__(self) -> None:
        self.collects: list[bool] = []  # whether garbage was collected before, per compilation under way: they nest

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if _is_ours(function):
            self.collects.append(gc.isenabled())
            gc.disable()
            tell(True)

    def on_end(self, event: Any) -> None:
        if _is_ours(event.data["dispatcher"].py_func):
            if self.collects.pop():
                gc.enable()
            tell(False)


event.register("numba:compile", _Teller())
