// The causal graph: a card for each feature with a bar for each method. Built once for a set of methods, then moved.
const LABEL = P.graph === null ? 0 : P.graph.label;
const FIGURE = 50;
// Levels say what comes first; they do not say what causes what.
const ARROWS = P.levels ? "Arrows go from what comes first to what comes after it." : "Arrows go from causes to effects.";

function buildGraph() {
  const graph = P.graph;
  if (graph === null) { element("graph-section").hidden = true; return; }
  const arrows = graph.arrows.map((arrow, i) => {
    const sure = arrow.certainty >= 0.9995;
    const words = graph.nodes[arrow.from].name + " \u2192 " + graph.nodes[arrow.to].name +
      (sure ? "" : "\nin " + Math.round(100 * arrow.certainty) + "% of " + P.n_graphs.toLocaleString("en-US") + " graphs");
    const look = sure ? "" : ` stroke-dasharray="6 4" stroke-opacity="${(0.35 + 0.65 * arrow.certainty).toFixed(2)}"`;
    return `<path class="arrow" data-arrow="${i}" d="${arrow.path}"${look} marker-end="url(#tip-of-arrow)" data-tip="${escaped(words)}"/>`;
  });
  const nodes = graph.nodes.map((node) => (node.feature === null ? latentCard(node) : card(node)));
  element("graph").innerHTML =
    `<svg width="${graph.width}" height="${graph.height}" viewBox="0 0 ${graph.width} ${graph.height}" role="group" aria-label="Causal graph">
    <defs>${["arrow", "near-arrow"].map((name) =>
      `<marker id="tip-of-${name}" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="tip-of-${name}" d="M0 0L8 4L0 8z"/></marker>`).join("")}</defs>
    ${arrows.join("")}${nodes.join("")}</svg>`;
  fitGraph();
}

// Shrink to the width that there is, as long as the type stays readable; beyond that, scroll.
function fitGraph() {
  if (P.graph === null) return;
  const svg = element("graph").firstElementChild;
  const scale = Math.min(1, Math.max(0.72, element("graph").clientWidth / P.graph.width));
  svg.setAttribute("width", P.graph.width * scale);
  svg.setAttribute("height", P.graph.height * scale);
}

function latentCard(node) {
  const [width, height] = P.graph.card;
  return `<g class="node latent" transform="translate(${node.x} ${node.y})" data-tip="${escaped(node.name)}\nnot a feature: summed out, or what is predicted">
    <rect class="card" x="0" y="${height / 2 - 22}" width="${width}" height="44" rx="8"/>
    <text x="${width / 2}" y="${height / 2 - 3}" text-anchor="middle" font-size="13" font-weight="600">${escaped(clipped(node.name, width - 24, 7.4))}</text>
    <text class="soft" x="${width / 2}" y="${height / 2 + 13}" text-anchor="middle" font-size="11">not a feature</text></g>`;
}

function card(node) {
  const [width, height] = P.graph.card;
  const methods = shownMethods();
  const lines = methods.map((method, line) => {
    const y = 40 + 17 * line;
    return `<text class="soft" x="10" y="${y + 11}" font-size="11">${escaped(clipped(method.name, LABEL, 6.1))}</text>
      <rect class="bar" data-method="${method.index}" y="${y + 2}" height="11" rx="2" fill="${method.colour}"/>
      <line class="whisker" data-method="${method.index}" y1="${y + 7.5}" y2="${y + 7.5}"/>
      <text class="figure" data-method="${method.index}" x="${width - 9}" y="${y + 11}" text-anchor="end" font-size="11.5"></text>`;
  });
  return `<g class="node tipped" role="button" tabindex="0" aria-pressed="false" data-feature="${node.feature}" transform="translate(${node.x} ${node.y})">
    <rect class="card" width="${width}" height="${height}" rx="8"/>
    <text x="10" y="18" font-size="13" font-weight="600">${escaped(clipped(node.name, width - 20, 7.4))}</text>
    <text class="soft state" x="10" y="33" font-size="11.5"></text>
    <line class="axis" y1="40" y2="${40 + 17 * methods.length}"/>${lines.join("")}</g>`;
}

