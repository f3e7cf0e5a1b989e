"""The known ways in which the code is broken: one file for each part of the surface, one row in this table."""

from tests.reliability.mutations import causes, everywhere, tables
from tests.reliability.mutations.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (*everywhere.MUTANTS, *causes.MUTANTS, *tables.MUTANTS)
