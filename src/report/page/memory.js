// Memory over time: who holds what, against the budget.

// Sums by tag of each sample, and what pages hold beyond that.
function seriesOf(run, device) {
  const tags = new Map();
  const n = device.time.length;
  const rest = new Float64Array(n);
  for (let i = 0; i < n; ++i) {
    let sum = 0;
    const held = device.held[i];
    for (let k = 0; k + 1 < held.length; k += 2) {
      const holder = run.holders[held[k]];
      const tag = holder ? holder[2] : "unknown";
      if (!tags.has(tag)) tags.set(tag, new Float64Array(n));
      tags.get(tag)[i] += held[k + 1];
      sum += held[k + 1];
    }
    rest[i] = Math.max(0, device.used[i] - sum);
  }
  const order = (tag) => { const at = TAGS.indexOf(tag); return at < 0 ? 99 : at; };
  const layers = [...tags.keys()].sort((a, b) => order(a) - order(b)).map((tag) => ({ tag, values: tags.get(tag) }));
  if (rest.some((value) => value > 0)) layers.push({ tag: "pages", values: rest });
  return layers;
}

// For each pixel that has samples the one that used most: its place and x.
function columnsOf(frame, device) {
  const columns = [];
  const { time, used } = device;
  const from = indexAt(time, frame.x0);
  for (let i = from; i < time.length; ++i) {
    if (time[i] > frame.x1) break;
    const x = Math.max(frame.left, Math.round(frame.x(time[i])));
    const last = columns[columns.length - 1];
    if (last && last.x === x) { if (used[i] > used[last.i]) last.i = i; } else columns.push({ x, i });
  }
  return columns;
}

function drawStack(frame, device, layers) {
  const columns = columnsOf(frame, device);
  if (columns.length === 0) return;
  const end = Math.min(frame.left + frame.inner, Math.max(columns[columns.length - 1].x + 1, frame.x(Math.min(frame.x1, device.end))));
  let below = new Float64Array(columns.length);
  for (const layer of layers) {
    const above = below.map((value, k) => value + layer.values[columns[k].i]);
    const edge = (heights) => {
      let path = "";
      for (let k = 0; k < columns.length; ++k) {
        const y = frame.y(heights[k]).toFixed(1);
        path += `${k === 0 ? "" : "L"}${columns[k].x} ${y}L${k + 1 < columns.length ? columns[k + 1].x : end.toFixed(1)} ${y}`;
      }
      return path;
    };
    const back = edge(below).split("L").reverse().join("L");
    frame.plot.append(svg("path", { d: `M${edge(above)}L${back}Z`, style: { fill: tagColour(layer.tag) } }));
    below = above;
  }
}

function holdersTable(run, heldList) {
  const rows = [];
  for (let k = 0; k + 1 < heldList.length; k += 2) rows.push([run.holders[heldList[k]] || ["", "", "unknown", ""], heldList[k + 1]]);
  rows.sort((a, b) => b[1] - a[1]);
  const most = rows.length === 0 ? 1 : rows[0][1];
  return table(null, ["~held as", "by", "#bytes"], [...rows.map(([[, budget, tag, label], size]) => [
    [swatch(tagColour(tag)), tag],
    el("td", { title: `${budget}: ${label}` }, shortName(label) || "(no label)", el("i", { class: "meter", style: { background: tagColour(tag), width: (100 * size) / most + "%" } })),
    bytes(size)])]);
}

class MemoryPanel {
  constructor(run, device) {
    this.run = run;
    this.device = device;
    device.end = Math.max(run.seconds, device.time[device.time.length - 1] || 0, 1e-3);
    this.layers = seriesOf(run, device);
    this.whole = [0, device.end];
    this.range = this.whole;
    const used = Math.max(largest(device.used), 0);
    const limit = Math.max(0, largest(device.limit.filter(isNumber)));
    const system = Math.max(0, largest(device.system));
    this.used = used;
    this.showLimit = limit > 0 && limit <= 6 * used;
    this.hasLimit = limit > 0;
    this.limit = limit;
    this.showSystem = system > 0 && system <= 2.5 * Math.max(used, this.showLimit ? limit : 0);
    this.system = system;
    // A trace has operations, a run has seconds.
    this.byTime = run.state !== "replayed";
    this.whenText = this.byTime ? durationText : (x) => `operation ${countText(x)}`;
  }

  top() {
    return 1.06 * Math.max(this.used, 1, this.showLimit ? this.limit : 0, this.showSystem ? this.system : 0);
  }

  when(x) { return this.byTime ? duration(x) : count(x); }

  stepAt(time) {
    const { steps } = this.run;
    if (steps.time.length === 0) return null;
    const i = indexAt(steps.time, time);
    return steps.time[i] <= time ? steps.step[i] : 0;
  }

