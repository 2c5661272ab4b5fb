// The plan of a step: offset against time, and what it takes.

const VALUE_KINDS = ["fed", "computed", "recomputed", "fetched from the host", "workspace"];

// unit: what the steps of its time are, "task" or "operation".
function planText(plan, value, unit = "task") {
  const { names, tasks } = plan.timeline;
  const [kind, tag, name, offset, size, from, to, offloaded] = value;
  const made = tasks[from];
  const who = names[name] || (made ? names[made[0]] : "");
  if (unit !== "task") return `${bytesText(size)} at ${bytesText(offset)}\n${unit}s ${countText(from)} to ${to >= plan.plan.operations ? "end" : countText(to)}`;
  const scope = made && names[made[1]] ? ` in ${names[made[1]]}` : "";
  return `${who}${kind === 0 ? "" : scope}\n${TAGS[tag] || "unknown"}, ${bytesText(size)} at ${bytesText(offset)}\n${VALUE_KINDS[kind]}${offloaded ? ", offloaded to the host" : ""}; tasks ${from < 0 ? "start" : from} to ${to >= tasks.length ? "end" : to}`;
}

class PlanPanel {
  constructor(plan, unit = "task") {
    this.plan = plan;
    this.unit = unit;
    const { tasks } = plan.timeline;
    this.starts = [0];
    for (const task of tasks) this.starts.push(this.starts[this.starts.length - 1] + Math.max(task[2], 0));
    this.byTime = this.starts[tasks.length] > 0;
    this.length = unit === "task" ? tasks.length : plan.plan.operations;
    this.whole = null;
    this.range = null;
  }

  end() { return this.byTime ? this.starts[this.length] : this.length; }
  at(task) { return this.byTime ? this.starts[Math.min(Math.max(task, 0), this.length)] : Math.max(task, 0); }
  taskAt(x) { return this.byTime ? Math.min(indexAt(this.starts, x), this.length - 1) : Math.floor(x); }

  build() {
    const { timeline, plan } = this.plan;
    const top = Math.max(plan.range || 0, ...timeline.values.slice(0, 20000).map((value) => value[3] + value[4]), 1);
    this.chart = new Chart({
      label: this.unit === "task" ? "What one step places where: offset in the plan's range against predicted time. The table below lists the largest values."
        : "Where the arena placed each block: offset in its pages against operations. The table below lists the largest blocks.",
      height: 340, top: 10, binary: true, x: () => this.range || [0, this.end()], y: () => [0, top], xText: (x) => (this.byTime ? tickDuration(x) : this.unit === "task" ? `task ${countText(x)}` : countText(x)), yText: bytesText,
      draw: (frame) => this.draw(frame),
      stops: () => (this.byTime ? this.starts.slice(0, -1) : this.unit === "task" ? timeline.tasks.map((_, i) => i) : []),
      tip: (x, frame, pixelY) => this.tip(x, frame, pixelY),
      chosen: (range) => { this.range = range; this.chart.draw(); },
    });
    const axis = el("button", { type: "button", "aria-pressed": String(!this.byTime), onclick: () => {
      this.byTime = !this.byTime; this.range = null; axis.setAttribute("aria-pressed", String(!this.byTime)); this.chart.draw();
    } }, "by task instead of time");
    const tags = [...new Set(timeline.values.map((value) => TAGS[value[1]] || "unknown"))];
    return el("div", {}, el("div", { class: "bar" }, el("button", { type: "button", onclick: () => { this.range = null; this.chart.draw(); } }, this.unit === "task" ? "whole step" : "all of it"), this.unit === "task" && axis),
      this.chart.root,
      this.unit === "task" && el("ul", { class: "legend" }, tags.map((tag) => el("li", {}, swatch(tagColour(tag)), tag)),
        timeline.values.some((value) => value[0] === 2) && el("li", {}, "hatched: recomputed"),
        timeline.values.some((value) => value[0] === 3 || value[7]) && el("li", {}, "outlined: offloaded to the host")));
  }

