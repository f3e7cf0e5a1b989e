"""The page in a real browser: clicks change what is shown, what is shown are the arrays, no request leaves it."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import shap

from shap_asv import CausalOrder, Comparison, GraphMixture, Sensitivity
from shap_asv.report.reading import read_block
from shap_asv.report.sentences import conclude, in_words
from tests.report.browser import Page, start_browser
from tests.report.problems import EDGES, FEATURES, OUTPUTS, random_comparison, told_comparison

TOLERANCE = 0.5e-4 + 1e-7  # the table has four digits after the point


@pytest.fixture(scope="module")
def driver():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def comparison():
    return random_comparison()


@pytest.fixture(scope="module")
def written(comparison, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return comparison.to_html(folder / "report.html", title="Lungs", explained="patient", notes=["Made up."])


@pytest.fixture
def page(driver, written):
    return Page(driver, written)


def methods_of(comparison, output):
    return [np.asarray(e.values)[:, :, output] for e in comparison.explanations.values()]


def assert_table(page, expected):
    """``expected`` (methods, features)."""
    shown = page.table()
    assert set(shown) == set(FEATURES)
    for j, name in enumerate(FEATURES):
        np.testing.assert_allclose(shown[name], [row[j] for row in expected], atol=TOLERANCE, rtol=0)


def spread(values):
    stacked = np.stack(values)
    return (stacked.max(axis=0) - stacked.min(axis=0)).sum(axis=1)


def test_it_opens(page, comparison):
    assert page.text("h1") == "Lungs"
    block = read_block(comparison)
    assert page.texts("#conclusion p") == [in_words(line, block.features) for line in conclude(block, 0)]
    assert_table(page, [np.abs(v).mean(axis=0) for v in methods_of(comparison, 0)])
    assert page.texts("#provenance dd")[0] == "Made up."
    plan = page.find("#provenance details pre")
    assert not plan.is_displayed()
    page.click("#provenance details summary")
    assert plan.is_displayed()
    assert plan.text == "Plan of SHAP for 40 rows"
    assert page.errors() == []
    assert page.requests() == []


def test_an_error_and_a_request_would_be_noticed(page):
    page.run(
        "setTimeout(() => { throw new Error('made by the test'); }, 0); new Image().src = 'https://example.org/a.png'"
    )
    page.run("return new Promise((done) => setTimeout(done, 300))")
    seen = page.errors()
    assert any("made by the test" in line for line in seen)
    # the page's own policy refuses the image, and says so
    assert any("Content Security Policy" in line for line in seen)
    assert page.requests() == ["https://example.org/a.png"]  # the attempt is in the log


def test_a_click_on_a_dot_shows_its_row(page, comparison):
    row = 17
    page.click(f'#swarms figure[data-method="1"] .dot[data-row="{row}"][data-feature="0"]')
    values = methods_of(comparison, 0)
    chosen = int(page.text("#scope-row").removeprefix("Row "))
    assert_table(page, [v[chosen] for v in values])
    if chosen != row:  # another dot lay on top of it
        dot = page.find(f'#swarms figure[data-method="1"] .dot[data-row="{chosen}"][data-feature="0"]')
        assert "chosen" in dot.get_attribute("class")
    assert page.texts("#values td.state") == [str(label) for label in comparison.asv.display_data[chosen]]
    assert page.text("#row-title") == f"Row {chosen}, step by step"
    assert page.find("#scope-row").get_attribute("aria-pressed") == "true"
    total = 0.3 + values[0][chosen].sum()
    ends = [float(text.replace("\N{MINUS SIGN}", "-")) for text in page.texts("#waterfalls .end")]
    np.testing.assert_allclose(ends, [total] * 3, atol=TOLERANCE)
    assert f"row {chosen}" in page.text("#table-title")
    page.click("#scope-all")
    assert_table(page, [np.abs(v).mean(axis=0) for v in values])
    assert page.errors() == []


def test_cards_and_waterfalls_show_the_row(page, comparison):
    page.click('#row-list [data-pick="5"]')
    values = methods_of(comparison, 0)
    for j in range(5):
        cards = page.texts(f'#graph .node[data-feature="{j}"] .figure')
        falls = [
            page.text(f'#waterfalls figure[data-method="{m}"] .step[data-feature="{j}"] .figure') for m in range(3)
        ]
        for shown in (cards, falls):
            numbers = [float(text.replace("\N{MINUS SIGN}", "-")) for text in shown]
            np.testing.assert_allclose(numbers, [v[5, j] for v in values], atol=0.5e-3 + 1e-7)
        assert page.text(f'#graph .node[data-feature="{j}"] .state') == f"= {comparison.asv.display_data[5, j]}"


def test_rows_are_found_and_sorted(page, comparison):
    apart = spread(methods_of(comparison, 0))
    names = [text.split()[1] for text in page.texts("#row-list li")]
    assert names == [str(row) for row in np.argsort(-apart, kind="stable")]
    page.choose("#row-order", "number")
    assert [text.split()[1] for text in page.texts("#row-list li")] == [str(row) for row in range(40)]
    page.find("#search").send_keys("smoker=yes tar=high")
    shown = comparison.asv.display_data
    expected = [r for r in range(40) if shown[r, 1] == "yes" and shown[r, 2] == "high"]
    assert [int(text.split()[1]) for text in page.texts("#row-list li")] == expected
    assert page.text("#row-count") == f"{len(expected)} of 40 rows match"
    from selenium.webdriver.common.keys import Keys

    page.find("#search").send_keys(Keys.ENTER)
    assert page.text("#scope-row") == f"Row {expected[0]}"
    page.find("#search").send_keys(Keys.ARROW_DOWN)
    assert page.text("#scope-row") == f"Row {expected[1]}"
    assert page.find(f"#row-{expected[1]}").get_attribute("aria-selected") == "true"
    assert page.find("#search").get_attribute("aria-activedescendant") == f"row-{expected[1]}"
    page.click("#previous-row")
    assert page.text("#scope-row") == f"Row {expected[0]}"


def test_another_output(page, comparison):
    assert page.texts("#output option") == [f"patient = {name}" for name in OUTPUTS]
    page.choose("#output", 1)
    assert_table(page, [np.abs(v).mean(axis=0) for v in methods_of(comparison, 1)])
    block = read_block(comparison)
    assert page.texts("#conclusion p") == [in_words(line, block.features) for line in conclude(block, 1)]
    apart = spread(methods_of(comparison, 1))
    assert page.texts("#row-list li")[0].startswith(f"row {apart.argmax()} ")


def test_methods_can_be_hidden_but_not_all(page, comparison):
    page.click('[data-method-toggle="0"]')
    assert_table(page, [np.abs(v).mean(axis=0) for v in methods_of(comparison, 0)[1:]])
    assert len(page.texts("#swarms figure")) == len(page.texts("#waterfalls figure")) == 2
    assert len(page.texts('#graph .node[data-feature="0"] .figure')) == 2
    apart = spread(methods_of(comparison, 0)[1:])
    assert page.texts("#row-list li")[0].startswith(f"row {apart.argmax()} ")
    page.click('[data-method-toggle="1"]')
    page.click('[data-method-toggle="2"]')
    assert page.find('[data-method-toggle="2"]').is_selected()
    assert page.text("#status") == "At least one method has to be shown"
    assert page.errors() == []


def test_hovering_tells_value_state_and_standard_error(page, comparison):
    page.click('#row-list [data-pick="3"]')
    tip = page.hover('#values td.number[data-feature="2"][data-method="0"]')
    assert page.find("#tip").is_displayed()
    value = methods_of(comparison, 0)[0][3, 2]
    sign = "\N{MINUS SIGN}" if value < 0 else "+"
    assert f"tar = {comparison.asv.display_data[3, 2]}" in tip
    assert f"SHAP: {sign}{abs(value):.4f} ± 0.0010 (standard error)" in tip
    assert "(exact)" in page.hover('#values td.number[data-feature="2"][data-method="1"]')
    dot = page.hover('#swarms figure[data-method="0"] .dot.chosen[data-feature="4"]')
    assert "row 3" in dot
    assert "standard error" in dot
    page.hover("h1")
    assert not page.find("#tip").is_displayed()


def test_a_feature_lights_up_its_causes_and_effects(page):
    page.click('#graph .node[data-feature="2"]')
    near = page.run("return Array.from(document.querySelectorAll('.arrow.near')).map((a) => a.dataset.tip)")
    assert sorted(near) == ["smoker → tar", "tar → cough", "tar → x-ray"]
    assert page.text("#feature-words").startswith("tar: causes smoker; effects cough, x-ray; mean |value| SHAP 0.")
    assert page.find('tr[data-line="2"]').get_attribute("class") == "chosen"
    page.click('#values [data-choose="2"]')
    assert page.texts(".arrow.near") == []


def test_keyboard_alone(page):
    from selenium.webdriver.common.keys import Keys

    seen = []
    for _ in range(60):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        here = page.driver.switch_to.active_element
        seen.append(here.get_attribute("id") or here.get_attribute("data-feature") or here.tag_name)
        if here.get_attribute("data-feature") == "1" and "node" in here.get_attribute("class"):
            here.send_keys(Keys.ENTER)
            assert here.get_attribute("aria-pressed") == "true"
            assert page.find("#tip").is_displayed()
        if here.get_attribute("id") == "row-list":
            here.send_keys(Keys.END)
            break
    assert {"scope-all", "scope-row", "output", "feature-order", "search", "row-order", "row-list"} <= set(seen)
    last = page.run("return document.querySelector('#row-list li:last-child').getAttribute('aria-selected')")
    assert last == "true"


def test_a_screen_reader_finds_names(page):
    page.driver.execute_cdp_cmd("Accessibility.enable", {})
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "checkbox", "combobox", "listbox", "searchbox", "option", "image", "img", "table"}
    found = [node for node in nodes if not node.get("ignored") and node["role"]["value"] in roles]
    assert len(found) > 50
    nameless = [node for node in found if not node.get("name", {}).get("value")]
    assert nameless == []
    card = next(node["name"]["value"] for node in found if node["name"]["value"].startswith("tar, "))
    assert "SHAP 0." in card


LONG = [
    *("Body Mass (g)", "Island", "the highest school or university degree that was ever reached", "Sex"),
    *("Stage = of the disease", "Delta 15 N (o/oo)"),
]
CLASSES = [
    "Adelie Penguin (Pygoscelis adeliae)",
    "Chinstrap penguin (Pygoscelis antarctica) of the islands in the south",
]


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """Names with spaces, brackets and signs; states of all kinds; one method sampled."""
    rng = np.random.default_rng(1)
    n = 30
    shown = np.empty((n, 6), dtype=object)
    shown[:, 0] = rng.choice([3200.0, 3250.5, 32.0], n)
    shown[:, 1] = rng.choice(["Biscoe", "Dream", "Torgersen", "Biscoe Point, the southern part of it"], n)
    shown[:, 2] = rng.choice(["Bachelor's degree", "none", "10th"], n)
    shown[:, 3] = rng.choice(["Male", "Female"], n)
    shown[:, 4] = rng.choice(["low", "high"], n)
    shown[:, 5] = rng.normal(size=n).round(3)
    codes = np.column_stack([pd.factorize(column, sort=True)[0] for column in shown.T]).astype(float)
    codes[:, [0, 5]] = shown[:, [0, 5]].astype(float)
    explanations = {
        name: shap.Explanation(
            rng.normal(size=(n, 6, 2)), np.full((n, 2), 0.2), data=codes, display_data=shown, feature_names=LONG,
            output_names=CLASSES, error_std=np.full((n, 6, 2), 0.01) if name == "ASV" else None,
        )
        for name in ("marginal SHAP", "ASV")
    }  # fmt: skip
    order = CausalOrder.from_edges([(LONG[3], LONG[0]), (LONG[1], LONG[0])], features=LONG)
    backgrounds = dict.fromkeys(explanations, "made up")
    comparison = Comparison(explanations, order, backgrounds, {}, {"ASV"})
    page = comparison.to_html(
        tmp_path_factory.mktemp("long") / "page.html", explained="Species", row_numbers=np.arange(n) * 7,
        sample="30 of 210 rows, drawn at random.",
    )  # fmt: skip
    return comparison, page


@pytest.mark.parametrize("width", [360, 390, 768, 1280, 1920])
def test_nothing_is_wider_than_the_screen(driver, long_names, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page = Page(driver, long_names[1])
        for scope in ("#scope-all", "#scope-row"):
            page.click(scope)
            assert page.run("return document.documentElement.scrollWidth") <= width
            over = """const inner = ".scroll, .hidden, .skip, pre";
                return Array.from(document.querySelectorAll("body *")).filter((e) => !e.closest(inner)
                    && e.getBoundingClientRect().right > window.innerWidth + 0.5)
                    .map((e) => e.tagName + "#" + e.id)"""
            assert page.run(over) == []
        assert page.errors() == []
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_state_that_the_page_prints_is_found(driver, long_names):
    comparison, path = long_names
    page = Page(driver, path)
    shown = comparison.asv.display_data
    find = """const box = document.getElementById("search");
        box.value = arguments[0];
        box.dispatchEvent(new Event("input"));
        return Array.from(document.querySelectorAll("#row-list li")).map((li) => Number(li.id.slice(4)))"""
    seen = 0
    for row in range(0, len(shown), 3):
        page.run(f"document.querySelector('#row-list [data-pick=\"{row}\"]').click()")
        printed = zip(page.texts("#values tbody th"), page.texts("#values td.state"), strict=True)
        for name, state in printed:
            j = LONG.index(name)
            expected = [r for r in range(len(shown)) if shown[r, j] == shown[row, j]]
            for query in (f"{name} = {state}", f"{name}={state}", f"{name} = {state}, {LONG[4]}={shown[row, 4]}"):
                both = [r for r in expected if "," not in query.replace(state, "") or shown[r, 4] == shown[row, 4]]
                assert sorted(page.run(find, query)) == both, query
                seen += 1
        page.run(find, "")
    assert seen == 180


def test_what_the_page_says_of_rows_methods_and_errors(driver, long_names):
    comparison, path = long_names
    page = Page(driver, path)
    assert page.text("#sample") == "30 of 210 rows, drawn at random."
    assert page.text("#scope-all") == "All 30 rows"
    assert page.text("#credit").startswith("A feature's credit is the mean of its |value| over the 30 rows above;")
    assert page.texts("#meanings dt") == ["marginal SHAP", "ASV"]
    assert page.texts("#meanings dd") == [
        "what shap.Explainer and TreeExplainer with background rows compute: features become known in any order; what "
        "is not known yet is filled in from other rows, whatever is known",
        "features become known in the order of causes, causes before effects; what is not known yet follows its "
        "distribution given what is known",
    ]
    assert page.texts("#values td.error") == ["\N{PLUS-MINUS SIGN} 0.010"] * 6
    rows = [int(text.split()[1]) for text in page.texts("#row-list li")]
    assert sorted(rows) == [7 * r for r in range(30)]
    page.click('#row-list [data-pick="4"]')
    assert page.text("#scope-row") == "Row 28"
    assert "\N{PLUS-MINUS SIGN} 0.010" in page.text("#row-words")
    # islands, degrees and sexes have no order: a colour for each, told below; the others go from low to high
    told = page.texts("#named-states p")
    assert [line.split(":")[0] for line in told] == [LONG[j] for j in range(6) if j in (1, 2, 3)]
    fills = page.run("return Array.from(document.querySelectorAll('#swarms figure:first-child .dot')).map((dot) => "
                     "[Number(dot.dataset.feature), dot.getAttribute('fill')])")  # fmt: skip
    assert {j for j, fill in fills if "--named-" in fill} == {comparison.features.index(LONG[j]) for j in (1, 2, 3)}
    assert all("color-mix" in fill for j, fill in fills if comparison.features[j] in (LONG[0], LONG[4], LONG[5]))


def test_levels_are_not_called_causes(driver, tmp_path):
    made = random_comparison(n_outputs=1, methods=("SHAP", "ASV"))
    order = CausalOrder.from_levels([FEATURES[:2], FEATURES[2:]])
    page = Page(driver, Comparison(made.explanations, order).to_html(tmp_path / "page.html"))
    page.click('#graph .node[data-feature="2"]')
    assert page.text("#feature-words").startswith("tar: after age, smoker; before none; mean |value| SHAP 0.")
    assert page.texts("#meanings dd")[1] == (
        "features become known level by level, what comes first before what comes after it"
    )
    for section in ("#meanings", "#graph-section", "#conclusion", "#provenance dl"):
        assert "cause" not in page.text(section), section
    assert "Arrows go from what comes first to what comes after it." in page.text("#graph-caption")


def test_no_line_begins_with_a_comma(driver, long_names):
    page = Page(driver, long_names[1])
    loose = """return Array.from(document.querySelectorAll("#conclusion p, #row-words")).flatMap((p) =>
        Array.from(p.childNodes).filter((node, i) => i && node.nodeType === 3 && /^[,.;:]/.test(node.textContent)))
        .map((node) => node.textContent)"""
    assert page.run(loose) == []
    assert len(page.texts(".kept")) > 0


@pytest.mark.parametrize(("width", "dark"), [(375, False), (375, True), (1280, True)])
def test_phones_and_dark_rooms(driver, written, width, dark):
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page = Page(driver, written)
        assert page.run("return document.documentElement.scrollWidth") <= width
        colour = page.run("return getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in colour.strip("rgb()").split(","))
        assert (brightness < 200) == dark
        ratio = page.run(CONTRAST)
        assert min(ratio.values()) >= 4.5, ratio
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# WCAG's contrast of type with the ground behind it, for the colours that small type has.
CONTRAST = """
const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = light(getComputedStyle(document.body).backgroundColor);
const found = {};
for (const selector of ["h1", "#subtitle", ".in-short p", ".low", ".high", "thead th", "#row-list li span", "dt"]) {
  const ink = light(getComputedStyle(document.querySelector(selector)).color);
  found[selector] = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
}
return found;
"""


@pytest.mark.parametrize("width", [375, 1280])
def test_no_number_of_a_chart_is_cut_off_and_states_stay(driver, tmp_path, width):
    names = ["a name that is far too long for its line", "smoker", "tar", "cough", "x-ray"]
    edges = list(pairwise(names))
    comparison = told_comparison([0.001, 0.012, 0.1, 0.0, 0.02], [0.0244, 0.01, 0.02, 0.1234, -0.03], edges, names)
    for explanation in comparison.explanations.values():
        explanation.data = np.full((2, 5), 21.5)
        explanation.values[1] *= 0.01  # small on average, so that numbers have many digits
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        page = Page(driver, comparison.to_html(tmp_path / "page.html"))
        cut = """const texts = Array.from(document.querySelectorAll("#waterfalls svg text, #swarms svg text"));
        return texts.filter((text) => {
            const [own, whole] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
            return own.right > whole.right + 0.5 || own.left < whole.left - 0.5;
        }).map((text) => text.textContent)"""
        assert page.run(cut) == []
        lines = page.texts("#waterfalls .step > text:first-of-type")
        assert len(lines) == 10
        assert all(line.endswith(" = 21.5") for line in lines)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_graphs_that_are_not_certain(driver, tmp_path):
    comparison = random_comparison(n_outputs=1, methods=("SHAP", "ASV"))
    other = CausalOrder.from_edges([*EDGES[:2], ("cough", "tar"), EDGES[3]], features=FEATURES)
    mixture = GraphMixture((comparison.order, other), (0.75, 0.25))
    rng = np.random.default_rng(3)
    values = comparison.asv.values + rng.normal(scale=0.05, size=(3, 40, 5))
    labels = ["flip tar -> cough", "drop age -> smoker", "add age -> tar"]
    sensitivity = Sensitivity(values, FEATURES, labels, reference=comparison.asv.values)
    uncertain = Comparison(comparison.explanations, mixture)
    page = Page(driver, uncertain.to_html(tmp_path / "uncertain.html", sensitivity=sensitivity))
    assert page.find("#uncertainty").is_displayed()
    assert "means over 2 graphs" in page.text("#uncertainty-words")
    effects = sensitivity.edge_effects()
    assert page.texts("#uncertainty-words tbody th") == list(effects.index)
    arrows = page.run("return Array.from(document.querySelectorAll('.arrow')).map((a) => a.dataset.tip)")
    assert "tar → cough\nin 75% of 2 graphs" in arrows
    page.click('#row-list [data-pick="7"]')
    tip = page.hover('#values td.number[data-feature="1"][data-method="1"]')
    low, high = values[:, 7, 1].min(), values[:, 7, 1].max()
    assert f"over 3 graphs: {low:.4f} to {high:.4f}".replace("-", "\N{MINUS SIGN}") in tip
    assert page.errors() == []


def test_one_row_and_strange_names(driver, tmp_path):
    nasty = "<img src=x onerror=alert(1)>"
    comparison = random_comparison(n_rows=1, n_outputs=1, methods=("SHAP", "ASV"))
    named = {}
    for name, explanation in comparison.explanations.items():
        explanation.feature_names = [nasty, *FEATURES[1:]]
        named[name] = explanation
    page = Page(driver, Comparison(named).to_html(tmp_path / "one.html", title=nasty, notes=[nasty]))
    assert page.text("h1") == nasty
    assert next(iter(page.table())) == nasty
    assert page.texts("img") == []
    for what in ("#graph-section", "#output-control", "#scope", "#uncertainty", "#tip"):
        assert not page.find(what).is_displayed(), what
    assert page.text("#table-title") == "Feature by feature, row 0"
    assert page.errors() == []
