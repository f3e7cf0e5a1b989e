"""Tables of many kinds, and every kind of sentence of a page recomputed from the page's arrays."""

import base64
import json
import re

import numpy as np
import pandas as pd


def payload_of(page):
    return json.loads(re.search(r'id="payload">(.*?)</script>', page, re.DOTALL)[1])


# --- tables -----------------------------------------------------------------------------------------------------------


def sorted_by_class(n, rng):
    kind = np.sort(rng.choice(["Adelie", "Chinstrap", "Gentoo"], n, p=[0.45, 0.2, 0.35]))
    island = np.where(
        kind == "Gentoo", "Biscoe", np.where(kind == "Chinstrap", "Dream", rng.choice(["Dream", "Biscoe"], n))
    )
    sex = rng.choice(["Male", "Female"], n)
    mass = 3600 + 1300 * (kind == "Gentoo") + 300 * (sex == "Male") + rng.normal(0, 250, n)
    day = pd.Timestamp("2007-11-01") + pd.to_timedelta(rng.integers(0, 30, n), unit="D")
    return pd.DataFrame({"Species": kind, "Island": island, "Sex": sex, "Body Mass (g)": mass.round(), "Date Egg": day})


def rare_outcomes(n, rng):
    group = rng.choice(["no", "yes"], n, p=[0.85, 0.15])
    ratio = np.clip(rng.normal(0.33, 0.1, n) + 0.03 * (group == "yes"), 0, 1)
    history = np.clip(rng.poisson(1 + (group == "yes"), n) + 1, 1, 6)
    denied = rng.uniform(size=n) < 1 / (1 + np.exp(5.5 - 5 * ratio - 0.5 * history))
    return pd.DataFrame(
        {"deny": np.where(denied, "yes", "no"), "pirat": ratio.round(3), "chist": history, "group": group}
    )


def numbers(n, rng):
    year, cylinders = rng.integers(70, 83, n), rng.choice([4, 6, 8], n)
    weight = 1500 + 260 * cylinders + rng.normal(0, 250, n)
    power = 20 * cylinders + rng.normal(0, 15, n)
    mpg = 48 - 0.006 * weight - 0.03 * power + 0.7 * (year - 76) + rng.normal(0, 2, n)
    return pd.DataFrame(
        {"mpg": mpg.round(1), "year": year, "cylinders": cylinders, "power": power.round(1), "weight": weight.round(1)}
    )


def only_categories(n, rng):
    risk = rng.choice(["low", "medium", "high"], n)
    dose = np.where(rng.uniform(size=n) < 0.7, risk, rng.choice(["low", "medium", "high"], n))
    sign = np.where((dose == "high") & (rng.uniform(size=n) < 0.8), "yes", "no")
    result = np.where((sign == "yes") ^ (rng.uniform(size=n) < 0.15), "good", "bad")
    return pd.DataFrame(
        {"risk": risk, "dose": dose, "colour": rng.choice(["red", "green", "blue"], n), "sign": sign, "result": result}
    )


def heavy_gaps(n, rng):
    x = rng.normal(size=n)
    w = x + rng.normal(size=n)
    v = 2 * w + rng.normal(size=n)
    q = rng.choice(["a", "b", "c"], n).astype(object)
    table = pd.DataFrame({"x": x.round(3), "w": w.round(3), "v": v.round(3), "q": q})
    table["y"] = (v + w + (q == "a") + rng.normal(size=n)).round(3)
    for name, share in {"x": 0.4, "w": 0.3, "v": 0.2, "q": 0.35}.items():
        table.loc[rng.uniform(size=n) < share, name] = None
    return table


def wide(n, rng, n_columns=60):
    hidden = rng.normal(size=(n, 6))
    A = hidden @ rng.normal(size=(6, n_columns)) * 0.5 + rng.normal(size=(n, n_columns))
    table = pd.DataFrame(A.round(3), columns=[f"m{k:02d}" for k in range(n_columns)])
    return table.assign(y=(A[:, 0] + A[:, 1] * A[:, 2] + A[:, 3] + rng.normal(size=n)).round(3))


#: name -> (table, words of the command line, how it is written)
KINDS = {
    "sorted by class, dates": (sorted_by_class, ["--target", "Species", "--levels", "Sex", "Island"], {}),
    "rare outcomes, an index": (
        rare_outcomes, ["--target", "deny", "--levels", "group", "pirat,chist"], {"index": True}
    ),
    "semicolons, decimal commas": (
        numbers, ["--target", "mpg", "--levels", "year,cylinders", "weight,power"], {"sep": ";", "decimal": ","}
    ),
    "edges": (numbers, ["--target", "mpg", "--edges", "dag.csv"], {}),
    "only categories": (only_categories, ["--target", "result", "--levels", "risk", "dose,colour"], {}),
    "heavy gaps": (heavy_gaps, ["--target", "y", "--levels", "x", "w,v"], {}),
    "60 columns": (wide, ["--target", "y", "--levels", "m00,m01", "m02,m03", "--rest", "last"], {}),
}  # fmt: skip
EDGES = "cause,effect\nyear,weight\ncylinders,weight\ncylinders,power\nweight,mpg\n"


