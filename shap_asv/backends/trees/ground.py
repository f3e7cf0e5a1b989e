"""Background rows as bits: who has at most a code, and who lies in a leaf."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shap_asv.backends.trees.leaves import Leaves

#: Background rows that are turned into bits together, and bytes of bits that are kept.
BLOCK, KEPT_BYTES = 16_384, 1 << 28


@dataclass(frozen=True, eq=False)
class Grounds:
    """The codes of m background rows, int32 (n, m), and their bits in blocks; m = 0 stands for cover counts."""

    codes: np.ndarray
    nan_code: np.ndarray
    categorical: np.ndarray
    _kept: list[Any] = field(default_factory=list, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": []}

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    def blocks(self) -> Iterator[Any]:
        """Ground after ground; kept from one time to the next where memory allows."""
        if self._kept:
            yield from self._kept
            return
        kept: list[Any] = []
        keeping = True
        for start in range(0, self.n_rows, BLOCK):
            ground = self._block(self.codes[:, start : start + BLOCK])
            kept.append(ground)
            if not keeping or sum(some.words.nbytes for some in kept) > KEPT_BYTES:
                keeping = False  # too much: made anew each time
                kept.clear()
            yield ground
        if keeping:
            self._kept.extend(kept)

    def _block(self, codes: np.ndarray) -> Any:
        from shap_asv.backends.trees.kernels.ground import Ground, fill_ground

        row_at = np.full((len(codes), int(self.nan_code.max(initial=0)) + 1), -1, dtype=np.int64)
        np.put_along_axis(row_at, codes.astype(np.int64), 0, axis=1)
        words = np.zeros((int((row_at == 0).sum()), (codes.shape[1] + 63) // 64), dtype=np.uint64)
        ground = Ground(codes.shape[1], words, row_at)
        fill_ground(codes, self.nan_code, self.categorical, ground)
        return ground

    def shares(self, leaves: Leaves) -> np.ndarray:
        """The share of the background rows in each leaf: float64 (leaves,)."""
        from shap_asv.backends.trees.kernels.ground import count_reached

        reached = np.zeros(len(leaves.values))
        for ground in self.blocks():
            count_reached(leaves, ground, np.zeros((2, ground.words.shape[1]), dtype=np.uint64), reached)
        return reached / self.n_rows

    def count_outside(self, leaves: Leaves, span: tuple[int, int], outside_at: np.ndarray, outside: np.ndarray) -> None:
        """outside[B] = F(D - B) for all B of the leaves ``span``, from ``outside_at`` on."""
        from shap_asv.backends.trees.kernels.ground import count_ground

        widest = int(np.diff(leaves.start[span[0] : span[1] + 1]).max())
        outside[:] = 0.0
        for ground in self.blocks():
            room = np.zeros((2 * widest + 1, ground.words.shape[1]), dtype=np.uint64)
            count_ground(leaves, span, ground, outside_at, outside, room)
        outside /= self.n_rows
