"""The file format of ``AsymmetricExplainer.save``.

shap reads a pickled class first and hands the stream to that class's ``load``; so a file written here opens through
``shap.Explainer.load`` too. What follows the class is one pickled dict: a name, a version, the versions of Python and
of the packages, the constructor's arguments as the bytes of a cloudpickle, and a digest of these bytes. The digest is
looked at before they are unpickled, so that a damaged file is an error and not another model. A model or a masker that
the user's own saver writes is kept apart, as the bytes that it wrote, and read by the user's own loader.

Like every pickle, such a file can run code when it is loaded: load only files you trust. The digest is not a signature;
it tells accidents, not attacks.
"""

import io
import pickle
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import cloudpickle

from shap_asv.errors import ArgumentError, PersistenceError

FORMAT = "shap_asv.AsymmetricExplainer"
VERSION = 5
_PACKAGES = ("shap-asv", "shap", "numpy", "pandas", "scikit-learn", "pgmpy")
# What cloudpickle writes where a function is stored with its code, because it cannot be imported.
_CODE_BY_VALUE = b"_make_function"
# What follows the class, beside its format.
_BLOCK = {"version": int, "versions": dict, "digest": str, "content": bytes}
#: Words for ``model_saver`` and ``masker_saver`` that shap knows: what they ask for is done here in any case.
_WORDS = (None, True, "auto", ".save")


@dataclass(frozen=True)
class NamedLink:
    """A link function of shap by its name; itself it would be pickled with code that fits one version of Python."""

    name: str


def save_explainer(out_file: Any, cls: type, arguments: dict[str, Any], stored: Any, **savers: Any) -> None:
    """Write the class, then the constructor's arguments, to a path or a binary stream.

    ``stored`` goes into the file in place of the masker. ``model=`` and ``masker=`` are the savers of shap; nothing at
    all is written if something cannot be pickled.
    """
    if isinstance(out_file, (str, Path)):
        with open(out_file, "wb") as stream:
            save_explainer(stream, cls, arguments, stored, **savers)
        return
    if isinstance(out_file, io.TextIOBase) or not hasattr(out_file, "write"):
        raise PersistenceError(f"out_file must be a path or a binary stream, not a {type(out_file).__name__}")
    if callable(savers["masker"]):
        _check_types(arguments["masker"], stored)
    own = {name: saver for name, saver in savers.items() if _is_own(name, saver)}
    apart = {name: _write_apart(name, saver, arguments[name]) for name, saver in own.items()}
    kept = {name: value for name, value in {**arguments, "masker": stored}.items() if name not in apart}
    try:
        content = cloudpickle.dumps({**kept, "link": _name_link(arguments["link"])})
        head = pickle.dumps(cls)
    except Exception as error:
        raise PersistenceError(f"the explainer cannot be pickled: {type(error).__name__}: {error}") from error
    block = {
        "format": FORMAT,
        "version": VERSION,
        "versions": _versions(),
        "digest": _digest(content, apart),
        "content": content,
        **({"apart": apart} if apart else {}),
    }
    out_file.write(head)
    out_file.write(pickle.dumps(block))


def load_explainer(in_file: Any, cls: type, instantiate: bool, **loaders: Any) -> Any:
    """Read an explainer from a path or a binary stream; its arguments alone where ``instantiate`` is False.

    ``shap.Explainer.load`` reads the class and calls the constructor itself.
    """
    if isinstance(in_file, (str, Path)):
        with open(in_file, "rb") as stream:
            return load_explainer(stream, cls, instantiate, **loaders)
    found = _read_class(in_file, cls) if instantiate else None
    arguments = _read_arguments(in_file, **loaders)
    return arguments if found is None else found(**arguments)


def _read_class(stream: BinaryIO, expected: type) -> type:
    """The class at the head of the file: ``expected`` or a subclass."""
    try:
        cls = pickle.load(stream)
    except Exception as error:
        raise PersistenceError(f"this is not a saved explainer ({type(error).__name__}: {error})") from error
    if not isinstance(cls, type) or not issubclass(cls, expected):
        raise PersistenceError(f"the file holds {cls!r:.200}, not {expected.__name__}")
    return cls