function updateGraph() {
  if (P.graph === null) return;
  const [width] = P.graph.card;
  const left = 10 + LABEL;
  const room = width - 10 - LABEL - FIGURE - 4;
  const scale = barScale();
  const to = (x) => left + room * (x - scale.low) / (scale.high - scale.low);
  const one = state.scope === "row";
  for (const node of element("graph").querySelectorAll(".node:not(.latent)")) {
    const j = Number(node.dataset.feature);
    const words = one ? (stateOf(state.row, j) === null ? "" : "= " + stateOf(state.row, j)) : movedWords(j);
    node.querySelector(".state").textContent = clipped(words, width - 20, 6.4);
    const axis = node.querySelector(".axis");
    axis.setAttribute("x1", to(0));
    axis.setAttribute("x2", to(0));
    if (one) node.dataset.row = state.row; else delete node.dataset.row;
    const spoken = [];
    for (const method of shownMethods()) {
      const x = current(method, j);
      const bar = node.querySelector(`.bar[data-method="${method.index}"]`);
      bar.setAttribute("x", Math.min(to(0), to(x)));
      bar.setAttribute("width", Math.abs(to(x) - to(0)));
      node.querySelector(`.figure[data-method="${method.index}"]`).textContent = one ? signed(x) : number(x);
      const ends = currentRange(method, j);
      const whisker = node.querySelector(`.whisker[data-method="${method.index}"]`);
      whisker.setAttribute("x1", ends === null ? to(0) : to(ends[0]));
      whisker.setAttribute("x2", ends === null ? to(0) : to(ends[1]));
      spoken.push(method.name + " " + (one ? signed(x) : number(x)));
    }
    node.setAttribute("aria-label", P.features[j] + (words ? ", " + words : "") + ": " + spoken.join(", "));
  }
  element("graph-caption").textContent = one
    ? "The values of " + rowName(state.row) + ", left of the line below zero. " + ARROWS
    : "Mean of |value| over the " + P.n_rows.toLocaleString("en-US") + " rows. " + ARROWS + " Select a feature to see what touches it.";
}

// How the credit of a feature changes between the two methods that are compared.
function movedWords(feature) {
  if (P.pair === null) return "";
  const [one, other] = P.pair.map((index) => METHODS[index]);
  const change = overall(other.importance, feature) - overall(one.importance, feature);
  const text = number(Math.abs(change));
  const doubt = 2 * Math.hypot(...[one, other].map((method) => (method.noise === null ? 0 : overall(method.noise, feature))));
  if (doubt > 0 && Math.abs(change) <= doubt) return "no change beyond errors";
  return text === "0" ? "no change" : (change > 0 ? "gains " : "loses ") + text;
}

// One scale for all cards and all bars of the table, with zero on it.
function barScale() {
  let low = 0;
  let high = 0;
  for (const method of shownMethods()) {
    for (let j = 0; j < N; j += 1) {
      for (const x of [current(method, j), ...(currentRange(method, j) || [])]) {
        low = Math.min(low, x);
        high = Math.max(high, x);
      }
    }
  }
  if (low === high) high = 1;
  return { low: low, high: high };
}

function markGraph() {
  if (P.graph === null) return;
  const chosen = P.graph.nodes.findIndex((node) => node.feature !== null && node.feature === state.feature);
  const near = new Set(chosen < 0 ? [] : [chosen]);
  element("graph").querySelectorAll(".arrow").forEach((path) => {
    const arrow = P.graph.arrows[Number(path.dataset.arrow)];
    const touches = arrow.from === chosen || arrow.to === chosen;
    if (touches) { near.add(arrow.from); near.add(arrow.to); }
    path.classList.toggle("near", chosen >= 0 && touches);
    path.classList.toggle("far", chosen >= 0 && !touches);
    path.setAttribute("marker-end", chosen >= 0 && touches ? "url(#tip-of-near-arrow)" : "url(#tip-of-arrow)");
  });
  element("graph").querySelectorAll(".node").forEach((node, i) => {
    node.classList.toggle("chosen", i === chosen);
    node.classList.toggle("far", chosen >= 0 && !near.has(i));
    if (node.hasAttribute("aria-pressed")) node.setAttribute("aria-pressed", String(i === chosen));
  });
}