def write_table(name, n, folder, seed=0):
    """Write a table and return the words that explain it."""
    make, words, how = KINDS[name]
    table = make(n, np.random.default_rng(seed))
    table.to_csv(folder / "table.csv", **{"index": False, **how})
    (folder / "dag.csv").write_text(EDGES)
    return ["explain", "--data", str(folder / "table.csv"), *words]


# --- sentences --------------------------------------------------------------------------------------------------------

NUMBER = r"([\d.,]+(?:e-\d+)?)"
PERCENT = r"(\d+%|less than 1%)"


class Arrays:
    """One output of a page, as arrays by the names of methods and features."""

    def __init__(self, payload, output):
        self.features, r = payload["features"], len(payload["rows"])
        self.rows = payload["rows"]
        shape = (len(payload["outputs"]), r, len(self.features))
        self.values, self.error, self.base, self.noise = {}, {}, {}, {}
        for method in payload["methods"]:
            name = method["name"]
            self.values[name] = unpack(method["values"], shape)[output]
            error = np.zeros(shape) if method["error"] is None else unpack(method["error"], shape)
            self.error[name] = error[output]
            self.base[name] = unpack(method["base"], shape[:2])[output].mean()
            noise = np.zeros(shape[::2]) if method["noise"] is None else unpack(method["noise"], shape[::2])
            self.noise[name] = noise[output]
        self.credit = {name: np.abs(v).mean(axis=0) for name, v in self.values.items()}

    def place(self, name):
        return self.features.index(name)

    def is_top(self, method, feature):
        """Whether its credit is the largest, by more than two standard errors."""
        j, credit, noise = self.place(feature), self.credit[method], self.noise[method]
        others = [i for i in range(len(credit)) if i != j]
        return all(credit[j] - credit[i] >= 2 * np.hypot(noise[i], noise[j]) - 1e-6 for i in others)

    def moved(self, one, other, beyond=True):
        a, b = self.credit[one], self.credit[other]
        doubt = 2 * np.hypot(self.noise[one], self.noise[other]) * beyond
        return np.abs(b - a)[np.abs(b - a) > doubt].sum() / (a + b).sum()


def unpack(text, shape):
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(shape).astype(float)


def near(text, value):
    """A number as it is printed is the value, to its last digit."""
    digits = len(text.partition(".")[2])
    assert abs(float(text.replace(",", "")) - value) <= 0.5001 * 10.0**-digits + 1e-6 * abs(value), (text, value)


def percent(text, value):
    assert value < 0.0101 if text == "less than 1%" else abs(int(text[:-1]) / 100 - value) <= 0.00501, (text, value)


def check_sentences(payload):
    """Recompute every sentence of every output; the kinds that were met. One that is of no known kind is an error."""
    met = []
    for output, sentences in enumerate(payload["conclusions"]):
        arrays = Arrays(payload, output)
        for sentence in sentences:
            words = "".join(
                part if isinstance(part, str) else f"<{arrays.features[part['feature']]}>" if "feature" in part
                else f"row {part['row']}" for part in sentence
            )  # fmt: skip
            met += check_sentence(words, arrays, payload)
    return set(met)


