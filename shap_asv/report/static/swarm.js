// All rows as dots, one figure for each method on one scale. A dot is a row; its colour is the row's state.
const LINE = 28;
const DOT = 2.7;

function drawSwarms() {
  const methods = shownMethods();
  let low = 0;
  let high = 0;
  for (const method of methods) {
    for (let i = state.output * R * N; i < (state.output + 1) * R * N; i += 1) {
      low = Math.min(low, method.values[i]);
      high = Math.max(high, method.values[i]);
    }
  }
  if (low === high) high = 1;
  const place = element("swarms");
  place.innerHTML = methods.map((method) => `<figure data-method="${method.index}"><figcaption><span class="swatch" style="background:${method.colour}"></span>${escaped(method.name)}</figcaption></figure>`).join("");
  methods.forEach((method, i) => {
    const figure = place.children[i];
    figure.insertAdjacentHTML("beforeend", swarm(method, low, high, figure.clientWidth));
  });
  markSwarms();
}

function swarm(method, low, high, width) {
  const label = Math.min(150, 0.32 * width);
  const left = label + 8;
  const to = (x) => left + 6 + (width - left - 14) * (x - low) / (high - low);
  const height = LINE * N + 26;
  const parts = [`<line class="axis" x1="${to(0)}" x2="${to(0)}" y1="0" y2="${LINE * N}"/>`];
  for (let j = 0; j < N; j += 1) {
    const middle = LINE * j + LINE / 2;
    parts.push(`<line class="grid" x1="${left}" x2="${width}" y1="${middle}" y2="${middle}"/>
      <text font-size="12" x="0" y="${middle + 4}">${escaped(clipped(P.features[j], label, 6.9))}</text>`);
    parts.push(dots(method, j, middle, to));
  }
  for (const x of ticks(low, high)) {
    parts.push(`<text class="soft" font-size="11.5" x="${to(x)}" y="${LINE * N + 16}" text-anchor="middle">${tickText(x)}</text>`);
  }
  return `<svg width="${width}" height="${height}" role="img" aria-label="${escaped(method.name)} of the rows, one dot for each row and feature">${parts.join("")}</svg>`;
}

// Dots that would cover one another are stacked around the line, and squeezed where a stack would leave it.
function dots(method, feature, middle, to) {
  const bins = new Map();
  for (let row = 0; row < R; row += 1) {
    const bin = Math.round(to(value(method, row, feature)) / (1.6 * DOT));
    if (!bins.has(bin)) bins.set(bin, []);
    bins.get(bin).push(row);
  }
  const parts = [];
  for (const rows of bins.values()) {
    rows.sort((a, b) => (tone(a, feature) || 0) - (tone(b, feature) || 0));
    const gap = Math.min(1.5 * DOT, (LINE - 2 * DOT - 2) / Math.max(1, rows.length - 1));
    rows.forEach((row, i) => {
      const y = middle + gap * (i - (rows.length - 1) / 2);
      parts.push(`<circle class="dot tipped" data-row="${row}" data-feature="${feature}" data-method="${method.index}" cx="${to(value(method, row, feature)).toFixed(1)}" cy="${y.toFixed(1)}" r="${DOT}" fill="${dotColour(row, feature)}"/>`);
    });
  }
  return parts.join("");
}

function dotColour(row, feature) {
  return named(feature) ? namedColour(P.states[feature].codes[row]) : toneColour(tone(row, feature));
}

// The colours of states that have no order, feature by feature.
function fillNamedStates() {
  const features = P.features.map((_, j) => j).filter(named);
  element("named-note").textContent = features.length ? "; states without an order have colours of their own" : "";
  element("named-states").innerHTML = features.map((j) => {
    const labels = P.states[j].labels;
    const shown = labels.slice(0, NAMED_COLOURS).map((label, code) =>
      `<span class="nowrap"><span class="spot" style="background:${namedColour(code)}"></span> ${escaped(clipped(label, 200))}</span>`);
    return `<p>${escaped(P.features[j])}: ${shown.join(" ")}${labels.length > NAMED_COLOURS ? " and others, in grey" : ""}</p>`;
  }).join("");
}

function toneColour(share) {
  return share === null ? "var(--missing)" : `color-mix(in oklab, var(--high) ${Math.round(100 * share)}%, var(--low))`;
}

function ticks(low, high) {
  const rough = (high - low) / 5.5;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found;
}

const tickText = (x) => (x < 0 ? MINUS : "") + Number(Math.abs(x).toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 8 });

function markSwarms() {
  for (const dot of document.querySelectorAll(".dot.chosen")) { dot.classList.remove("chosen"); dot.setAttribute("r", DOT); }
  if (state.scope !== "row") return;
  for (const dot of document.querySelectorAll(`.dot[data-row="${state.row}"]`)) {
    dot.classList.add("chosen");
    dot.setAttribute("r", DOT + 2);
    dot.parentNode.appendChild(dot);  // what is chosen lies on top
  }
}
