// Loss, metrics, learning rate, throughput; one run or several.

// Exponential smoothing that does not lean towards its start.
function smoothed(values, share) {
  if (share === 0) return values;
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (!isNumber(value)) return null;
    sum = sum * share + value * (1 - share);
    weight = weight * share + (1 - share);
    return sum / weight;
  });
}

// Elements per second from line to line, by the clock: waits, validation and checkpoints show.
function throughput(steps) {
  return steps.time.map((time, i) => (i === 0 || time <= steps.time[i - 1] ? null : steps.elements[i] / (time - steps.time[i - 1])));
}

class CurveBoard {
  constructor(runs) {
    this.runs = runs;
    this.by = "step";
    this.smooth = 0;
    this.log = false;
    this.charts = [];
  }

  // Series: [{run, xs, ys, low, high}]
  add(title, text, logable, series) {
    const shown = series.filter((each) => each.ys.some(isNumber));
    if (shown.length === 0) return null;
    let range = null;
    const xs = (each) => (this.by === "step" ? each.steps : each.times);
    const log = () => this.log && logable && shown.every((each) => each.ys.every((y) => !isNumber(y) || y > 0));
    const chart = new Chart({
      label: `${title} of ${shown.length === 1 ? "the run" : shown.length + " runs"}; the table below has the figures`, height: 220, left: 62, top: 12,
      x: () => range || [shown[0].dots ? 0 : Math.min(...shown.map((each) => smallest(xs(each)))), Math.max(...shown.map((each) => largest(xs(each))), 1e-3)],
      y: () => {
        let low = Math.min(...shown.map((each) => smallest(each.ys)));
        let high = Math.max(...shown.map((each) => largest(each.ys)));
        if (log()) return [low / 1.1, high * 1.1];
        if (low > 0 && low < high * 0.6) low = 0;
        // Differences in the last digits are not worth a picture.
        if (high - low < Math.abs(high) * 1e-3) { low -= Math.abs(high) * 0.05; high += Math.abs(high) * 0.05; }
        const pad = (high - low || 1) * 0.06;
        return [low === 0 ? 0 : low - pad, high + pad];
      },
      log, xText: (x) => (this.by === "step" ? countText(x) : tickDuration(x)), xName: () => this.by, yText: text,
      stops: () => xs(shown[0]),
      tip: (x) => [this.by === "step" ? `step ${countText(x)}` : durationText(x), ...shown.map((each) => {
        const i = indexAt(xs(each), x);
        return `${shown.length > 1 ? each.name + ": " : ""}${text(each.ys[i])}`;
      })].join("\n"),
      chosen: (wanted) => { range = wanted; chart.draw(); },
      draw: (frame) => {
        for (const each of shown) {
          const stroke = runColour(each.run);
          if (this.smooth > 0) frame.plot.append(svg("path", { d: pathOf(frame, xs(each), each.ys), fill: "none", "stroke-width": 1, opacity: 0.28, style: { stroke } }));
          if (each.low) {
            frame.plot.append(svg("path", { d: pathOf(frame, xs(each), each.low), fill: "none", "stroke-width": 1, opacity: 0.3, style: { stroke } }),
              svg("path", { d: pathOf(frame, xs(each), each.high), fill: "none", "stroke-width": 1, opacity: 0.3, style: { stroke } }));
          }
          frame.plot.append(svg("path", { d: pathOf(frame, xs(each), smoothed(each.ys, this.smooth)), fill: "none", "stroke-width": 1.8, "stroke-linejoin": "round", style: { stroke } }));
          if (each.dots) each.ys.forEach((y, i) => { if (isNumber(y) && each.ys.length < 200) frame.plot.append(svg("circle", { cx: frame.x(xs(each)[i]), cy: frame.y(y), r: 2.5, style: { fill: stroke } })); });
        }
      },
    });
    this.charts.push(chart);
    return el("div", {}, el("h3", {}, title), chart.root, behind(`Table: ${title}`, () => {
      const rows = [];
      for (const each of shown) {
        const stride = Math.max(1, Math.floor(each.ys.length / 200));
        each.ys.forEach((y, i) => { if (i % stride === 0 || i === each.ys.length - 1) rows.push([each.name, count(each.steps[i]), duration(each.times[i]), number(y)]); });
      }
      return scrolled(table(null, ["run", "#step", "#time", "#" + title], rows), title);
    }));
  }

  ofSteps(make) {
    return this.runs.map((run, index) => ({ run: index, name: run.name, steps: run.steps.step, times: run.steps.time, ...make(run.steps) }));
  }

  ofMetric(name) {
    return this.runs.map((run, index) => {
      const rows = run.metrics.filter((row) => row[2] === name);
      const ends = new Map(run.events.filter((event) => event.event === "epoch").map((event) => [event.epoch, event.step]));
      const perEpoch = run.begin && run.begin.epoch_steps > 0 ? run.begin.epoch_steps : 1;
      return { run: index, name: run.name, steps: rows.map((row) => ends.get(row[1]) || row[1] * perEpoch), times: rows.map((row) => row[0]), ys: rows.map((row) => row[3]), dots: true };
    });
  }

  build() {
    const redraw = () => this.charts.forEach((chart) => chart.draw());
    const press = (text, on, act) => {
      const button = el("button", { type: "button", "aria-pressed": String(on), onclick: () => { const now = button.getAttribute("aria-pressed") !== "true"; button.setAttribute("aria-pressed", String(now)); act(now); redraw(); } }, text);
      return button;
    };
    const slider = el("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: 0, "aria-label": "Smoothing", oninput: () => { this.smooth = Number(slider.value); redraw(); } });
    const names = [...new Set(this.runs.flatMap((run) => run.metrics.map((row) => row[2])))].sort();
    const merged = this.runs.some((run) => run.steps.steps.some((each) => each > 1));
    const charts = [
      this.add("loss", numberText, true, this.ofSteps((steps) => ({ ys: steps.loss, low: merged && steps.loss_min, high: merged && steps.loss_max }))),
      this.add("accuracy of training batches", percentText, false, this.ofSteps((steps) => ({ ys: steps.accuracy }))),
      ...names.map((name) => this.add(["loss", "accuracy"].includes(name) ? name + ", mean of each epoch" : name, name.endsWith("accuracy") ? percentText : numberText, !name.endsWith("accuracy"), this.ofMetric(name))),
      this.add("elements per second", numberText, true, this.ofSteps((steps) => ({ ys: throughput(steps) }))),
      this.add("step time", durationText, true, this.ofSteps((steps) => ({ ys: steps.seconds }))),
      this.add("learning rate", numberText, true, this.ofSteps((steps) => ({ ys: steps.lr }))),
    ].filter(Boolean);
    if (charts.length === 0) return null;
    return el("div", {},
      el("div", { class: "bar" }, press("by time", false, (on) => { this.by = on ? "time" : "step"; }), press("logarithmic", false, (on) => { this.log = on; }), el("label", {}, "smoothing", slider)),
      this.runs.length > 1 && el("ul", { class: "legend" }, this.runs.map((run, i) => el("li", {}, swatch(runColour(i), true), run.name))),
      el("div", { class: "columns" }, charts));
  }
}

function curvesSection(runs) {
  const section = el("section", { id: "curves", "aria-labelledby": "curves-h" }, el("h2", { id: "curves-h" }, "Curves"));
  const board = new CurveBoard(runs).build();
  section.append(board || el("p", { class: "lead" }, "No step was finished."));
  return section;
}
