// Feature by feature: a table that is a bar chart. A screen reader gets the numbers, everyone else both.
function featureSequence() {
  const features = Array.from({ length: N }, (_, j) => j);
  if (state.featureOrder === "causal") return features;
  const methods = shownMethods();
  const apart = (j) => {
    const all = methods.map((method) => current(method, j));
    return Math.max(...all) - Math.min(...all);
  };
  const size = (j) => Math.max(...methods.map((method) => Math.abs(current(method, j))));
  const key = state.featureOrder === "difference" ? apart : size;
  return features.sort((a, b) => key(b) - key(a) || a - b);
}

function bar(method, feature, scale) {
  const to = (x) => (100 * (x - scale.low)) / (scale.high - scale.low);
  const x = current(method, feature);
  const ends = currentRange(method, feature);
  const whisker = ends === null ? ""
    : `<line class="whisker" x1="${to(ends[0])}%" x2="${to(ends[1])}%" y1="8" y2="8"/>`;
  return `<svg aria-hidden="true"><line class="axis" x1="${to(0)}%" x2="${to(0)}%" y1="0" y2="16"/>
    <rect x="${Math.min(to(0), to(x))}%" width="${Math.abs(to(x) - to(0))}%" y="3" height="10" rx="2" fill="${method.colour}"/>${whisker}</svg>`;
}

function drawTable() {
  const methods = shownMethods();
  const one = state.scope === "row";
  const scale = barScale();
  element("values").style.setProperty("--methods", methods.length);
  const withState = one && P.states !== null;
  element("table-title").textContent = one ? "Feature by feature, " + rowName(state.row) : "Feature by feature, mean |value|";
  element("values").tHead.innerHTML = `<tr><th scope="col">Feature</th>${withState ? '<th scope="col">State</th>' : ""}${methods
    .map((method) => `<th scope="colgroup" colspan="${method.error === null ? 2 : 3}"><span class="swatch" style="background:${method.colour}"></span> ${escaped(method.name)}</th>`).join("")}</tr>`;
  element("values").tBodies[0].innerHTML = featureSequence().map((j) => {
    const row = one ? ` data-row="${state.row}"` : "";
    const cells = methods.map((method) =>
      `<td class="bar tipped" data-feature="${j}" data-method="${method.index}"${row}>${bar(method, j, scale)}</td>
       <td class="number tipped" data-feature="${j}" data-method="${method.index}"${row}>${one ? signed(current(method, j), 1) : number(current(method, j), 1)}</td>${
        method.error === null ? "" : `<td class="error">\u00b1 ${shortError(currentError(method, j))}</td>`}`);
    return `<tr data-line="${j}"><th scope="row"><button type="button" class="word" data-choose="${j}" aria-pressed="false">${escaped(P.features[j])}</button></th>${
      withState ? `<td class="state">${escaped(stateOf(state.row, j))}</td>` : ""}${cells.join("")}</tr>`;
  }).join("");
}