def _read_arguments(stream: BinaryIO, **loaders: Any) -> dict[str, Any]:
    """The constructor's arguments, which follow the class. ``loaders`` read what savers wrote."""
    try:
        block = pickle.load(stream)
    except Exception as error:
        raise PersistenceError(f"the file is truncated or damaged ({error}); save the explainer again") from error
    if not isinstance(block, dict) or block.get("format") != FORMAT:
        raise PersistenceError(
            "the file does not hold an AsymmetricExplainer; was it written by another explainer's save?"
        )
    if not all(isinstance(block.get(key), kind) for key, kind in _BLOCK.items()) or "Python" not in block["versions"]:
        raise PersistenceError("the file is damaged: parts of it are missing; save the explainer again")
    if block["version"] != VERSION:
        newer = "install a newer shap_asv" if block["version"] > VERSION else "save the explainer again"
        raise PersistenceError(f"the file has version {block['version']}, this shap_asv reads {VERSION}; {newer}")
    content, apart = block["content"], block.get("apart", {})
    if _digest(content, apart) != block["digest"]:
        raise PersistenceError("the file is damaged: its digest does not fit its content; save the explainer again")
    written, here = block["versions"], _versions()
    _check_code(content, written["Python"], here["Python"])
    try:
        arguments = pickle.loads(content)
    except Exception as error:
        changed = ", ".join(f"{name} {written[name]} (here {here.get(name)})" for name in written) or "unknown versions"
        raise PersistenceError(
            f"the model or the background cannot be read back: {type(error).__name__}: {error}; written with "
            f"{changed}; where versions differ, save the explainer again with those of here"
        ) from error
    asked = {name: loader for name, loader in loaders.items() if loader is not None or name in apart}
    own = {name: _read_apart(name, loader, apart.get(name)) for name, loader in asked.items()}
    return {**arguments, **own, "link": _find_link(arguments["link"])}


# --- what a saver of the user writes: the model or the masker ---------------------------------------------------------


def _is_own(name: str, saver: Any) -> bool:
    """Whether the thing is kept apart: written by a function of (thing, stream), or not at all (False)."""
    if not callable(saver) and saver not in (*_WORDS, False):
        raise ArgumentError(f"{name}_saver={saver!r:.80} is not known; pass a function of ({name}, stream)")
    return callable(saver) or saver is False


def _check_types(masker: Any, stored: Any) -> None:
    """Raise where shap's masker has lost types of a DataFrame's columns: a saver of it could not bring them back."""
    for name, dtype in getattr(stored, "dtypes", {}).items():
        if dtype != masker.data.dtype:
            raise PersistenceError(
                f"column {name!r} of the background is of type {dtype}, which shap's masker does not keep; leave "
                "masker_saver= out"
            )


def _write_apart(name: str, saver: Any, thing: Any) -> bytes:
    """What the saver writes; nothing where it is False, and the loader supplies the thing."""
    buffer = io.BytesIO()
    try:
        if saver is not False:
            saver(thing, buffer)
        return buffer.getvalue()
    except Exception as error:
        raise PersistenceError(f"{name}_saver= raised {type(error).__name__}: {error}") from error


def _read_apart(name: str, loader: Any, written: bytes | None) -> Any:
    if written is None:
        raise PersistenceError(
            f"{name}_loader= has nothing to read: the file was saved without {name}_saver=; leave {name}_loader= out"
        )
    if not callable(loader):
        raise PersistenceError(
            f"the {name} was written by a {name}_saver= of its own; pass {name}_loader=, a function of the stream"
        )
    try:
        return loader(io.BytesIO(written))
    except Exception as error:
        raise PersistenceError(f"{name}_loader= raised {type(error).__name__}: {error}") from error


# --- versions, links, digests ----------------------------------------------------------------------------------------


def _check_code(content: bytes, written: str, here: str) -> None:
    """Code objects of another Python may crash the interpreter when they run; refuse them before."""
    if written.split(".")[:2] != here.split(".")[:2] and _CODE_BY_VALUE in content:
        raise PersistenceError(
            f"the file holds functions with the code of Python {written}, this is Python {here}; define the model in a "
            "module that can be imported in both, or save the explainer again here"
        )


def _name_link(link: Any) -> Any:
    from shap import links

    name = getattr(link, "__name__", "")
    known = getattr(links, name, None) if getattr(link, "__module__", "") == "shap.links" else None
    return link if known is None else NamedLink(name)


def _find_link(link: Any) -> Any:
    from shap import links

    return getattr(links, link.name) if isinstance(link, NamedLink) else link


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _digest(content: bytes, apart: Mapping[str, bytes]) -> str:
    digest = blake2b(content, digest_size=16)
    for name in sorted(apart):
        digest.update(f"{name}: {len(apart[name])}".encode() + apart[name])
    return digest.hexdigest()
