"""Problems that were held out until a plan was mended on them: what they show has been looked at since.

Other networks, targets, models, tables, rows and backends than those of ``fitted_problems.py``; no constant was fitted
on them alone. Those that nobody has looked at are in ``held_out_problems.py``.
"""

from sklearn.linear_model import LinearRegression

from tests.reliability.jobs import network as random_network
from tests.reliability.other_problems import among, neighbours
from tests.reliability.problems import (
    STAR,
    THIRD,
    Case,
    binned,
    boosted,
    boosted_states,
    codes_by_forest,
    codes_by_tree,
    codes_of_states,
    deep_trees,
    few_trees,
    forest_of_numbers,
    hundred_trees,
    logistic,
    many_neurons,
    many_states,
    neurons,
    neurons_of_numbers,
    of_network,
    of_numbers,
    on,
    on_random,
    pairs_by_forest,
    pairs_by_line,
    sines,
    slowly,
    tree,
)

SEEN: dict[str, Case] = {
    # the planner's choice on networks
    "earthquake, MaryCalls, neurons, 100 rows": on("earthquake", "MaryCalls", neurons, 100),
    "cancer, Dyspnoea, boosted trees, 200 rows": on("cancer", "Dyspnoea", boosted_states, 200, model_output="raw"),
    "survey, latent R, logistic regression, 300 rows": on("survey", "R", logistic, 300),
    "sachs, latent Raf, 20 trees, 50 rows": on("sachs", "Raf", few_trees, 50),
    "sachs, PIP2, forest of codes, 200 rows": on("sachs", "PIP2", codes_by_forest, 200),
    "child, LowerBodyO2, decision tree, 1,000 rows": on("child", "LowerBodyO2", tree, 1000),
    "child, LVHreport, boosted trees, 50 rows": on("child", "LVHreport", boosted_states, 50, model_output="raw"),
    "child, latent Grunting, 100 trees, 20 rows": on("child", "Grunting", hundred_trees, 20),
    "child, RUQO2, tree of codes, 200 rows": on("child", "RUQO2", codes_by_tree, 200),
    "child, LowerBodyO2, neurons, 2 rows": on("child", "LowerBodyO2", neurons, 2, n_draws=100),
    "insurance, OtherCar, decision tree, 10 rows": on("insurance", "OtherCar", tree, 10),
    "insurance, GoodStudent, 20 trees, 3 rows": on("insurance", "GoodStudent", few_trees, 3),
    "insurance, OtherCar, boosted trees, 5 rows": on("insurance", "OtherCar", boosted_states, 5, model_output="raw"),
    "insurance, latent ThisCarCost, tree of codes, 3 rows": on("insurance", "ThisCarCost", codes_by_tree, 3),
    "alarm, EXPCO2, decision tree, 3 rows": on("alarm", "EXPCO2", tree, 3),
    "alarm, latent SHUNT, tree of codes, 1 row": on("alarm", "SHUNT", codes_by_tree, 1),
    "alarm, PCWP, 20 trees, 2 rows": on("alarm", "PCWP", few_trees, 2),
    "water, CNON_12_45, decision tree, 2 rows": on("water", "CNON_12_45", tree, 2),
    "hepar2, carcinoma, decision tree, 10 rows": on("hepar2", "carcinoma", tree, 10, n_orders=50),
    "win95pts, Problem5, 20 trees, 5 rows": on("win95pts", "Problem5", few_trees, 5, n_orders=50),
    "hailfinder, MeanRH, tree of codes, 3 rows": on("hailfinder", "MeanRH", codes_by_tree, 3, n_orders=30),
    "andes, latent GOAL_103, decision tree, 1 row": among("andes", "GOAL_103", tree, 1, n_orders=10),
    "andes, latent GOAL_103, decision tree, orders x trees, 1 row": among(
        "andes", "GOAL_103", tree, 1, algorithm="orders x trees", n_orders=4
    ),
    "andes, latent GOAL_53, nearest neighbours, 1 row": among(
        "andes", "GOAL_53", neighbours, 1, n_orders=3, n_draws=50
    ),
    "pathfinder, F108, decision tree, 1 row": on("pathfinder", "F108", tree, 1, n_orders=20),
    # backends that were asked for
    "child, RUQO2, linear model of codes, ideals x linear, 50 rows": on(
        "child", "RUQO2", codes_of_states, 50, algorithm="ideals x linear"
    ),
    "child, LVHreport, decision tree, ideals x closures, 2,000 rows": on(
        "child", "LVHreport", tree, 2000, algorithm="ideals x closures"
    ),
    "child, RUQO2, 20 trees, ideals x trees, 5 rows": on("child", "RUQO2", few_trees, 5, algorithm="ideals x trees"),
    "child, LowerBodyO2, a third edge reversed, 20 trees, 5 rows": on(
        "child", "LowerBodyO2", few_trees, 5, reverse=("LungParench", "Grunting")
    ),
    "insurance, GoodStudent, 20 trees, orders x closures, 5 rows": on(
        "insurance", "GoodStudent", few_trees, 5, algorithm="orders x closures", n_orders=50
    ),
    "insurance, OtherCar, forest of codes, ideals x terms, 2 rows": on(
        "insurance", "OtherCar", codes_by_forest, 2, algorithm="ideals x terms"
    ),
    "alarm, MINVOL, decision tree, orders x terms, 10 rows": on(
        "alarm", "MINVOL", tree, 10, algorithm="orders x terms", n_orders=200
    ),
    "alarm, HREKG, 20 trees, orders x trees, 3 rows": on(
        "alarm", "HREKG", few_trees, 3, algorithm="orders x trees", n_orders=50
    ),
    "hepar2, jaundice, linear model of codes, orders x linear, 5 rows": on(
        "hepar2", "jaundice", codes_of_states, 5, algorithm="orders x linear", n_orders=50
    ),
    "win95pts, Problem2, logistic regression, orders x monte_carlo, 10 rows": on(
        "win95pts", "Problem2", logistic, 10, algorithm="orders x monte_carlo", n_orders=20, n_draws=100
    ),
    "barley, protein, neurons, orders x monte_carlo, 5 rows": on(
        "barley", "protein", neurons, 5, algorithm="orders x monte_carlo", n_orders=20, n_draws=50
    ),
    "mildew, udbytte, linear model of codes, orders x monte_carlo, 3 rows": on(
        "mildew", "udbytte", codes_of_states, 3, algorithm="orders x monte_carlo", n_orders=20, n_draws=50
    ),
    # random networks
    "chain of 40 nodes, 50 trees, 100 rows": on_random("chain", 40, 50, 7, 100),
    "forest of 45 nodes, 200 boosted trees, 200 rows": of_network(random_network("forest", 45), boosted, 200),
    "forest of 25 nodes, two outputs, 50 rows": of_network(random_network("forest", 25), pairs_by_forest, 50, 2),
    "polytree of 18 nodes, 8 trees, 30 rows": on_random("polytree", 18, 8, 6, 30),
    "polytree of 40 nodes, 2 trees, polytree, 3 rows": on_random("polytree", 40, 2, 4, 3, algorithm="polytree"),
    "dag of 14 nodes, 40 trees, 300 rows": on_random("dag", 14, 40, 7, 300),
    "dag of 18 nodes, three outputs, 50 rows": of_network(random_network("dag", 18), pairs_by_forest, 50, 3),
    "dag of 15 nodes, linear model, 200 rows": of_network(random_network("dag", 15), LinearRegression, 200),
    "complete graph of 15 nodes, 20 trees, 50 rows": on_random("complete", 15, 20, 6, 50),
    "no edges between 11 nodes, 20 trees, 20 rows": on_random("edgeless", 11, 20, 6, 20),
    "large tables on 13 nodes, 50 trees, 20 rows": of_network(many_states(13, 4, 5), pairs_by_forest, 20),
    "large tables on 17 nodes, 50 trees, 5 rows": of_network(many_states(17, 3, 6), pairs_by_forest, 5),
    # tables
    "gaussian, linear model of pairs, 500 rows": of_numbers("gaussian", pairs_by_line, 500, THIRD),
    "gaussian, 100 trees, 3 rows": of_numbers("gaussian", forest_of_numbers, 3, THIRD, n_draws=200),
    "gaussian, star, sines, 2 rows": of_numbers("gaussian", sines, 2, STAR, n_draws=100),
    "copula, neurons, 5 rows": of_numbers("copula", neurons_of_numbers, 5, THIRD),
    "donors, 100 trees, 1 row": of_numbers("donors", forest_of_numbers, 1, THIRD),
    "structural, slow black box, 2 rows": of_numbers("structural", slowly, 2, THIRD, n_draws=50),
    "structural, pairs by forest, 3 rows": of_numbers("structural", pairs_by_forest, 3, THIRD),
    "structural, causal values, many neurons, 5 rows": of_numbers(
        "structural", many_neurons, 5, THIRD, values="causal"
    ),
    "independent columns, binned boosting, 10 rows": of_numbers("independent", binned, 10, THIRD),
    "background rows, star, slow black box, 1 row": of_numbers(
        "rows", slowly, 1, STAR, algorithm="orders x marginal", n_orders=20
    ),
    "background rows, pairs by forest, 300 rows": of_numbers("rows", pairs_by_forest, 300, THIRD),
    # trees without a network
    "covers, binned boosting, 2,000 rows": of_numbers("covers", binned, 2000, THIRD),
    "covers, star, deep trees, 300 rows": of_numbers("covers", deep_trees, 300, STAR),
}
