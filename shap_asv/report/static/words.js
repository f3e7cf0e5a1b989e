// Words: the conclusion, the chosen row and feature, how it was computed.
function partOf(part) {
  if (typeof part === "string") return escaped(part);
  if ("feature" in part) return `<button type="button" class="word" data-choose="${part.feature}" aria-pressed="false">${escaped(P.features[part.feature])}</button>`;
  const place = P.rows.indexOf(part.row);
  return place < 0 ? "row " + part.row : `<button type="button" class="word" data-pick-row="${place}">row ${part.row}</button>`;
}

// A comma or a full stop stays on the line of the word before it.
function withoutLooseSigns(sentence) {
  let text = "";
  sentence.forEach((part, i) => {
    const next = sentence[i + 1];
    const sign = typeof part !== "string" && typeof next === "string" ? (next.match(/^[,.;:]/) || [""])[0] : "";
    const before = typeof sentence[i - 1] === "object" && typeof part === "string" ? part.replace(/^[,.;:]/, "") : part;
    text += sign ? `<span class="kept">${partOf(part)}${sign}</span>` : partOf(before);
  });
  return text;
}

function drawConclusion() {
  element("conclusion").innerHTML = P.conclusions[state.output].map((sentence) => `<p>${withoutLooseSigns(sentence)}</p>`).join("");
}

function drawRowWords() {
  const row = state.row;
  const largest = (method) => {
    let best = 0;
    for (let j = 1; j < N; j += 1) if (Math.abs(value(method, row, j)) > Math.abs(value(method, row, best))) best = j;
    return { feature: best };
  };
  const methods = shownMethods();
  const what = outputName() === "" ? "the prediction" : outputName();
  const starts = new Map();
  for (const method of METHODS) {
    const mean = number(base(method, row), 1);
    starts.set(mean, [...(starts.get(mean) || []), method.name]);
  }
  const average = starts.size === 1 ? [...starts.keys()][0] : [...starts].map(([mean, names]) => `${mean} (${names.join(", ")})`).join(" or ");
  const parts = [`Row ${P.rows[row]}: ${what} is ${number(prediction(row), 1)}, against ${average} on average. `];
  methods.forEach((method, i) => {
    const best = largest(method);
    const error = method.error === null ? "" : ` \u00b1 ${shortError(at(method.error, row, best.feature))}`;
    parts.push(i ? "; the" : "The", ` largest ${method.name} is that of `, best, `, ${signed(value(method, row, best.feature), 1)}${error}`);
  });
  if (methods.length) parts.push(".");
  element("row-words").innerHTML = withoutLooseSigns(parts);
  element("row-title").textContent = "Row " + P.rows[row] + ", step by step";
}

function drawFeatureWords() {
  const j = state.feature;
  if (j === null || P.graph === null) { element("feature-words").textContent = ""; return; }
  const place = P.graph.nodes.findIndex((node) => node.feature === j);
  const names = (key, other) => P.graph.arrows.filter((arrow) => arrow[key] === place).map((arrow) => P.graph.nodes[arrow[other]].name);
  const causes = names("to", "from");
  const effects = names("from", "to");
  const credit = METHODS.map((method) => method.name + " " + number(overall(method.importance, j), 1)).join(", ");
  element("feature-words").textContent = P.features[j] + (P.levels ? ": after " : ": causes ") + (causes.join(", ") || "none") + (P.levels ? "; before " : "; effects ") +
    (effects.join(", ") || "none") + "; mean |value| " + credit + ".";
}

function drawUncertainty() {
  const parts = [];
  if (P.n_graphs > 1) {
    const unsure = P.graph === null ? [] : P.graph.arrows.filter((arrow) => arrow.certainty < 0.9995);
    parts.push(`<p>The causal values are means over ${P.n_graphs.toLocaleString("en-US")} graphs. Broken arrows are not in all of them${
      unsure.length ? ": the least certain is " + leastCertain(unsure) : ""}.</p>`);
  }
  if (P.sensitivity !== null) {
    const name = METHODS[P.sensitivity.method].name;
    parts.push(`<p>Thin lines on the bars of ${escaped(name)} go from the smallest to the largest value under ${P.sensitivity.n_graphs.toLocaleString("en-US")} graphs. What moves the values most:</p>
      <div class="scroll"><table><thead><tr><th scope="col">Change of the graph</th><th scope="col">moves values by</th><th scope="col">most of all</th></tr></thead><tbody>${
      P.sensitivity.effects[state.output].map(([edge, effect, feature, by]) =>
        `<tr><th scope="row">${escaped(edge)}</th><td>${number(effect, 1)} on average</td><td>${escaped(feature)}, by ${number(by, 1)}</td></tr>`).join("")}</tbody></table></div>`);
  }
  element("uncertainty").hidden = parts.length === 0;
  element("uncertainty-words").innerHTML = parts.join("");
}

function leastCertain(arrows) {
  const least = arrows.reduce((a, b) => (b.certainty < a.certainty ? b : a));
  return escaped(P.graph.nodes[least.from].name + " \u2192 " + P.graph.nodes[least.to].name) + ", in " + Math.round(100 * least.certainty) + "%";
}

function drawProvenance() {
  const graph = P.n_graphs === 0 ? "none" : P.n_graphs === 1 ? (P.levels ? "levels, as drawn" : "one, as drawn") : "mean over " + P.n_graphs.toLocaleString("en-US") + " graphs";
  const facts = [...P.notes.map((note) => ["", note]),
    ["Rows", (P.sample || P.n_rows.toLocaleString("en-US") + ".") + (P.n_rows > R ? " " + R + " of them are on this page; means are over all " + P.n_rows.toLocaleString("en-US") + "." : "")],
    ["Features", String(N)],
    ["Causal graph", graph]];
  P.methods.forEach((method) => {
    const how = method.largest_error === null ? "exact" : "sampled, largest standard error of a value " + shortError(method.largest_error);
    facts.push([method.name, how + (method.background ? "; distribution: " + method.background : "")]);
  });
  facts.push(["Software", P.versions]);
  const plans = P.methods.filter((method) => method.plan).map((method) =>
    `<details><summary>Plan of ${escaped(method.name)}</summary><pre tabindex="0">${escaped(method.plan)}</pre></details>`);
  element("provenance").innerHTML = "<dl>" + facts.map(([term, words]) => `<dt>${escaped(term || "Note")}</dt><dd>${escaped(words)}</dd>`).join("") + "</dl>" + plans.join("") +
    '<p class="quiet">These values explain predictions of a model. They do not estimate the effect of an intervention, and the causal graph is an assumption of whoever made this page.</p>';
}
