"""The catalogue of bad inputs: one file per group, each a table from a short name to the call and the error it gets."""

from tests.explainer.bad_input.arguments import ARGUMENTS
from tests.explainer.bad_input.declared import DECLARED
from tests.explainer.bad_input.encoders import ENCODERS
from tests.explainer.bad_input.graphs import GRAPHS
from tests.explainer.bad_input.interventions import INTERVENTIONS
from tests.explainer.bad_input.models import MODELS
from tests.explainer.bad_input.networks import NETWORKS
from tests.explainer.bad_input.players import PLAYERS
from tests.explainer.bad_input.questions import QUESTIONS
from tests.explainer.bad_input.rows import ROWS
from tests.explainer.bad_input.tables import TABLES
from tests.explainer.bad_input.time import TIME

CATALOGUE = {
    "causal graphs and orders": GRAPHS,
    "networks and backgrounds": NETWORKS,
    "distributions of tables": TABLES,
    "interventions": INTERVENTIONS,
    "several graphs, comparisons and other questions": QUESTIONS,
    "groups and global values": PLAYERS,
    "models": MODELS,
    "encoders": ENCODERS,
    "rows": ROWS,
    "every kind of background": DECLARED,
    "arguments and files": ARGUMENTS,
    "times and windows": TIME,
}
