// What a click changes, and what has to be drawn again for it.
function drawScope() {
  updateGraph();
  drawTable();
  markFeature();
  element("scope-all").setAttribute("aria-pressed", String(state.scope === "all"));
  element("scope-row").setAttribute("aria-pressed", String(state.scope === "row"));
  element("scope-row").textContent = "Row " + P.rows[state.row];
}

function drawRow() {
  drawRowWords();
  drawWaterfalls();
  markRow();
  markSwarms();
}

function drawAll() {
  drawConclusion();
  drawRows();
  drawScope();
  drawRow();
  drawSwarms();
  drawUncertainty();
}

function say(words) { element("status").textContent = words; }

function pickRow(row) {
  state.row = row;
  state.scope = "row";
  drawScope();
  drawRow();
  say("Row " + P.rows[row] + ", predicted " + number(prediction(row), 1));
}

function pickScope(scope) {
  state.scope = scope;
  drawScope();
  markSwarms();
  say(scope === "all" ? element("scope-all").textContent + ": means of the absolute values" : "Row " + P.rows[state.row]);
}

function pickFeature(feature) {
  state.feature = state.feature === feature ? null : feature;
  markFeature();
  drawWaterfalls();
}

function markFeature() {
  markGraph();
  drawFeatureWords();
  for (const line of document.querySelectorAll("tr[data-line]")) line.classList.toggle("chosen", Number(line.dataset.line) === state.feature);
  for (const word of document.querySelectorAll("[data-choose]")) word.setAttribute("aria-pressed", String(Number(word.dataset.choose) === state.feature));
}

function pickOutput(output) {
  state.output = output;
  drawAll();
  say("Output " + outputName());
}

function toggleMethod(index, wanted) {
  if (!wanted && shownMethods().length === 1) return false;  // something has to be shown
  state.shown[index] = wanted;
  buildGraph();
  drawAll();
  return true;
}

function fill() {
  element("title").textContent = P.title;
  element("subtitle").textContent = P.n_rows.toLocaleString("en-US") + (P.n_rows === 1 ? " row, " : " rows, ") + N + (N === 1 ? " feature, " : " features, ") +
    (P.outputs.length === 1 ? (P.outputs[0] === "" ? "one output" : "explained: " + P.outputs[0]) : P.outputs.length + " outputs");
  const options = (pairs) => pairs.map(([key, text]) => `<option value="${key}">${escaped(text)}</option>`).join("");
  element("output").innerHTML = options(P.outputs.map((name, k) => [k, name]));
  const rows = P.n_rows.toLocaleString("en-US") + (P.n_rows === 1 ? " row" : " rows");
  element("sample").textContent = P.sample;
  element("scope-all").textContent = P.n_rows === 1 ? rows : "All " + rows;
  if (P.levels) element("graph-title").textContent = "What comes first, and who gets credit";
  element("swarm-title").textContent = "Row by row";
  element("credit").textContent = "A feature's credit is the mean of its |value| over the " + rows + (P.sample ? " above" : "") +
    "; a value is how much the expected prediction changes when the feature becomes known.";
  element("meanings").innerHTML = METHODS.filter((method) => P.methods[method.index].meaning).map((method) =>
    `<dt><span class="swatch" style="background:${method.colour}"></span> ${escaped(method.name)}</dt><dd>${escaped(P.methods[method.index].meaning)}</dd>`).join("");
  fillNamedStates();
  element("output-control").hidden = P.outputs.length === 1;
  element("feature-order").innerHTML = options([["causal", "causes first"], ["difference", "largest difference"], ["size", "largest value"]]
    .filter(([key]) => key !== "difference" || METHODS.length > 1));
  element("methods").insertAdjacentHTML("beforeend", METHODS.map((method) =>
    `<label><input type="checkbox" data-method-toggle="${method.index}" checked> <span class="swatch" style="background:${method.colour}"></span>${escaped(method.name)}</label>`).join(""));
  if (R === 1) { element("scope").hidden = true; }
}

function listen() {
  element("scope-all").addEventListener("click", () => pickScope("all"));
  element("scope-row").addEventListener("click", () => pickScope("row"));
  element("output").addEventListener("change", (event) => pickOutput(Number(event.target.value)));
  element("feature-order").addEventListener("change", (event) => { state.featureOrder = event.target.value; drawTable(); markFeature(); });
  element("methods").addEventListener("change", (event) => {
    const box = event.target;
    if (!toggleMethod(Number(box.dataset.methodToggle), box.checked)) {
      box.checked = true;
      say("At least one method has to be shown");
    }
  });
  document.addEventListener("click", (event) => {
    const word = event.target.closest("[data-choose]");
    const node = event.target.closest(".node[role=button]");
    const dot = event.target.closest(".dot");
    const row = event.target.closest("[data-pick-row]");
    if (word) pickFeature(Number(word.dataset.choose));
    else if (node) pickFeature(Number(node.dataset.feature));
    else if (dot) pickRow(Number(dot.dataset.row));
    else if (row) { pickRow(Number(row.dataset.pickRow)); element("one-row").scrollIntoView({ block: "start" }); }
  });
  element("graph").addEventListener("keydown", (event) => {
    const node = event.target.closest(".node[role=button]");
    if (node && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); pickFeature(Number(node.dataset.feature)); }
  });
  let waiting = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;  // a phone hides its bar: nothing to do
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => { fitGraph(); drawWaterfalls(); drawSwarms(); }, 150);
  });
  listenForTips();
  listenForRows();
}

function firstRow() {
  let best = 0;
  for (let row = 1; row < R; row += 1) if (difference(row) > difference(best)) best = row;
  return best;
}

state.row = firstRow();
if (R === 1) state.scope = "row";
fill();
listen();
buildGraph();
drawProvenance();
drawAll();
