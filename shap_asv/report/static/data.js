// The payload, decoded, and arithmetic on it. Everything else asks here for numbers.
const P = JSON.parse(document.getElementById("payload").textContent);
const N = P.features.length;
const R = P.rows.length;
const METHODS = P.methods.map((method, index) => ({
  name: method.name,
  index: index,
  values: floats(method.values),
  base: floats(method.base),
  error: method.error === null ? null : floats(method.error),
  importance: floats(method.importance),
  noise: method.noise === null ? null : floats(method.noise),
  colour: "var(--method-" + (index % 6) + ")",
}));
const RANGE = P.sensitivity === null ? null : {
  method: P.sensitivity.method,
  low: floats(P.sensitivity.low),
  high: floats(P.sensitivity.high),
  importanceLow: floats(P.sensitivity.importance_low),
  importanceHigh: floats(P.sensitivity.importance_high),
};
const MINUS = "\u2212";

const state = {
  output: 0,
  row: 0,                 // a position among the rows of the page; P.rows has their numbers
  scope: "all",           // "all": means over all rows, "row": the values of one
  shown: METHODS.map(() => true),
  feature: null,
  featureOrder: "causal",
  rowOrder: "difference",
  search: "",
};

function floats(text) {
  const bytes = atob(text);
  const view = new DataView(new ArrayBuffer(bytes.length));
  for (let i = 0; i < bytes.length; i += 1) view.setUint8(i, bytes.charCodeAt(i));
  const numbers = new Float32Array(bytes.length / 4);
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = view.getFloat32(4 * i, true);
  return numbers;
}

const shownMethods = () => METHODS.filter((method) => state.shown[method.index]);
const at = (array, row, feature) => array[(state.output * R + row) * N + feature];
const overall = (array, feature) => array[state.output * N + feature];
const value = (method, row, feature) => at(method.values, row, feature);
const base = (method, row) => method.base[state.output * R + row];

// What the charts show of a feature: its mean |value|, or its value in the chosen row.
function current(method, feature) {
  return state.scope === "all" ? overall(method.importance, feature) : value(method, state.row, feature);
}

function currentError(method, feature) {
  if (method.error === null) return null;
  return state.scope === "all" ? overall(method.noise, feature) : at(method.error, state.row, feature);
}

function currentRange(method, feature) {
  if (RANGE === null || method.index !== RANGE.method) return null;
  return state.scope === "all"
    ? [overall(RANGE.importanceLow, feature), overall(RANGE.importanceHigh, feature)]
    : [at(RANGE.low, state.row, feature), at(RANGE.high, state.row, feature)];
}

function stateOf(row, feature) {
  if (P.states === null) return null;
  const column = P.states[feature];
  return column.labels[column.codes[row]];
}

// Of states without an order: which of the colours for names is that of the row.
const named = (feature) => P.states !== null && P.states[feature].named;
const NAMED_COLOURS = 8;
const namedColour = (code) => (code < NAMED_COLOURS ? "var(--named-" + code + ")" : "var(--missing)");

const tone = (row, feature) => (P.states === null ? null : P.states[feature].tones[row]);

function prediction(row) {
  const method = METHODS[0];
  let total = base(method, row);
  for (let j = 0; j < N; j += 1) total += value(method, row, j);
  return total;
}

// How far the shown methods are apart in a row: the sum over features of largest minus smallest value.
function difference(row) {
  const methods = shownMethods().length > 1 ? shownMethods() : METHODS;
  let total = 0;
  for (let j = 0; j < N; j += 1) {
    let low = Infinity;
    let high = -Infinity;
    for (const method of methods) {
      low = Math.min(low, value(method, row, j));
      high = Math.max(high, value(method, row, j));
    }
    total += high - low;
  }
  return total;
}

// --- numbers and text

function number(x, more, sign) {
  const digits = Math.min(12, P.decimals[state.output] + (more || 0));
  let text = Math.abs(x).toFixed(digits);
  if (Number(text) === 0) return "0";
  if (digits === 0) text = Math.round(Math.abs(x)).toLocaleString("en-US");
  return (x < 0 ? MINUS : sign ? "+" : "") + text;
}

const signed = (x, more) => number(x, more, true);
const shortError = (x) => (x === null ? "" : x === 0 ? "0" : x.toPrecision(2));

function escaped(text) {
  return String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");
}

function clipped(text, room, perLetter) {
  const letters = Math.max(3, Math.floor(room / (perLetter || 6.9)));
  return text.length <= letters ? text : text.slice(0, letters - 1) + "\u2026";
}

const element = (id) => document.getElementById(id);
const rowName = (row) => "row " + P.rows[row];
const outputName = () => P.outputs[state.output];