  draw(frame) {
    const { values } = this.plan.timeline;
    const paths = new Map();
    let hatched = "";
    let outlined = "";
    for (const value of values) {
      const [kind, tag, , offset, size, from, to, offloaded] = value;
      const x0 = Math.max(frame.left, frame.x(this.at(from)));
      const x1 = Math.min(frame.left + frame.inner, frame.x(this.at(to + 1)));
      if (x1 < frame.left || x0 > frame.left + frame.inner || x1 < x0) continue;
      const y0 = frame.y(offset + size);
      const high = Math.max(0.4, frame.y(offset) - y0 - 0.4);
      const box = `M${x0.toFixed(1)} ${y0.toFixed(1)}h${Math.max(0.6, x1 - x0 - 0.3).toFixed(1)}v${high.toFixed(1)}H${x0.toFixed(1)}Z`;
      paths.set(tag, (paths.get(tag) || "") + box);
      if (kind === 2) hatched += box;
      if (kind === 3 || offloaded) outlined += box;
    }
    const pattern = "hatch" + (PlanPanel.count = (PlanPanel.count || 0) + 1);
    frame.plot.append(svg("pattern", { id: pattern, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 2, height: 6, style: { fill: "var(--panel)" }, opacity: 0.6 })));
    for (const [tag, path] of paths) frame.plot.append(svg("path", { d: path, style: { fill: tagColour(TAGS[tag]) } }));
    if (hatched) frame.plot.append(svg("path", { d: hatched, fill: `url(#${pattern})` }));
    if (outlined) frame.plot.append(svg("path", { d: outlined, fill: "none", style: { stroke: "var(--ink)" }, "stroke-width": 1 }));
  }

  tip(x, frame, pixelY) {
    const { tasks, names, values } = this.plan.timeline;
    const task = this.taskAt(x);
    let text = `${this.unit} ${countText(task)}`;
    if (this.unit === "task") {
      if (!tasks[task]) return null;
      const [op, scope, seconds] = tasks[task];
      const measured = this.plan.op_seconds[task];
      text += `: ${names[op]}${names[scope] ? " in " + names[scope] : ""}, ${durationText(seconds)} predicted${isNumber(measured) ? ", " + durationText(measured) + " measured" : ""}`;
    }
    if (pixelY !== undefined) {
      const at = frame.fromY(pixelY);
      const value = values.find((each) => at >= each[3] && at < each[3] + each[4] && task >= each[5] && task <= each[6]);
      if (value) text = planText(this.plan, value, this.unit) + "\n" + text;
    } else {
      let held = 0;
      for (const value of values) if (task >= value[5] && task <= value[6]) held += value[4];
      text += `\n${bytesText(held)} in the range`;
    }
    return text;
  }
}

function opsTable(plan) {
  const { tasks, names } = plan.timeline;
  const groups = new Map();
  tasks.forEach(([op, , seconds, flags], i) => {
    const key = names[op] + (flags & 2 ? " (again)" : "");
    const group = groups.get(key) || { tasks: 0, predicted: 0, measured: 0, known: 0, both: 0 };
    ++group.tasks;
    group.predicted += seconds;
    if (isNumber(plan.op_seconds[i])) { group.measured += plan.op_seconds[i]; group.both += seconds; ++group.known; }
    groups.set(key, group);
  });
  const rows = [...groups].sort((a, b) => b[1].predicted - a[1].predicted);
  return table("Predicted and measured time by op", ["op", "#tasks", "#predicted", "#measured", "#measured / predicted"], rows.map(([op, group]) => [
    op, count(group.tasks), duration(group.predicted), group.known > 0 ? duration(group.measured) : "not measured",
    group.known > 0 && group.both > 0 ? numberText(Number((group.measured / group.both).toPrecision(3))) + "×" : ""]));
}

