// One tooltip for everything that has data-tip (or, for dots, data-row and data-feature); by mouse and by keyboard.
function tipText(feature, row, methods) {
  const lines = [P.features[feature] + (row === null || stateOf(row, feature) === null ? "" : " = " + stateOf(row, feature))];
  lines.push(row === null ? "mean |value| over " + P.n_rows.toLocaleString("en-US") + " rows" : rowName(row));
  for (const method of methods) {
    const x = row === null ? overall(method.importance, feature) : value(method, row, feature);
    const error = method.error === null ? null : row === null ? overall(method.noise, feature) : at(method.error, row, feature);
    lines.push(method.name + ": " + (row === null ? number(x, 1) : signed(x, 1)) +
      (error === null ? " (exact)" : " \u00b1 " + shortError(error) + " (standard error)"));
    if (RANGE !== null && method.index === RANGE.method) {
      const ends = row === null ? [overall(RANGE.importanceLow, feature), overall(RANGE.importanceHigh, feature)]
        : [at(RANGE.low, row, feature), at(RANGE.high, row, feature)];
      lines.push("over " + P.sensitivity.n_graphs + " graphs: " + number(ends[0], 1) + " to " + number(ends[1], 1));
    }
  }
  return lines.join("\n");
}

function textFor(target) {
  if (target.dataset.tip !== undefined) return target.dataset.tip;
  const row = target.dataset.row === undefined ? null : Number(target.dataset.row);
  const methods = target.dataset.method === undefined ? METHODS : [METHODS[Number(target.dataset.method)]];
  return tipText(Number(target.dataset.feature), row, methods);
}

function showTip(target, x, y) {
  const tip = element("tip");
  tip.textContent = textFor(target);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const top = y + 16 + box.height > window.innerHeight ? y - box.height - 10 : y + 16;
  tip.style.left = Math.max(8, left) + "px";
  tip.style.top = Math.max(8, top) + "px";
}

const tipped = (event) => event.target.closest("[data-tip], [data-feature].tipped");

function listenForTips() {
  const hide = () => { element("tip").hidden = true; };
  document.addEventListener("mousemove", (event) => {
    const target = event.target instanceof Element ? tipped(event) : null;
    if (target) showTip(target, event.clientX, event.clientY); else hide();
  });
  document.addEventListener("focusin", (event) => {
    const target = tipped(event);
    if (!target || !target.matches(":focus-visible")) return hide();
    const box = target.getBoundingClientRect();
    return showTip(target, box.left + box.width / 2, box.bottom);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}
