"""Problems that no cost model was fitted on: written down, and committed, before any of them was run.

Other networks, targets, libraries, tables, rows, questions and backends than those of ``fitted_problems.py`` and of
``seen_problems.py``, which were held out before these. Where one of these shows what a plan forgets, and the plan is
mended, all of them belong to the others, and new ones are needed.

They were run once, and looked at: 55 of 56 were within a factor 3. The other one, draws on andes with a latent node
(planned 0.4 s, taken 6.4 s), showed that plans did not count what coalitions without their causes need, which has been
mended since. Two of those first written gave no answer: a decision tree on all of andes (ten orders, planned 34 s) was
stopped after four minutes; causal values of a Gaussian without levels are refused, and are now asked of a structural
model. The tree on andes showed an order of elimination with tables that were too large: it takes seconds since, and is
one of ``seen_problems.py``. Those on large networks with a latent node in the middle were written down after that, and
run once: 6 of 7 were within a factor 3, the other one at 3.1. One of them, draws for nearest neighbours, showed that
the memory of a model whose calls take long was not looked at, and is with the seen ones now.
"""

from shap_asv import CausalOrder
from tests.reliability.other_problems import (
    FIFTH,
    FOURTH,
    SMALL,
    among,
    catboost,
    extra_trees,
    extra_trees_of_numbers,
    labels_alike,
    lightgbm,
    neighbours,
    polynomial,
    support_vectors,
    to_table,
    wide_neurons,
    xgboost,
)
from tests.reliability.problems import (
    Case,
    codes_of_states,
    few_trees,
    logistic,
    many_states,
    neurons_of_numbers,
    of_network,
    of_numbers,
    on,
    on_random,
    random_network,
    sines,
    slowly,
    tree,
)

LEVELS = [["x0"], ["x1", "x2"], ["x3", "x4", "x5"]]