// points: [{budget, seconds, name}], what the run had or took, beside the curve.
function curveChart(curve, points) {
  const xs = curve.map((point) => point.budget);
  const ys = curve.map((point) => point.seconds);
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
  const sx = order.map((i) => xs[i]);
  const sy = order.map((i) => ys[i]);
  const chart = new Chart({
    label: "Predicted step time against the memory budget", height: 230, xBinary: true, x: () => [0, sx[sx.length - 1] * 1.04], y: () => [0, largest([...sy, ...points.map((point) => point.seconds)]) * 1.12],
    xText: bytesText, yText: durationText, stops: () => sx,
    tip: (x) => { const i = indexAt(sx, x); return x < sx[0] ? `below ${bytesText(sx[0])} nothing fits` : `${bytesText(sx[i])}: ${durationText(sy[i])} for a step`; },
    draw: (frame) => {
      frame.plot.append(svg("path", { d: pathOf(frame, [...sx, frame.x1], [...sy, sy[sy.length - 1]], true), fill: "none", "stroke-width": 2, style: { stroke: "var(--parameters)" } }));
      sx.forEach((x, i) => frame.plot.append(svg("circle", { cx: frame.x(x), cy: frame.y(sy[i]), r: 3, style: { fill: "var(--parameters)" } })));
      points.forEach((point, i) => {
        const x = Math.min(frame.x(point.budget), frame.left + frame.inner);
        const beyond = point.budget > frame.x1;
        frame.over.append(svg("circle", { cx: x, cy: frame.y(point.seconds), r: 6, fill: "none", "stroke-width": 2.5, style: { stroke: "var(--accent)" } }));
        frame.over.append(textBeside(frame, point.name + (beyond ? ` (${bytesText(point.budget)})` : ""), x, frame.y(point.seconds) - 8 - (i % 2) * 14, "limit-text"));
      });
    },
  });
  return el("div", {}, el("h3", {}, "Time against budget"), chart.root, behind("Table: time against budget", () => table(null, ["#budget", "#step time", ""], [
    ...sx.map((x, i) => [bytes(x), duration(sy[i]), "predicted"]), ...points.map((point) => [bytes(point.budget), duration(point.seconds), point.name])])));
}

function onePlan(plan) {
  const figures = plan.plan;
  const box = el("div", {});
  const at = figures.at_peak || {};
  const sum = Object.values(at).reduce((a, b) => a + b, 0);
  box.append(el("div", { class: "columns" },
    el("div", {}, el("h3", {}, "At the step’s peak"), table(null, ["~held as", "", "#bytes"], [...Object.entries(at).sort((a, b) => b[1] - a[1]).map(([tag, size]) => [
      [swatch(tagColour(tag)), tag], el("td", { style: { width: "45%" } }, el("i", { class: "meter", style: { display: "block", height: "8px", "border-radius": "3px", background: tagColour(tag), width: (100 * size) / (sum || 1) + "%" } })), bytes(size)]),
      { kind: "sum", cells: ["together", "", bytes(sum)] }])),
    el("div", {}, el("h3", {}, "Figures"), el("dl", { class: "facts" }, [
      ["planned peak", bytes(figures.planned_peak)], ["in pages", bytes(figures.charged)], ["budget", bytes(figures.budget)],
      ["range of a step", bytes(figures.range)], figures.phases && figures.phases[0] && ["no placement can be below", bytes(figures.phases[0].lower_bound)],
      ["keeping everything would take", bytes(figures.unconstrained_peak)],
      figures.pinned > 0 && ["pinned host memory", bytes(figures.pinned)],
      ["batch", [count(figures.batch), figures.parts > 1 && [" in ", count(figures.parts), " micro-batches"]]],
      ["predicted step time", duration(figures.seconds)],
    ].filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])))));
  const measures = (figures.phases || []).flatMap((phase) => (phase.measures || []).map((measure) => [phase.kind, measure.what, bytes(measure.saved), duration(measure.seconds)]));
  if (measures.length > 0) box.append(el("h3", {}, "What the planner did to save memory"), scrolled(table(null, ["phase", "measure", "#saves", "#adds to a step"], measures), "Measures"));
  if (plan.timeline && plan.timeline.tasks && plan.timeline.tasks.length > 0) {
    box.append(el("h3", {}, "One step: offset against time"), new PlanPanel(plan).build());
    box.append(behind("Table: predicted and measured time by op", () => scrolled(opsTable(plan), "Ops")));
    box.append(behind("Table: the largest values", () => {
      const rows = [...plan.timeline.values].sort((a, b) => b[4] - a[4]).slice(0, 200);
      return scrolled(table(null, ["value", "~held as", "~kind", "#bytes", "#offset", "#from task", "#to task"], rows.map((value) => {
        const [first] = planText(plan, value).split("\n");
        return [first, TAGS[value[1]] || "unknown", VALUE_KINDS[value[0]], bytes(value[4]), bytes(value[3]), count(value[5]), count(value[6])];
      })), "Largest values");
    }));
  }
  return box;
}

