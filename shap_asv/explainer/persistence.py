"""The file format of ``AsymmetricExplainer.save``.

shap reads a pickled class first and hands the stream to that class's ``load``; so a file written here opens through
``shap.Explainer.load`` too. What follows the class is one cloudpickle of a dict with a name and a version. Like every
pickle, such a file can run code when it is loaded: load only files you trust.
"""

import pickle
from typing import Any, BinaryIO

import cloudpickle

from shap_asv.errors import PersistenceError

FORMAT = "shap_asv.AsymmetricExplainer"
VERSION = 1


def write_arguments(stream: BinaryIO, cls: type, arguments: dict[str, Any]) -> None:
    """Write the class, then the constructor's arguments."""
    pickle.dump(cls, stream)
    cloudpickle.dump({"format": FORMAT, "version": VERSION, "arguments": arguments}, stream)


def read_arguments(stream: BinaryIO) -> dict[str, Any]:
    """Read the constructor's arguments; the class has been read already."""
    try:
        block = cloudpickle.load(stream)
    except (EOFError, pickle.UnpicklingError) as error:
        raise PersistenceError(f"the file is truncated or damaged ({error}); save the explainer again") from error
    if not isinstance(block, dict) or block.get("format") != FORMAT:
        raise PersistenceError(
            "the file does not hold an AsymmetricExplainer; was it written by another explainer's save?"
        )
    if block["version"] > VERSION:
        raise PersistenceError(
            f"the file has version {block['version']}, this shap_asv reads up to {VERSION}; install a newer shap_asv"
        )
    return dict(block["arguments"])


def read_class(stream: BinaryIO, expected: type) -> type:
    """Read the class at the head of the file and check that it is ``expected`` or a subclass."""
    try:
        cls = pickle.load(stream)
    except Exception as error:
        raise PersistenceError(f"this is no saved explainer ({type(error).__name__}: {error})") from error
    if not isinstance(cls, type) or not issubclass(cls, expected):
        raise PersistenceError(f"the file holds {cls!r}, not {expected.__name__}")
    return cls
