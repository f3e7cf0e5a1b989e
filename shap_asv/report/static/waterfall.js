// From the base value to the prediction, causes first: one figure for each method, on one scale, line beside line.
const MOST_LINES = 15;
const DIGIT = 7.2;  // of a number beside a bar, whichever way it points

// The features that get a line of their own, and those that are summed up; the same for all methods.
function waterfallLines(methods) {
  const features = Array.from({ length: N }, (_, j) => j);
  if (N <= MOST_LINES) return { own: features, rest: [] };
  const size = (j) => Math.max(...methods.map((method) => Math.abs(value(method, state.row, j))));
  const kept = new Set(features.slice().sort((a, b) => size(b) - size(a)).slice(0, MOST_LINES - 1));
  return { own: features.filter((j) => kept.has(j)), rest: features.filter((j) => !kept.has(j)) };
}

function waterfallSteps(method, lines) {
  let level = base(method, state.row);
  const steps = lines.own.map((j) => {
    const x = value(method, state.row, j);
    const step = { feature: j, from: level, x: x };
    level += x;
    return step;
  });
  if (lines.rest.length) {
    const x = lines.rest.reduce((sum, j) => sum + value(method, state.row, j), 0);
    steps.push({ feature: null, count: lines.rest.length, from: level, x: x });
    level += x;
  }
  return { steps: steps, end: level };
}

function drawWaterfalls() {
  const methods = shownMethods();
  const lines = waterfallLines(methods);
  const all = methods.map((method) => waterfallSteps(method, lines));
  let low = Infinity;
  let high = -Infinity;
  all.forEach((one) => one.steps.forEach((step) => {
    low = Math.min(low, step.from, step.from + step.x);
    high = Math.max(high, step.from, step.from + step.x);
  }));
  if (low === high) { low -= 0.5; high += 0.5; }
  const room = 8 + DIGIT * Math.max(...all.map((one) => Math.max(...one.steps.map((step) => signed(step.x).length))));
  const place = element("waterfalls");
  place.innerHTML = methods.map((method) => `<figure data-method="${method.index}"><figcaption><span class="swatch" style="background:${method.colour}"></span>${escaped(method.name)}</figcaption></figure>`).join("");
  methods.forEach((method, i) => {
    const figure = place.children[i];
    figure.insertAdjacentHTML("beforeend", waterfall(method, all[i], low, high, figure.clientWidth, room));
  });
}

function waterfall(method, fall, low, high, width, room) {
  const line = 24;
  const label = Math.min(190, 0.38 * width);
  const left = label + room;
  const right = width - room;
  const to = (x) => left + (right - left) * (x - low) / (high - low);
  const top = 26;
  const bottom = top + line * fall.steps.length;
  const start = base(method, state.row);
  const parts = [`<line class="grid" x1="${to(start)}" x2="${to(start)}" y1="${top - 4}" y2="${bottom}"/>`,
    `<text class="soft" font-size="12" x="0" y="14">starts at the mean</text><text font-size="12" x="${to(start)}" y="14" text-anchor="middle">${number(start, 1)}</text>`];
  fall.steps.forEach((step, i) => {
    const y = top + line * i;
    const end = step.from + step.x;
    const name = step.feature === null ? step.count + " other features"
      : P.features[step.feature] + (stateOf(state.row, step.feature) === null ? "" : " = " + stateOf(state.row, step.feature));
    const chosen = step.feature !== null && step.feature === state.feature;
    const tip = step.feature === null ? ` data-tip="${escaped(name + "\n" + signed(step.x, 1))}"`
      : ` data-feature="${step.feature}" data-row="${state.row}" data-method="${method.index}"`;
    const text = signed(step.x);
    const before = text.startsWith(MINUS);
    parts.push(`<g class="tipped step"${tip}><rect x="0" y="${y}" width="${width}" height="${line}" fill="transparent"/>
      <text font-size="12" x="0" y="${y + 16}"${chosen ? ' font-weight="700"' : ""}>${escaped(step.feature === null ? name : clippedName(P.features[step.feature], name, label))}</text>
      ${arrowBar(to(step.from), to(end), y + 4, line - 8, step.x)}
      <text class="figure" font-size="12" x="${to(end) + (before ? -5 : 5)}" y="${y + 16}" text-anchor="${before ? "end" : "start"}">${text}</text></g>
      <line class="link" x1="${to(end)}" x2="${to(end)}" y1="${y + line - 4}" y2="${y + line + 4}"/>`);
  });
  parts.push(`<line class="axis" x1="${label}" x2="${width}" y1="${bottom + 4}" y2="${bottom + 4}"/>
    <text font-size="12" font-weight="600" x="0" y="${bottom + 21}">prediction</text>
    <text class="end" font-size="12" font-weight="600" x="${to(fall.end)}" y="${bottom + 21}" text-anchor="middle">${number(fall.end, 1)}</text>`);
  const words = method.name + " of " + rowName(state.row) + ": from " + number(start, 1) + " to " + number(fall.end, 1);
  return `<svg width="${width}" height="${bottom + 30}" role="img" aria-label="${escaped(words)}; the numbers are in the table above">${parts.join("")}</svg>`;
}

// Where the room is small a name is cut, and its state stays as long as it takes half of the room at most.
function clippedName(feature, name, room) {
  const held = 6.5 * (name.length - feature.length);
  return held > room / 2 ? clipped(name, room, 6.5) : clipped(feature, room - held, 6.5) + name.slice(feature.length);
}

// A bar with a point: its direction tells the sign where colours cannot.
function arrowBar(from, to, y, height, x) {
  const head = Math.min(6, Math.abs(to - from)) * Math.sign(to - from || 1);
  const points = [[from, y], [to - head, y], [to, y + height / 2], [to - head, y + height], [from, y + height]];
  return `<polygon class="${x < 0 ? "minus" : "plus"}" points="${points.map((p) => p[0].toFixed(1) + "," + p[1].toFixed(1)).join(" ")}"/>`;
}
