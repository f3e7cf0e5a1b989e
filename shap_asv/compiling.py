"""Who is told while kernels are compiled. Importing this module does not import numba.

The first use of a kernel on a machine compiles it, which takes seconds; afterwards it is read from disk. ``kernels``
tells the start and the end of each compilation to every listener: a progress bar, or a line on the screen.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: For the screen.
COMPILING = "compiling, once on this machine; later processes read it from disk"
#: Told True when a compilation begins and False when it is over. Compilations are nested.
Listener = Callable[[bool], None]

_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` before and after each compilation of a kernel, in whichever thread it happens.

    Threads that need the same kernel wait for each other, so that one's compilation is everybody's.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append):
    ...     tell(True)
    ...     tell(False)
    >>> tell(True)
    >>> heard
    [True, False]
    """
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell(begins: bool) -> None:
    """A compilation begins; False: it is over."""
    for listener in tuple(_LISTENERS):
        listener(begins)