function planSection(run) {
  const section = el("section", { id: "plan", "aria-labelledby": "plan-h" }, el("h2", { id: "plan-h" }, "The plan"));
  if (run.plans.length === 0) {
    section.append(el("p", { class: "lead" }, "The log has no plan."));
    return section;
  }
  section.append(el("p", { class: "lead" }, "Everything one step computes has its place before the first step: offset from bottom to top, time from left to right. Hover for op and bytes."));
  const holder = el("div", {});
  const show = (index) => holder.replaceChildren(onePlan(run.plans[index]));
  const last = run.plans.length - 1;
  if (last > 0) {
    const select = el("select", { "aria-label": "Plan", onchange: () => show(Number(select.value)) },
      run.plans.map((plan, i) => el("option", { value: i }, `${i === 0 ? "the first plan" : `step ${countText(plan.step)}: ${plan.why}`}, ${bytesText(plan.plan.planned_peak)}`)));
    select.value = String(last);
    section.append(el("div", { class: "bar" }, el("label", {}, "plan", select)));
  }
  section.append(holder);
  show(last);
  const curve = Array.isArray(run.curve) ? run.curve.filter((point) => point && isNumber(point.budget) && isNumber(point.seconds)) : [];
  if (curve.length > 1) section.append(curveChart(curve, pointsOf(run)));
  return section;
}

// The run's own points beside the curve: each plan it had, and the fastest step under the last of them.
function pointsOf(run) {
  const within = ({ plan }) => (plan.budget === null || plan.budget === undefined ? plan.total : plan.budget);
  const points = run.plans.map((each, i) => ({ budget: within(each), seconds: each.plan.seconds, name: run.plans.length === 1 ? "this plan" : i === 0 ? "first plan" : `plan of step ${countText(each.step)}` }));
  const measured = run.end && run.end.measured_seconds_per_step;
  if (isNumber(measured) && measured > 0) points.push({ budget: points[points.length - 1].budget, seconds: measured, name: "this run, fastest step" });
  return points.filter((point) => isNumber(point.budget) && isNumber(point.seconds)).slice(-6);
}

// Blocks of a replayed trace: where the arena had each of them.
function blocksSection(run) {
  const section = el("section", { id: "blocks", "aria-labelledby": "blocks-h" }, el("h2", { id: "blocks-h" }, "Blocks"));
  const [plan] = run.plans;
  if (!plan || !plan.timeline || plan.timeline.values.length === 0) {
    section.append(el("p", { class: "lead" }, "The trace allocates nothing."));
    return section;
  }
  const { blocks } = run.begin || {};
  const shown = plan.timeline.values.length;
  section.append(el("p", { class: "lead" }, "Where the arena placed what: offset in its pages from bottom to top, operations from left to right.", isNumber(blocks) && blocks > shown && [" The ", count(shown), " largest of ", count(blocks), " blocks are drawn."]),
    new PlanPanel(plan, "operation").build(),
    behind("Table: the largest blocks", () => scrolled(table(null, ["#bytes", "#offset", "#from operation", "#to operation"],
      [...plan.timeline.values].sort((a, b) => b[4] - a[4]).slice(0, 200).map((value) => [bytes(value[4]), bytes(value[3]), count(value[5]), count(value[6])])), "Largest blocks")));
  return section;
}
