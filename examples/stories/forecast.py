"""A forecast after a hurricane: the tutorial and the notebook ``forecast`` are made from this script (docs/stories.py).

python examples/stories/forecast.py
"""

# %% [markdown]
# # A forecast: what did it rest on?

# %% [markdown]
# How many bikes will be rented tomorrow in Washington, D.C.? A model sees the rentals, the temperature and the wind of
# the last seven days, and whether tomorrow is a working day, which is known in advance. On 29 October 2012 hurricane
# Sandy came through and hardly a bike was rented. What did the forecast for the day after rest on?
#
# The data are the *Bike Sharing Dataset* of Fanaee-T and Gama, from the UCI Machine Learning Repository (CC BY 4.0).

# %%
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from shap_asv import AsymmetricExplainer, StructuralModel, lagged, plots

data = next(folder for folder in (Path("examples/data"), Path("../data")) if folder.exists())
bike = pd.read_csv(data / "bike_daily.csv")
series = bike[["day", "count", "temp", "windspeed", "workingday"]].astype(float)
windows = lagged(series, "count", lags=7, time="day", known=["workingday"])
past = windows.X.index < 660  # days that the model learns from
model = HistGradientBoostingRegressor(max_iter=60, min_samples_leaf=30, random_state=0)
model.fit(windows.X[past], windows.y[past])
after = windows.X.loc[[668]]  # 30 October 2012
print(series.loc[664:668].to_string())  # 667 is 29 October 2012
print(f"forecast for day 668: {model.predict(after)[0]:.0f}")

# %% [markdown]
# `lagged` made a row for each day: `count(t-1)` are the rentals of the day before. Nothing of the day itself is in it
# but `workingday(t)`.
#
# ## Days that are alike
#
# To say what was to be expected before the hurricane, a distribution of the windows is needed. Temperature and wind act
# on the rentals of the same day; each depends on its own two last days. These mechanisms are the same on all days, so
# there are few of them to learn (`shared=`), and each learns from all days.

# %%
summary = [("temp", "count"), ("windspeed", "count"), ("temp", "windspeed")]
learned = windows.X[past]
background = StructuralModel.fit(learned, windows.graph(summary, memory=2), seed=0, silent=True, shared=windows.times)
for name, node in background.report().loc[["temp(t-1)", "windspeed(t-1)", "count(t-1)"]].iterrows():
    print(f"{name}: {node['mechanism']}; its causes save {node['saved']:.0%} of its error")

# %% [markdown]
# ## Three answers
#
# *Past first*: the days become known one after the other, as they did. *Marginal SHAP* is what `shap` computes: a
# number is exchanged for one from the table, whatever the others are. *Recent first* begins with yesterday and asks
# what older days add to it. (The mechanisms can only be followed forwards in time, so `compare` fits another
# distribution to draws from them for that.)

# %%
explainer = AsymmetricExplainer(
    model, background, windows.order(graph=summary), feature_names=list(windows.X), n_draws=512, seed=0, silent=True
)
marginal = AsymmetricExplainer(model, learned, values="marginal")
methods = {"past first": "ASV", "recent first": windows.order("recent first")}


def three(rows):
    return explainer.compare(rows, methods, silent=True).add("marginal SHAP", marginal(rows))


result = three(after)
days = {name: windows.times.summed(one) for name, one in result.explanations.items()}
table = pd.DataFrame({name: one.values[0] for name, one in days.items()}, index=days["past first"].feature_names)
print(table.round().astype(int).to_string())
base = days["past first"].base_values[0]
before = days["marginal SHAP"].values[0][:-2].sum()
print(f"marginal SHAP of the week before the hurricane: {before:.0f}")
print(f"{base:.0f} on an average day, {base + table['past first'][:-2].sum():.0f} before the hurricane was known")

# %% The forecast as it was known on each day: until the hurricane it was about as it had been for a week
plots.forecast({"past first": result.explanations["past first"]}, times=windows.times)

# %% [markdown]
# With the past first, the values are the updates of the forecast. 4601 rentals are an average day; once the week before
# was known, 6345 were to be expected; the hurricane took 1818 of them, and that the next day is a working day changed
# next to nothing. *Recent first* starts with yesterday (-2050), and then has to explain why the forecast is not lower
# still: mostly by the good Saturday (1401 for `t-3`). For marginal SHAP yesterday cost 1217 and the good week before
# brought 1097, spread over days by what the model happens to look at.
#
# ## Sixteen ordinary forecasts
#
# Rentals are a persistent series: whoever knows last week knows roughly where this week is. What each day contributes
# on average, in size:

# %%
some = windows.X.loc[600:660:4]
week = three(some)
sizes = {name: abs(windows.times.summed(one).values).mean(axis=0) for name, one in week.explanations.items()}
print(pd.DataFrame(sizes, index=table.index).round().astype(int).to_string())

# %% Mean size of what each day contributes, in sixteen forecasts: the past first, and credit stays with the week before
plots.by_lag(week, times=windows.times)

# %% [markdown]
# ## What SHAP would have told you, what ASV tells you, what neither does
#
# - **SHAP** would have told you that the forecast rests on yesterday (1186 rentals on average) more than on any other
#   day. It answers what the model does with one number while all others are kept, which no week ever does.
# - **ASV** tells you when the forecast became what it is: 1768 rentals of it were settled by the first day of the
#   window, which tells the season, and yesterday changed 386. Asked in the other order, yesterday gets 2079: it tells
#   the season, too. Neither order is wrong. The past comes first if you ask how a forecast was learned; say which one
#   you mean.
# - **Neither** tells you what would have been rented without the hurricane: that is an effect of a cause, and this a
#   model of the series. And both hang on a distribution: what was expected before the hurricane is what the learned
#   mechanisms expect.
