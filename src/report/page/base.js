// Elements, numbers as people write them, colours. Whatever comes from a run is set as text, never
// as markup.

const SVG = "http://www.w3.org/2000/svg";

function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

const el = (name, attributes, ...children) => put(set(document.createElement(name), attributes), children);
const svg = (name, attributes, ...children) => put(set(document.createElementNS(SVG, name), attributes), children);

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function bytesText(bytes) {
  if (bytes === null) return "unlimited";
  if (!isNumber(bytes)) return "unknown";
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1023.5 && unit + 1 < names.length) { value /= 1024; ++unit; }
  return value.toFixed(value === Math.floor(value) || value >= 99.95 ? 0 : 1) + " " + names[unit];
}

const countText = (value) => (isNumber(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : "unknown");

function durationText(seconds) {
  if (!isNumber(seconds)) return "unknown";
  if (seconds < 0) return "-" + durationText(-seconds);
  if (seconds === 0) return "0 s";
  for (const [size, name] of [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]]) {
    const value = seconds / size;
    if (value < (name === "s" ? 59.95 : 999.5)) return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + " " + name;
  }
  const s = Math.round(seconds);
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  const hours = Math.round(seconds / 3600);
  return `${countText(Math.floor(hours / 24))} d ${hours % 24} h`;
}

// Beside an axis: "10 s", not "10.0 s".
const tickDuration = (seconds) => durationText(seconds).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ").replace(/ 00 s$/, "");

function numberText(value) {
  if (!isNumber(value)) return "not a number";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return countText(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(5)));
}

const percentText = (share) => (isNumber(share) ? (share * 100).toFixed(share !== 0 && share < 0.0995 ? 1 : 0) + "%" : "unknown");
// A name that goes on and on (a stage with all of its settings) by its beginning; all of it is its title.
function shortName(name, most = 40) {
  const text = String(name === undefined || name === null ? "" : name);
  return text.length <= most ? text : text.slice(0, Math.max(text.lastIndexOf(" ", most), most / 2)).trimEnd() + " …";
}
const rateText = (value) => (isNumber(value) ? (value >= 99.95 ? countText(value) : numberText(Number(value.toPrecision(3)))) + "/s" : "unknown");

// What is shown rounded has its exact value with it.
const shownAs = (write) => (value) => el("data", { value: String(value), title: isNumber(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 12 }) : undefined }, write(value));
const bytes = (value) => el("data", { value: String(value), title: isNumber(value) ? countText(value) + " bytes" : undefined }, bytesText(value));
const count = shownAs(countText);
const duration = shownAs(durationText);
const number = shownAs(numberText);
const percent = shownAs(percentText);
const rate = shownAs(rateText);

const TAGS = ["parameters", "gradients", "optimizer", "activations", "workspace", "input", "decode", "shuffle", "cache", "prefetch", "staging", "runtime", "user"];
const tagColour = (tag) => `var(--${TAGS.includes(tag) ? tag : tag === "pages" ? "pages" : "unknown"})`;
const runColour = (index) => `var(--run${index % 8})`;
const swatch = (colour, line) => el("span", { class: line ? "swatch line" : "swatch", style: { background: colour }, "aria-hidden": "true" });

// Rows: arrays of cells. A heading that begins with "#" is a column of numbers, with "~" of single words.
function table(caption, headings, rows, more) {
  const kinds = headings.map((heading) => (heading.startsWith("#") ? "n" : heading.startsWith("~") ? "w" : undefined));
  return el("table", more || {},
    caption && el("caption", {}, caption),
    el("thead", {}, el("tr", {}, headings.map((heading, i) => el("th", { class: kinds[i], scope: "col" }, heading.replace(/^[#~]/, ""))))),
    el("tbody", {}, rows.map((row) => el("tr", { class: row.kind }, (row.cells || row).map((cell, i) => (cell instanceof HTMLTableCellElement ? cell : el("td", { class: kinds[i] }, cell)))))));
}

const scrolled = (child, label) => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, child);
const behind = (summary, make) => {
  const details = el("details", {}, el("summary", {}, summary));
  const fill = () => { if (details.childElementCount === 1) details.append(make()); };
  details.addEventListener("toggle", () => details.open && fill());
  window.addEventListener("beforeprint", fill);
  return details;
};

// The index of the last entry of a rising list that is at most `value`; 0 if none is.
function indexAt(list, value) {
  let low = 0;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list[middle] <= value) low = middle; else high = middle - 1;
  }
  return low;
}

function largest(list) {
  let most = -Infinity;
  for (const value of list) if (isNumber(value) && value > most) most = value;
  return most;
}

function smallest(list) {
  let least = Infinity;
  for (const value of list) if (isNumber(value) && value < least) least = value;
  return least;
}

const say = (text) => { document.getElementById("status").textContent = text; };

// What is not on the screen yet is drawn in turns, so that the page answers meanwhile. `complete` says
// that nothing is left.
const later = [];
let takesTurns = false;

function turn() {
  const until = performance.now() + 10;
  while (later.length > 0 && performance.now() < until) later.shift()();
  if (later.length > 0) { setTimeout(turn); return; }
  takesTurns = false;
  document.documentElement.dataset.complete = "true";
}

function inTurn(work) {
  later.push(work);
  if (takesTurns) return;
  takesTurns = true;
  delete document.documentElement.dataset.complete;
  setTimeout(turn);
}

// Paper shows everything.
window.addEventListener("beforeprint", () => { while (later.length > 0) later.shift()(); });