  build() {
    const { run, device } = this;
    this.chart = new Chart({
      label: `Memory on ${device.name} over time, stacked by tag, against the budget. The arrow keys move along it, plus and minus zoom, P goes to the peak, 0 shows all. The tables below have the same figures.`,
      height: 330, binary: true, x: () => this.range, y: () => [0, this.top()], xText: this.byTime ? tickDuration : countText, yText: bytesText,
      draw: (frame) => this.draw(frame),
      stops: () => device.time,
      tip: (x, frame) => this.tip(x, frame),
      moved: (x) => this.show(x),
      chosen: (range) => this.zoom(range),
      keys: { p: () => this.toPeak(), P: () => this.toPeak() },
    });
    this.strip = new Chart({
      label: "The whole run; drag to choose a part of it", height: 52, top: 4, bottom: 4, bare: true,
      x: () => this.whole, y: () => [0, Math.max(this.used, 1) * 1.06],
      draw: (frame) => {
        drawStack(frame, device, this.layers);
        const [from, to] = this.range.map(frame.x);
        if (this.range !== this.whole) frame.over.append(svg("rect", { class: "window", x: from, width: Math.max(2, to - from), y: 1, height: 50 }));
      },
      chosen: (range) => this.zoom(range),
    });
    const toggle = (text, on, change) => {
      const box = el("input", { type: "checkbox", onchange: () => { change(box.checked); this.chart.draw(); } });
      box.checked = on;
      return el("label", {}, box, text);
    };
    const bar = el("div", { class: "bar" },
      el("button", { type: "button", onclick: () => this.zoom(null) }, this.byTime ? "whole run" : "all of it"),
      el("button", { type: "button", onclick: () => this.toPeak() }, "peak"),
      this.run.steps.time.length > 2 && el("button", { type: "button", onclick: () => this.oneStep() }, "one step"),
      el("button", { type: "button", "aria-label": "zoom in", onclick: () => this.scale(0.5) }, "+"),
      el("button", { type: "button", "aria-label": "zoom out", onclick: () => this.scale(2) }, "−"),
      el("span", { class: "push" }),
      this.hasLimit && toggle("budget", this.showLimit, (on) => { this.showLimit = on; }),
      this.system > 0 && toggle("system’s count", this.showSystem, (on) => { this.showSystem = on; }));
    const legend = el("ul", { class: "legend" },
      this.layers.map(({ tag }) => el("li", {}, swatch(tagColour(tag)), tag === "pages" ? "page rounding and free pages" : tag)),
      this.hasLimit && el("li", {}, swatch("var(--accent)", true), "budget"),
      this.system > 0 && el("li", {}, swatch("var(--system)", true), device.name.startsWith("cpu") ? "resident set of the process, code and libraries included" : "the driver’s count"));
    this.panel = el("div", { "aria-live": "off" });
    this.show(null);
    return el("div", {}, bar, el("div", { class: "split" }, el("div", {}, this.chart.root, this.strip.root, legend), this.panel), this.tables());
  }

  draw(frame) {
    const { device } = this;
    drawStack(frame, device, this.layers);
    const ends = [...device.time, device.end];
    if (this.showSystem) frame.plot.append(svg("path", { class: "system", d: pathOf(frame, ends, [...device.system, device.system[device.system.length - 1]].map((v) => v || null), true) }));
    if (this.showLimit) {
      frame.plot.append(svg("path", { class: "limit", d: pathOf(frame, ends, [...device.limit, device.limit[device.limit.length - 1]], true) }));
      const now = device.limit[indexAt(device.time, frame.x1)];
      if (isNumber(now)) frame.over.append(svg("text", { class: "limit-text", x: frame.left + frame.inner - 4, y: frame.y(now) - 6, "text-anchor": "end" }, "budget " + bytesText(now)));
    } else if (this.hasLimit) {
      frame.over.append(svg("text", { class: "limit-text", x: frame.left + frame.inner - 4, y: frame.top + 12, "text-anchor": "end" }, `↑ budget ${bytesText(this.limit)}`));
    }
    drawMarks(frame, this.run.events, true);
  }

  tip(x, frame) {
    const { device } = this;
    if (device.time.length === 0) return null;
    const i = indexAt(device.time, x);
    const step = this.stepAt(x);
    const lines = [this.whenText(x) + (step === null ? "" : `, after step ${countText(step)}`), `${bytesText(device.used[i])} of ${bytesText(device.limit[i])}`];
    if (device.system[i] > 0) lines.push(`the system counts ${bytesText(device.system[i])}`);
    for (const event of eventsNear(this.run.events, frame, x)) lines.push("• " + eventText(event));
    return lines.join("\n");
  }