def check_sentence(words, arrays, payload):
    names = "|".join(re.escape(m["name"]) for m in payload["methods"])
    pair = [payload["methods"][k]["name"] for k in payload["pair"]]
    for name in (m["name"] for m in payload["methods"]):
        words = words.replace(name[0].upper() + name[1:], name)  # a capital letter at the beginning of a sentence
    feature, method = r"<([^<>]+)>", f"({names})"
    found = []

    def each(pattern):
        nonlocal words
        while match := re.search(pattern, words):
            words = (words[: match.start()] + words[match.end() :]).strip()
            found.append(pattern)
            yield match.groups()

    for text, one, other in each(f"{PERCENT} of the credit moves between {method} and {method}\\."):
        percent(text, arrays.moved(one, other))
    for one, other, text in each(f"{method} and {method} tell the same story here: {PERCENT} of the credit moves\\."):
        percent(text, arrays.moved(one, other))
        assert arrays.moved(one, other) < 0.05
    for one, other, least in each(
        f"{method} and {method} cannot be told apart here: no feature's credit differs by more than two standard errors"
        f"\\. Differences below {NUMBER} would not show\\."
    ):
        doubt = 2 * np.hypot(arrays.noise[one], arrays.noise[other])
        assert abs(float(least) / doubt.max() - 1) < 0.06
    for name, a, one, b, other in each(
        f"{feature} has the most under both: {NUMBER} by {method}, {NUMBER} by {method}\\."
    ):
        for text, which in ((a, one), (b, other)):
            near(text, arrays.credit[which][arrays.place(name)])
            assert arrays.is_top(which, name)
    for one, old, a, other, new, b in each(
        f"{method} gives the most to {feature} \\({NUMBER}\\), {method} to {feature} \\({NUMBER}\\)\\."
    ):
        for text, which, name in ((a, one, old), (b, other, new)):
            near(text, arrays.credit[which][arrays.place(name)])
            assert arrays.is_top(which, name)
    for which, name, text in each(f"{method} gives the most to {feature} \\({NUMBER} on average\\)\\."):
        near(text, arrays.credit[which][arrays.place(name)])
        assert arrays.is_top(which, name)
    for which, listed in each(f"{method} gives the most to (<[^:]+>): errors do not tell which\\."):
        tops = re.findall(feature, listed)
        assert not any(arrays.is_top(which, name) for name in arrays.features)
        assert arrays.features[arrays.credit[which].argmax()] in tops
    for which, count in each(
        f"{method} gives (\\d+) features nearly the same, and the most: errors do not tell which\\."
    ):
        assert int(count) > 3
        assert not any(arrays.is_top(which, name) for name in arrays.features)
    for name, change, a, b, causes in each(
        f"^{feature} (loses its credit|loses part of its credit|gains credit) \\({NUMBER} \u2192 {NUMBER}\\)(.*)\\.$"
    ):
        j = arrays.place(name)
        sizes = [arrays.credit[which][j] for which in pair]
        near(a, sizes[0]), near(b, sizes[1])
        doubt = 2 * np.hypot(*(arrays.noise[which][j] for which in pair))
        assert abs(sizes[1] - sizes[0]) > doubt
        assert (sizes[1] > sizes[0]) == (change == "gains credit")
        assert change != "loses its credit" or sizes[1] <= 0.0501 * sizes[0]
        check_reason(causes, name, change, arrays, pair, payload)
    for _ in each(r"^No feature gets credit: the prediction is the same whatever is known\.$()"):
        assert not any(np.abs(values).max() > 1e-9 for values in arrays.values.values())
    for which, listed, other in each(f"^{method} gives 0 in every row to (<.+>); {method} does not\\.$"):
        zeros = [arrays.features[j] for j in np.flatnonzero(np.abs(arrays.values[which]).max(axis=0) < 1e-9)]
        assert set(re.findall(feature, listed)) <= set(zeros)
        assert all(arrays.credit[other][arrays.place(name)] > 0 for name in re.findall(feature, listed))
    for which, close, far, a, b in each(
        f"^{method} is closer to {method} than to {method}: {PERCENT} of the credit differs, against {PERCENT}\\.$"
    ):
        percent(a, arrays.moved(which, close, False)), percent(b, arrays.moved(which, far, False))
        assert arrays.moved(which, close, False) < arrays.moved(which, far, False)
    for row, text in each(f"^The (?:two|methods) differ most in row (\\d+), by {NUMBER} over its features\\.$"):
        stacked = np.stack(list(arrays.values.values()))
        apart = (stacked.max(axis=0) - stacked.min(axis=0)).sum(axis=1)
        assert arrays.rows[apart.argmax()] == int(row)
        near(text, apart.max())
    for starts, gap in each(
        "^Values add up from the mean prediction, and not all methods have the same one: (.+)\\. So "
        f"{NUMBER} of what is between them has nothing to do with causes\\.$"
    ):
        near(gap, np.ptp(list(arrays.base.values())))
        for which in arrays.base:
            text = re.search(f"{re.escape(which)}(?: and .+?)? from (-?[\\d.]+)", starts)[1]
            near(text, arrays.base[which])
    for listed, text in each(
        f"^((?:{names})(?: and (?:{names}))?) (?:is|are) sampled: standard errors of a feature's credit are at most "
        f"{NUMBER}, and what is below two of them is not told here\\.$"
    ):
        sampled = listed.split(" and ")
        assert sampled == [which for which in pair if arrays.error[which].any()]
        assert abs(float(text) / max(arrays.noise[which].max() for which in sampled) - 1) < 0.06
    for one, other in each(
        f"^{method} and {method} stand on different distributions, and some of the difference may be theirs\\.$"
    ):
        backgrounds = {m["name"]: m["background"] for m in payload["methods"]}
        assert backgrounds[one] != backgrounds[other]
    assert words == "", f"a sentence of no known kind: {words}"
    return found


def check_reason(reason, name, change, arrays, pair, payload):
    """Reasons are given where both methods are conditional; the named features come before, or after, in the graph."""
    if not reason:
        return
    assert pair[0].split()[0] == "conditional"
    arrows = {(payload["graph"]["nodes"][a["from"]]["name"], payload["graph"]["nodes"][a["to"]]["name"])
              for a in payload["graph"]["arrows"]}  # fmt: skip

    def reach(a, b, seen=()):
        nexts = {y for x, y in arrows if x == a and y not in seen}
        return b in nexts or any(reach(c, b, (*seen, c)) for c in nexts)

    for other in re.findall(r"<(.+?)>", reason):
        j = arrays.place(other)
        grows = arrays.credit[pair[1]][j] - arrays.credit[pair[0]][j]
        assert (grows > 0) == (change != "gains credit")
        assert abs(grows) > 2 * np.hypot(*(arrays.noise[which][j] for which in pair))
        assert reach(name, other) if change == "gains credit" else reach(other, name)
