"""What a leaf does not know falls into pieces: the value of a closed coalition as a product of small tables.

Let A be the ancestral closure of a term and T an ideal of A that is known. The rest A - T falls into pieces c that no
table of the network connects; each depends on its parents in T only:

    V_T(e) = prod over pieces c of A - T of  q_c(R; e_pa(c)),       R = the term's functions on c,
    q_c(R; s) = sum over x_v of P(x_v | s) g_v(x_v) * prod over pieces c' of c - v of q_c'(R; s, x_v)

for any v of c without parents in c. A piece is a set of nodes and nothing else: its tables are shared by all ideals,
closures and trees in which it is left over, and by all terms with the same functions on it. They know no row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backends.ancestral.completed import ClosedSet, bits_in, family_masks, masks_of
from shap_asv.backends.pace import Report
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.pieces.table_kernel import Remains

#: Entries of all tables together, up to which there are tables of pieces.
ENTRY_LIMIT = 2**23
# Terms that go into one compiled call, always the same, since they are added up before they are added to the rest.
_TERMS_AT_ONCE = 512


@dataclass(eq=False)
class _Piece:
    """Nodes, parents outside of them (the ``first`` of the builder fastest), and the distinct terms, numbered."""

    nodes: list[int]
    parents: list[int]
    columns: dict[tuple[int, ...], int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PieceLayout:
    """A closure over pieces: its terms, what remains of it at each ideal, and what hangs below it."""

    members: np.ndarray
    terms: np.ndarray
    remains: "Remains"
    parents: tuple[np.ndarray, ...]
    parent_classes: np.ndarray
    children: "tuple[PieceLayout, ...]"


@dataclass(frozen=True, eq=False)
class _Collected:
    """A closure; ideal p leaves the pieces (as bits) ``left[starts[p] : starts[p + 1]]``; the closures below."""

    closure: ClosedSet
    starts: np.ndarray
    left: np.ndarray
    below: "tuple[_Collected, ...]"


@dataclass(frozen=True, eq=False)
class PieceTables:
    """All tables end to end, and the closures that read them."""

    tables: np.ndarray
    roots: tuple[PieceLayout, ...]


class PieceBuilder:
    """Collects the pieces of all closures, then fills their tables. ``first``: nodes whose states go fastest."""

    def __init__(self, background: Terms, products: SumOfProducts, first: Sequence[int]) -> None:
        self.network: DiscreteNetwork = background.network
        self.families = family_masks(self.network)
        self.first = list(first)
        self.functions = np.zeros((products.n_terms, self.network.n_nodes), dtype=np.int64)
        self.functions[:, background.nodes] = products.terms
        self.vectors: dict[int, np.ndarray] = {
            int(node): products.vectors[v] for v, node in enumerate(background.nodes)
        }
        self.pieces: dict[int, _Piece] = {}
        self.size = 0.0

    def build(self, roots: Sequence[ClosedSet]) -> PieceTables | None:
        """None where the tables would be too large."""
        found = [self._collect(root) for root in roots]
        if self.size > ENTRY_LIMIT:
            return None
        starts = self._starts()
        return PieceTables(self._fill(starts), tuple(self._lay_out(one, starts) for one in found))

    def _collect(self, own: ClosedSet) -> _Collected:
        from shap_asv.backends.ancestral.completion_kernel import find_groups

        known = masks_of(_spread(own, self.network.n_nodes))
        inside = np.full(len(known), np.bitwise_or.reduce(np.int64(1) << own.members))
        place_starts, left, _ = find_groups(known, inside, self.families)
        functions = self.functions[own.terms]
        for mask in np.unique(left).tolist():
            if self.size <= ENTRY_LIMIT:
                self._register(mask, functions)
        return _Collected(own, place_starts, left, tuple(self._collect(child) for child in own.children))

    def _register(self, mask: int, functions: np.ndarray) -> None:
        """Make sure that a piece has a column for each of the terms (t, nodes)."""
        piece = self.pieces.get(mask)
        if piece is None:
            nodes = nodes_of(mask)
            around = 0
            for v in nodes:
                around |= int(self.families[v])
            outside = nodes_of(around & ~mask)
            ordered = [v for v in self.first if v in outside] + [v for v in outside if v not in self.first]
            piece = self.pieces[mask] = _Piece(nodes, ordered)
        new = set(map(tuple, functions[:, piece.nodes].tolist())) - piece.columns.keys()
        if new:
            for key in sorted(new):
                piece.columns[key] = len(piece.columns)
            self.size += len(new) * self._count_states(piece)
            whole = np.zeros((len(new), self.network.n_nodes), dtype=np.int64)
            whole[:, piece.nodes] = sorted(new)
            for below in self._without_root(mask)[1]:
                self._register(below, whole)

    def _without_root(self, mask: int) -> tuple[int, list[int]]:
        """A node of a piece without parents in it, and the pieces of the rest."""
        root = next(v for v in nodes_of(mask) if not self.families[v] & mask & ~(1 << v))
        return root, connected(mask & ~(1 << root), self.families)

    def _starts(self) -> dict[int, int]:
        """Where the table of each piece starts, a stretch per column; the end under 0."""
        starts, size = {}, 0
        for mask, piece in self.pieces.items():
            starts[mask] = size
            size += len(piece.columns) * int(self._count_states(piece))
        return starts | {0: size}

    def _count_states(self, piece: _Piece) -> float:
        return float(np.prod([self.network.cardinalities[v] for v in piece.parents], dtype=float))

    def _fill(self, starts: dict[int, int]) -> np.ndarray:
        cards = self.network.cardinalities
        tables = np.empty(starts[0])
        for mask in sorted(self.pieces, key=int.bit_count):
            piece = self.pieces[mask]
            root, rest = self._without_root(mask)
            keys = np.array(list(piece.columns), dtype=np.int64).reshape(len(piece.columns), -1)
            place = {v: i for i, v in enumerate(piece.nodes)}
            shape = [cards[v] for v in piece.parents]
            n_states = int(np.prod(shape, dtype=np.int64))
            states = np.unravel_index(np.arange(n_states), shape, order="F") if shape else ()
            codes = dict(zip(piece.parents, states, strict=True))
            below = []
            for other in rest:
                inner = self.pieces[other]
                columns = [inner.columns[key] for key in map(tuple, keys[:, [place[v] for v in inner.nodes]].tolist())]
                size = int(np.prod([cards[v] for v in inner.parents], dtype=np.int64))
                stretch = tables[starts[other] : starts[other] + size * len(inner.columns)].reshape(-1, size)
                below.append((inner, stretch, np.array(columns)))
            total = np.zeros((len(keys), n_states))
            vectors = self.vectors.get(root)
            for x in range(cards[root]):
                here = codes | {root: np.full(n_states, x)}
                share = self.network.tables[root][(x, *(here[p] for p in self.network.parents[root]))]
                part = np.repeat(np.broadcast_to(share, n_states)[None], len(keys), axis=0)
                if vectors is not None:
                    part *= vectors[keys[:, place[root]], x][:, None]
                for inner, stretch, taken in below:
                    at, stride = np.zeros(n_states, dtype=np.int64), 1
                    for v in inner.parents:
                        at += stride * here[v]
                        stride *= cards[v]
                    part *= stretch[taken][:, at]
                total += part
            tables[starts[mask] : starts[mask] + total.size] = total.reshape(-1)
        return tables

    def _lay_out(self, found: _Collected, starts: dict[int, int]) -> PieceLayout:
        from shap_asv.backends.ancestral.pieces.table_kernel import Remains

        own, cards = found.closure, np.array(self.network.cardinalities)
        masks, local = np.unique(found.left, return_inverse=True)
        functions = self.functions[own.terms]
        entries = np.empty((len(masks), len(own.terms)), dtype=np.uint64)
        parents = []
        for k, mask in enumerate(masks.tolist()):
            piece = self.pieces[mask]
            size = int(np.prod(cards[piece.parents], dtype=np.int64))
            columns = [piece.columns[key] for key in map(tuple, functions[:, piece.nodes].tolist())]
            entries[k] = starts[mask] + size * np.array(columns)
            parents.append(np.array(piece.parents, dtype=np.int64))
        latent = sum(1 << j for j, node in enumerate(own.members.tolist()) if node not in self.vectors)
        mixed = np.array([not self.vectors.keys() >= set(nodes.tolist()) for nodes in parents], dtype=bool)
        remains = Remains(own.places.held, found.starts, local.reshape(-1).astype(np.int64), entries, mixed, latent)
        children = tuple(self._lay_out(one, starts) for one in found.below)
        return PieceLayout(own.members, own.terms, remains, tuple(parents), own.parent_classes, children)


@dataclass(frozen=True, eq=False)
class PieceSums:
    """``sum over terms of coefficient * nu_term(J)`` for closed sets J, all nodes of which have codes."""

    products: SumOfProducts
    nodes: np.ndarray
    cards: np.ndarray
    pieces: PieceTables

    def add(self, codes: np.ndarray, copies: int, out: np.ndarray, report: Report) -> None:
        """Add to ``out`` (rows, sets, copies, k) for codes (rows * copies, nodes); copies differ in latent nodes."""
        done = 0
        for root in self.pieces.roots:
            done += self._add(root, codes, copies, out)
            report(done / max(1, self.products.n_terms))

    def _add(self, own: PieceLayout, codes: np.ndarray, copies: int, out: np.ndarray) -> int:
        from shap_asv.backends.ancestral.pieces.table_kernel import Met, add_pieces
        from shap_asv.backends.ancestral.value_kernel import add_classes

        products, n_rows = self.products, len(codes) // copies
        here = np.zeros((n_rows, len(own.remains.held), copies, products.n_outputs))
        done = len(own.terms)
        for child in own.children:
            done += self._add(child, codes, copies, here)
        dead = np.zeros((n_rows, len(own.terms)), dtype=np.int64)
        feature_of = {int(node): v for v, node in enumerate(self.nodes)}
        for j, node in enumerate(own.members.tolist()):
            v = feature_of.get(node)
            if v is not None:
                fails = products.vectors[v].T[codes[::copies, node]] == 0
                dead |= fails[:, products.terms[own.terms, v]].astype(np.int64) << j
        at = np.zeros((len(own.parents), len(codes)), dtype=np.uint64)
        for k, parents in enumerate(own.parents):
            stride = 1
            for v in parents.tolist():
                at[k] += (stride * codes[:, v]).astype(np.uint64)
                stride *= int(self.cards[v])
        coefficients = products.coefficients[own.terms]
        inside = np.ascontiguousarray(codes[::copies, own.members])
        for part in blocks(len(coefficients), _TERMS_AT_ONCE):
            met = Met(inside, np.ascontiguousarray(dead[:, part]), at)
            add_pieces(own.remains, self.pieces.tables, met, part.start, coefficients[part], here)
        for row in range(n_rows):  # row by row, so that what is added to stays in the cache
            add_classes(out[row].reshape(out.shape[1], -1), here[row].reshape(here.shape[1], -1), own.parent_classes)
        return done


def _spread(own: ClosedSet, n_nodes: int) -> np.ndarray:
    """The ideals of a closure as sets of network nodes, bool (q, nodes)."""
    found = np.zeros((len(own.places.held), n_nodes), dtype=bool)
    found[:, own.members] = bits_in(own.places.held, np.arange(len(own.members)))
    return found


def nodes_of(mask: int) -> list[int]:
    return [v for v in range(mask.bit_length()) if (mask >> v) & 1]


def connected(mask: int, families: np.ndarray) -> list[int]:
    """The pieces of a set of nodes (as bits): two nodes are in one piece if a table of a member holds both."""
    tables = [int(families[v]) & mask for v in nodes_of(mask)]
    found: list[int] = []
    for table in tables:
        apart = [piece for piece in found if not piece & table]
        joined = table
        for piece in found:
            if piece & table:
                joined |= piece
        found = [*apart, joined]
    return found
