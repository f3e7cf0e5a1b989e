"""The table of experiments: one row each, in the order of the page. A new experiment is a module and a row here.

Modules of experiments import what is heavy inside their functions, so that ``python -m benchmarks --list`` is quick.
"""

from benchmarks.accuracy import ACCURACY
from benchmarks.beyond import BEYOND
from benchmarks.causal import CAUSAL
from benchmarks.classes import CLASSES
from benchmarks.draws import DRAWS
from benchmarks.experiment import Experiment
from benchmarks.first_call import FIRST_CALL
from benchmarks.fresh import FRESH
from benchmarks.given import GIVEN
from benchmarks.groups import GROUPS
from benchmarks.levels import LEVELS
from benchmarks.many_rows import MANY_ROWS
from benchmarks.mean_prediction import MEAN_PREDICTION
from benchmarks.orders import ORDERS
from benchmarks.peers.comparison import PEERS
from benchmarks.runtime import RUNTIME
from benchmarks.sampling import SAMPLING
from benchmarks.small import SMALL
from benchmarks.table_peers import TABLE_PEERS, TABLE_PEERS_MIXED
from benchmarks.table_peers_levels import TABLE_PEERS_LEVELS
from benchmarks.tables import TABLES
from benchmarks.trees_alone import TREES_ALONE
from benchmarks.uncertain import UNCERTAIN
from benchmarks.values import MONTE_CARLO
from benchmarks.whole_tables import WHOLE_TABLES
from benchmarks.wide import WIDE
from benchmarks.windows import WINDOWS

EXPERIMENTS: tuple[Experiment, ...] = (
    CLASSES,
    RUNTIME,
    SAMPLING,
    ACCURACY,
    MEAN_PREDICTION,
    ORDERS,
    MONTE_CARLO,
    GIVEN,
    TABLES,
    LEVELS,
    FRESH,
    WHOLE_TABLES,
    DRAWS,
    BEYOND,
    TREES_ALONE,
    WIDE,
    MANY_ROWS,
    FIRST_CALL,
    SMALL,
    UNCERTAIN,
    CAUSAL,
    GROUPS,
    WINDOWS,
    PEERS,
    TABLE_PEERS,
    TABLE_PEERS_MIXED,
    TABLE_PEERS_LEVELS,
)


def find(name: str) -> Experiment:
    """The experiment of that name."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise LookupError(f"there is no experiment {name!r}; there are: {known}")