HELD_OUT: dict[str, Case] = {
    # the planner's choice on networks
    "asia, xray, lightgbm, 1,000 rows": among("asia", "xray", lightgbm, 1000),
    "cancer, Xray, labels alike, 50 rows": among("cancer", "Xray", labels_alike, 50),
    "earthquake, JohnCalls, catboost, 300 rows": among("earthquake", "JohnCalls", catboost, 300),
    "survey, latent E, nearest neighbours, 40 rows": among("survey", "E", neighbours, 40),
    "sachs, Erk, xgboost, 150 rows": among("sachs", "Erk", xgboost, 150),
    "sachs, latent Mek, support vectors, 3 rows": among("sachs", "Mek", support_vectors, 3),
    "child, ChestXray, lightgbm, 500 rows": among("child", "ChestXray", lightgbm, 500),
    "child, seven features, nearest neighbours, 10 rows": among(
        "child", "Disease", neighbours, 10, ("Age", "LVHreport", "CO2Report", "XrayReport", "RUQO2", "Sick", "LVH")
    ),
    "insurance, SeniorTrain, extra trees, 20 rows": among("insurance", "SeniorTrain", extra_trees, 20),
    "insurance, latent DrivQuality, catboost, 3 rows": among("insurance", "DrivQuality", catboost, 3),
    "alarm, latent HR, xgboost, 2 rows": among("alarm", "HR", xgboost, 2),
    "alarm, eight features, extra trees, 30 rows": among(
        "alarm", "BP", extra_trees, 30, ("CVP", "PCWP", "HRBP", "HREKG", "SAO2", "EXPCO2", "PRESS", "MINVOL")
    ),
    "hepar2, bilirubin, lightgbm, 5 rows": among("hepar2", "bilirubin", lightgbm, 5, n_orders=50),
    "hailfinder, PlainsFcst, xgboost, 2 rows": among("hailfinder", "PlainsFcst", xgboost, 2, n_orders=30),
    "win95pts, Problem6, extra trees, 3 rows": among("win95pts", "Problem6", extra_trees, 3, n_orders=30),
    "water, CBODD_12_45, xgboost, 3 rows": among("water", "CBODD_12_45", xgboost, 3),
    "pigs, p197075886, decision tree, 1 row": among("pigs", "p197075886", tree, 1, n_orders=5),
    # backends that were asked for
    "sachs, Erk, labels alike, ideals x table, 50 rows": among(
        "sachs", "Erk", labels_alike, 50, algorithm="ideals x table"
    ),
    "sachs, PKC, wide neurons, ideals x monte_carlo, 20 rows": among(
        "sachs", "PKC", wide_neurons, 20, algorithm="ideals x monte_carlo", n_draws=100
    ),
    "child, latent Disease, lightgbm, ideals x terms, 5 rows": among(
        "child", "Disease", lightgbm, 5, algorithm="ideals x terms"
    ),
    "child, GruntingReport, xgboost, ideals x closures, 500 rows": among(
        "child", "GruntingReport", xgboost, 500, algorithm="ideals x closures"
    ),
    "insurance, Airbag, extra trees, orders x closures, 10 rows": among(
        "insurance", "Airbag", extra_trees, 10, algorithm="orders x closures", n_orders=100
    ),
    "insurance, Theft, decision tree, orders x trees, 10 rows": among(
        "insurance", "Theft", tree, 10, algorithm="orders x trees", n_orders=50
    ),
    "alarm, CVP, nearest neighbours, orders x monte_carlo, 2 rows": among(
        "alarm", "CVP", neighbours, 2, algorithm="orders x monte_carlo", n_orders=10, n_draws=50
    ),
    "hepar2, ESR, logistic regression, orders x monte_carlo, 10 rows": on(
        "hepar2", "ESR", logistic, 10, algorithm="orders x monte_carlo", n_orders=20, n_draws=100
    ),
    "andes, APPLY32, linear model of codes, orders x monte_carlo, 2 rows": on(
        "andes", "APPLY32", codes_of_states, 2, algorithm="orders x monte_carlo", n_orders=5, n_draws=50
    ),
    # large networks with a latent node in the middle
    "andes, latent GOAL_87, extra trees, 1 row": among("andes", "GOAL_87", extra_trees, 1, n_orders=4),
    "andes, latent SNode_37, decision tree, orders x trees, 2 rows": among(
        "andes", "SNode_37", tree, 2, algorithm="orders x trees", n_orders=4
    ),
    "win95pts, latent AppData, xgboost, 5 rows": among("win95pts", "AppData", xgboost, 5, n_orders=30),
    "hailfinder, latent Scenario, extra trees, 5 rows": among("hailfinder", "Scenario", extra_trees, 5, n_orders=20),
    "pigs, latent p50241090, decision tree, 1 row": among("pigs", "p50241090", tree, 1, n_orders=3),
    "hepar2, latent Cirrhosis, lightgbm, 3 rows": among("hepar2", "Cirrhosis", lightgbm, 3, n_orders=20),
    # other questions to networks
    "asia, a group, 20 trees, 50 rows": on("asia", "dysp", few_trees, 50, groups={"ill": ["tub", "lung", "bronc"]}),
    "child, a group of reports, decision tree, 20 rows": on(
        "child", "Age", tree, 20, groups={"reports": ["LVHreport", "GruntingReport", "CO2Report", "XrayReport"]}
    ),
    "sachs, two graphs, xgboost, 30 rows": among("sachs", "Akt", xgboost, 30, turned=("Raf", "Mek")),
    "sachs, no order, causal values, 20 trees, 5 rows": on(
        "sachs", "Akt", few_trees, 5, causal_graph=[], values="causal"
    ),
    "insurance, no order, decision tree, 3 rows": on("insurance", "PropCost", tree, 3, causal_graph=[], n_orders=30),
    # random networks
    "forest of 80 nodes, 60 trees, 100 rows": on_random("forest", 80, 60, 6, 100),
    "polytree of 28 nodes, 4 trees, polytree, 4 rows": on_random("polytree", 28, 4, 5, 4, algorithm="polytree"),
    "dag of 22 nodes, 15 trees, 30 rows": on_random("dag", 22, 15, 6, 30),
    "chain of 100 nodes, 20 trees, 200 rows": on_random("chain", 100, 20, 6, 200),
    "large tables on 15 nodes, xgboost, 10 rows": of_network(many_states(15, 3, 7), xgboost, 10),
    "complete graph of 12 nodes, neurons, 20 rows": of_network(random_network("complete", 12), neurons_of_numbers, 20),
    # tables
    "gaussian, fifth table, xgboost, 5 rows": of_numbers("gaussian", xgboost, 5, FIFTH),
    "gaussian, fourth table, support vectors, 5 rows": of_numbers("gaussian", support_vectors, 5, FOURTH),
    "structural, causal values, lightgbm, 10 rows": of_numbers("structural", lightgbm, 10, FOURTH, values="causal"),
    "gaussian, no order, wide neurons, 3 rows": of_numbers("gaussian", wide_neurons, 3, FOURTH, (), n_draws=200),
    "copula, catboost, 5 rows": of_numbers("copula", catboost, 5, FOURTH),
    "donors, extra trees, 2 rows": of_numbers("donors", extra_trees_of_numbers, 2, FOURTH),
    "structural, xgboost, 20 rows": of_numbers("structural", xgboost, 20, FOURTH),
    "structural, wide neurons, 5 rows": of_numbers("structural", wide_neurons, 5, FIFTH, n_draws=200),
    "structural, a group, sines, 10 rows": of_numbers("structural", sines, 10, FOURTH, groups={"later": ["x3", "x5"]}),
    "independent columns, nearest neighbours, 2 rows": of_numbers("independent", neighbours, 2, FOURTH, n_draws=100),
    "background rows, lightgbm, 1,000 rows": of_numbers("rows", lightgbm, 1000, FIFTH),
    "background rows, no order, support vectors, 5 rows": of_numbers("rows", support_vectors, 5, FOURTH, ()),
    "background rows, sampled orders, slow black box, 3 rows": of_numbers(
        "rows", slowly, 3, FIFTH, algorithm="orders x marginal", n_orders=5
    ),
    "table with a graph, polynomial, 20 rows": to_table(polynomial, 20, FOURTH, list(FOURTH.edges)),
    "table with a graph, wide neurons, 10 rows": to_table(wide_neurons, 10, SMALL, list(SMALL.edges)),
    "table with levels, polynomial, 3 rows": to_table(
        polynomial, 3, FOURTH, CausalOrder.from_levels(LEVELS), n_draws=100
    ),
    "table without a graph, extra trees, 2 rows": to_table(extra_trees_of_numbers, 2, SMALL, None, n_draws=200),
    # trees without a network
    "covers, xgboost, 5,000 rows": of_numbers("covers", xgboost, 5000, FIFTH),
    "covers, catboost, 2,000 rows": of_numbers("covers", catboost, 2000, FOURTH),
    "covers, no order, lightgbm, 500 rows": of_numbers("covers", lightgbm, 500, FIFTH, ()),
}
