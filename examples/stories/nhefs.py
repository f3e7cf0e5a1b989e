"""Smoking and weight: the tutorial and the notebook ``nhefs`` are made from this script (docs/stories.py).

python examples/stories/nhefs.py
"""

# %% [markdown]
# # NHEFS: smoking, quitting and weight

# %% [markdown]
# In 1971 smokers were asked about their lives; in 1982 they were weighed again. Some had quit smoking in between
# (`qsmk`). A model predicts how many kilograms each of them gained. Which of age, years of smoking, cigarettes a day,
# exercise and quitting does the prediction rest on?
#
# The data are from the NHANES I Epidemiologic Follow-up Study of the US National Center for Health Statistics (public
# domain), in the extract that Hernán and Robins use in *Causal Inference: What If*.

# %%
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_score

from shap_asv import AsymmetricExplainer, check_graph, plots

data = next(folder for folder in (Path("examples/data"), Path("../data")) if folder.exists())
study = pd.read_csv(data / "nhefs.csv").dropna(subset="wt82_71")
columns = ["sex", "age", "race", "education", "smokeyrs", "smokeintensity", "active", "exercise", "wt71", "qsmk"]
X, gained = study[columns].astype(float), study["wt82_71"]
model = HistGradientBoostingRegressor(max_iter=60, max_depth=3, random_state=0)
print(f"{len(X):,} smokers; variance explained on held-out rows: {cross_val_score(model, X, gained).mean():.1%}")
model.fit(X, gained)

# %% [markdown]
# Weight is hard to predict: expect attributions of a few kilograms, and take them as statements about this model.
#
# ## A medical graph, and what the rows say about it
#
# Age, sex and race come first; schooling before smoking; smoking and exercise before weight in 1971; quitting last.
# `check_graph` tests what such a graph implies.

# %%
causes = [
    *[("age", effect) for effect in ("education", "smokeyrs", "active", "wt71", "qsmk")],
    *[("sex", effect) for effect in ("smokeyrs", "smokeintensity", "exercise", "wt71", "qsmk")],
    *[("race", effect) for effect in ("education", "smokeintensity", "wt71", "qsmk")],
    *[("education", effect) for effect in ("smokeintensity", "qsmk")],
    *[("smokeintensity", "qsmk"), ("active", "exercise"), ("exercise", "wt71")],
]
print(check_graph(X, causes))

# %% [markdown]
# The rows contradict 7 of 26 implied independences, and each line says between what an arrow is missing. We add the
# arrows, each from what comes earlier in life to what comes later; and one from age to the number of cigarettes,
# which a second look asks for.

# %%
causes += [
    *[("age", "exercise"), ("race", "exercise"), ("education", "exercise"), ("sex", "active")],
    *[("education", "smokeyrs"), ("smokeyrs", "smokeintensity"), ("smokeyrs", "qsmk")],
    ("age", "smokeintensity"),
]
print(check_graph(X, causes))

# %% [markdown]
# "Fits" means that these rows do not contradict it; it does not mean that the graph is right.
#
# ## Who gets the credit?
#
# From table and graph a structural model is fitted, with a mechanism for each column. It conditions on causes, which
# is all that ASV asks for; SHAP asks for any coalition, and gets a distribution of the same table that knows no graph.
# The last lines say which.

# %%
explainer = AsymmetricExplainer(model, X, causes, seed=0, silent=True)
people = X[:300]
result = explainer.compare(people, methods=["SHAP", "ASV"], silent=True)
print(result)
print(f"\ncorrelation of age and years of smoking: {X['age'].corr(X['smokeyrs']):.2f}")

# %% Mean |value| in kilograms on the causal graph, by SHAP and by ASV: age gains what years of smoking lose
plots.causal_graph(result)

# %% [markdown]
# Age and years of smoking say nearly the same (their correlation is 0.87), and SHAP splits the credit: 1.1055 and
# 0.7205 kg. In the graph one of them is the cause of the other. ASV asks what years of smoking add for somebody whose
# age is known: 0.1924 kg, a quarter as much, and age rises to 1.4855. Older people gained less weight; that they had
# smoked for longer adds little.
#
# ## Is quitting worth what the model says?
#
# Quitting comes late in the graph, so the two agree about it almost:

# %%
quit_smoking = people["qsmk"] == 1
for name, explanation in result.explanations.items():
    value = pd.Series(explanation.values[:, columns.index("qsmk")], people.index)
    yes, no = value[quit_smoking].mean(), value[~quit_smoking].mean()
    print(f"{name:<5}{yes:+.2f} kg for those who quit, {no:+.2f} kg for others, {yes - no:.2f} kg apart")

raw = gained[X["qsmk"] == 1].mean() - gained[X["qsmk"] == 0].mean()
print(f"in the table those who quit gained {raw:.2f} kg more than others")
nobody, everybody = (model.predict(X.assign(qsmk=value)).mean() for value in (0.0, 1.0))
print(f"predicted if everybody had quit, minus if nobody had: {everybody - nobody:.2f} kg")

# %% [markdown]
# None of these is the effect of quitting on weight, though the last one comes nearest: it compares the same people
# with themselves, which Hernán and Robins do with more variables and more care. The values of both explanations are
# smaller. They say how far a person's prediction moves when it becomes known that this person quit, and for those who
# were likely to quit anyway it moves less.
#
# ## What SHAP would have told you, what ASV tells you, what neither does
#
# - **SHAP** would have told you that years of smoking matter by themselves, four times as much as ASV finds: it
#   cannot know that they follow from age.
# - **ASV** tells you that age is behind most of it, and leaves quitting and the weight in 1971 about where they were.
#   Where the order settles nothing, the two agree, which is worth knowing too.
# - **Neither** tells you what quitting does to anybody's weight. For that, set `qsmk` as above, and worry about what
#   is not in the table. And the model explains 8.7% of the variance on held-out rows: most of what happened to these
#   people is in no attribution at all.