  // Who held what: under the cursor, or at the peak.
  show(x) {
    const { run, device } = this;
    const atPeak = x === null || device.time.length === 0;
    const i = atPeak ? -1 : indexAt(device.time, x);
    const held = atPeak ? device.peak.held : device.held[i];
    const key = atPeak ? "peak" : i;
    if (this.shown === key) return;
    this.shown = key;
    let sum = 0;
    for (let k = 1; k < held.length; k += 2) sum += held[k];
    const used = atPeak ? device.peak.used : device.used[i];
    this.panel.replaceChildren(
      el("h3", { style: { "margin-top": "0" } }, atPeak ? "Who held what at the peak" : ["Who held what at ", this.when(device.time[i])]),
      held.length === 0 ? el("p", {}, "The log does not say.") : holdersTable(run, held),
      el("p", {}, "In pages, as the budget counts: ", bytes(used), ". By holders: ", bytes(sum), "."));
  }

  zoom(range) {
    if (range === null) {
      this.range = this.whole;
    } else {
      let [from, to] = range;
      const least = this.whole[1] / 1e6;
      if (to - from < least) { const middle = (from + to) / 2; from = middle - least / 2; to = middle + least / 2; }
      from = Math.max(0, from);
      to = Math.min(this.whole[1], to);
      this.range = from <= 0 && to >= this.whole[1] ? this.whole : [from, to];
    }
    this.chart.draw();
    this.strip.draw();
    say(this.range === this.whole ? "the whole run" : `from ${this.whenText(this.range[0])} to ${this.whenText(this.range[1])}`);
  }

  scale(factor) {
    const [from, to] = this.range;
    const middle = (from + to) / 2;
    this.zoom([middle - ((to - from) / 2) * factor, middle + ((to - from) / 2) * factor]);
  }

  // The sample that used most; between two of them more may have been used, which only the figure tells.
  peakTime() {
    const { used, time } = this.device;
    let best = 0;
    for (let i = 1; i < used.length; ++i) if (used[i] > used[best]) best = i;
    return time[best] || 0;
  }

  toPeak() {
    const at = this.peakTime();
    const wide = (this.range[1] - this.range[0]) / 2;
    if (at < this.range[0] || at > this.range[1]) this.zoom([at - wide, at + wide]);
    this.chart.move(at);
    say(`the peak, at ${this.whenText(at)}: ${bytesText(this.device.peak.used)}`);
  }

  oneStep() {
    const { time } = this.run.steps;
    const at = this.chart.at === null ? this.peakTime() : this.chart.at;
    const i = Math.min(Math.max(1, indexAt(time, at)), time.length - 1);
    const wide = Math.max(time[i] - time[i - 1], 1e-6);
    this.zoom([time[i - 1] - wide * 0.1, time[i] + wide * 0.1]);
  }

  tables() {
    const { run, device } = this;
    const { time } = device;
    return behind(`Table: memory on ${device.name} over time`, () => {
      const step = Math.max(1, Math.floor(time.length / 200));
      const rows = [];
      let best = 0;
      for (let i = 1; i < time.length; ++i) if (device.used[i] > device.used[best]) best = i;
      for (let i = 0; i < time.length; ++i) {
        if (i % step !== 0 && i !== best && i !== time.length - 1) continue;
        const at = this.stepAt(time[i]);
        rows.push([this.when(time[i]), at === null ? "" : count(at), bytes(device.used[i]), bytes(device.limit[i]), device.system[i] > 0 ? bytes(device.system[i]) : "",
          this.layers.filter((layer) => layer.values[i] > 0 && layer.tag !== "pages").map((layer) => `${layer.tag} ${bytesText(layer.values[i])}`).join(", ")]);
      }
      return scrolled(table(null, [this.byTime ? "#time" : "#operation", "#step", "#used", "#budget", "#system", "by tag"], rows), "Memory over time");
    });
  }
}

function memorySection(run) {
  const section = el("section", { id: "memory", "aria-labelledby": "memory-h" }, el("h2", { id: "memory-h" }, "Memory"));
  const devices = run.devices.filter((device) => device.time.length > 0);
  if (devices.length === 0) {
    section.append(el("p", { class: "lead" }, run.state === "refused" ? "Nothing was taken: the run was refused before its first step." : "The log has no figures of memory."));
    return section;
  }
  section.append(el("p", { class: "lead" }, run.state === "replayed" ? "What the trace held, by the size of its blocks, in the pages it took. Drag to zoom, double-click for all of it; the table follows the cursor."
    : "Every byte by what it is for, as the ledger had it, against the budget. Drag to zoom, double-click for the whole run; the table follows the cursor."));
  for (const device of devices) {
    if (devices.length > 1) section.append(el("h3", {}, device.name));
    section.append(new MemoryPanel(run, device).build());
  }
  return section;
}
