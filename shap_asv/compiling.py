"""Who is told while kernels are compiled. Importing this module does not import numba.

The first use of a kernel on a machine compiles it, which takes seconds; afterwards it is read from disk. Nobody should
wait for that without a word. ``kernels`` tells :data:`start` and :data:`end` of each compilation to whoever listens
here: a progress bar, or a line on the screen.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Told the seconds that a compilation is about to take, or None when it is over. Compilations are nested.
Listener = Callable[[float | None], None]

_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` before and after each compilation of a kernel, in whichever thread it happens.

    Threads that need the same kernel wait for each other, so that one's compilation is everybody's.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append):
    ...     tell(2.0)
    ...     tell(None)
    >>> tell(3.0)
    >>> heard
    [2.0, None]
    """
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell(seconds: float | None) -> None:
    """A compilation of about so many seconds begins; None: it is over."""
    for listener in tuple(_LISTENERS):
        listener(seconds)


def seconds_to_compile(names: tuple[str, ...]) -> float:
    """About how long compiling those of the kernels will take that are not on disk yet; 0 for none. Imports numba.

    ``names`` are ``"module:function"``.

    Examples
    --------
    >>> seconds_to_compile(())
    0.0
    """
    if not names:
        return 0.0
    from shap_asv.kernels import compile_time

    return compile_time(names)


def compiling_text(seconds: float) -> str:
    """For the screen and for the plan.

    Examples
    --------
    >>> compiling_text(6.2)
    'compiling, once on this machine, about 6 s'
    """
    return f"compiling, once on this machine, about {max(1, round(seconds))} s"
