// Which row: a list that can be searched, sorted, clicked and walked through with the arrow keys.
let listed = [];

// "Body Mass (g) = 3200, sex=male" -> tests of a row, each of one feature and its state. Without a name before a "=",
// words are numbers of rows, states, or "part of a name=state".
function conditionsOf(text) {
  const query = text.toLowerCase().trim();
  const has = (wanted, features) => (row) => features.some((j) => {
    const label = stateOf(row, j).toLowerCase();
    return P.states[j].labels.some((known) => known.toLowerCase() === wanted) ? label === wanted : label.startsWith(wanted);
  });
  const found = P.states === null ? [] : namesIn(query);
  if (found.length) {
    return found.map((one, i) => has(query.slice(one.end, i + 1 < found.length ? found[i + 1].start : undefined).replace(/^\s+|[\s,;]+$/g, ""), [one.feature]));
  }
  const anywhere = P.features.map((_, j) => j);
  const isState = (wanted) => P.states !== null && anywhere.some((j) => P.states[j].labels.some((known) => known.toLowerCase() === wanted));
  return (isState(query) ? [query] : query.split(/[\s,]+/)).filter((word) => word).map((word) => {
    const [name, wanted] = word.includes("=") ? word.split("=", 2) : [null, word];
    if (name !== null) return P.states === null ? () => false : has(wanted, anywhere.filter((j) => P.features[j].toLowerCase().includes(name)));
    return (row) => String(P.rows[row]) === word || (isState(word) && anywhere.some((j) => stateOf(row, j).toLowerCase() === word));
  });
}

// Where names of features stand before a "=", from left to right; of names that overlap the longest counts.
function namesIn(query) {
  const found = [];
  P.features.forEach((name, feature) => {
    const small = name.toLowerCase();
    for (let start = query.indexOf(small); start >= 0; start = query.indexOf(small, start + 1)) {
      const sign = query.slice(start + small.length).match(/^\s*=/);
      if (sign && (start === 0 || /[\s,;]/.test(query[start - 1]))) found.push({ feature: feature, start: start, end: start + small.length + sign[0].length });
    }
  });
  found.sort((a, b) => (b.end - b.start) - (a.end - a.start));
  return found.filter((one, i) => !found.slice(0, i).some((other) => one.start < other.end && other.start < one.end)).sort((a, b) => a.start - b.start);
}

function findRows() {
  const tests = conditionsOf(state.search);
  const keys = {
    difference: (row) => -difference(row),
    prediction: (row) => -prediction(row),
    number: (row) => P.rows[row],
  };
  const key = Array.from({ length: R }, (_, row) => keys[state.rowOrder](row));
  listed = Array.from({ length: R }, (_, row) => row).filter((row) => tests.every((test) => test(row)));
  listed.sort((a, b) => key[a] - key[b] || a - b);
}

function drawRows() {
  findRows();
  element("row-list").innerHTML = listed.map((row) =>
    `<li role="option" id="row-${row}" data-pick="${row}" aria-selected="false">row ${P.rows[row]} <span>${
      state.rowOrder === "difference" && METHODS.length > 1 ? "differs by " + number(difference(row)) : "predicted " + number(prediction(row))}</span></li>`).join("");
  const all = P.n_rows > R ? R + " of " + P.n_rows.toLocaleString("en-US") + " rows are on this page" : "";
  element("row-count").textContent = listed.length < R ? listed.length + " of " + R + " rows match" + (all ? "; " + all : "") : all;
  markRow();
}

function markRow() {
  for (const item of element("row-list").querySelectorAll('[aria-selected="true"]')) item.setAttribute("aria-selected", "false");
  const item = element("row-" + state.row);
  for (const owner of [element("row-list"), element("search")]) {
    if (item) owner.setAttribute("aria-activedescendant", item.id); else owner.removeAttribute("aria-activedescendant");
  }
  if (!item) return;
  item.setAttribute("aria-selected", "true");
  const list = element("row-list");  // only the list is scrolled, never the page
  if (item.offsetTop < list.scrollTop + list.offsetTop) list.scrollTop = item.offsetTop - list.offsetTop;
  const over = item.offsetTop + item.offsetHeight - list.offsetTop - list.clientHeight;
  if (over > list.scrollTop) list.scrollTop = over;
}

function stepRow(by) {
  if (!listed.length) return;
  const place = listed.indexOf(state.row);
  const next = place < 0 ? 0 : Math.min(listed.length - 1, Math.max(0, place + by));
  pickRow(listed[next]);
}

function listenForRows() {
  element("row-list").addEventListener("click", (event) => {
    const item = event.target.closest("[data-pick]");
    if (item) pickRow(Number(item.dataset.pick));
  });
  const keys = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  for (const place of [element("row-list"), element("search")]) {
    place.addEventListener("keydown", (event) => {
      const edge = event.key === "Home" || event.key === "End";
      if (event.key === "Enter" && listed.length) pickRow(listed.includes(state.row) ? state.row : listed[0]);
      else if (event.key in keys && !(edge && place.id === "search")) stepRow(keys[event.key]);
      else return;
      event.preventDefault();
    });
  }
  element("search").addEventListener("input", (event) => { state.search = event.target.value; drawRows(); });
  element("row-order").addEventListener("change", (event) => { state.rowOrder = event.target.value; drawRows(); });
  element("previous-row").addEventListener("click", () => stepRow(-1));
  element("next-row").addEventListener("click", () => stepRow(1));
}
