// What happened besides steps, in words.

const EVENT_GLYPHS = {
  epoch: ["tick", ""], validation: ["tick", ""], checkpoint: ["diamond", ""], plan: ["square", "plan"], limit: ["up", "plan"],
  resumed: ["square", ""], refused: ["cross", "bad"], failed: ["cross", "bad"], checkpoint_failed: ["cross", "bad"], nonfinite_loss: ["cross", "bad"],
};

const EVENT_NAMES = {
  epoch: "epoch", validation: "validation", checkpoint: "checkpoint", plan: "new plan", limit: "limit moved", resumed: "resumed", refused: "refused",
  failed: "failed", checkpoint_failed: "checkpoint not written", nonfinite_loss: "loss not finite", end: "end", measured: "op times measured",
  replan: "new plan", skipped: "element skipped", skipped_count: "elements skipped", slow: "slow op", note: "note", data: "data",
};

const MARKED = ["limit", "plan", "resumed", "refused", "failed", "checkpoint_failed", "nonfinite_loss", "checkpoint", "epoch"];

function eventText(event) {
  const step = isNumber(event.step) ? ` at step ${countText(event.step)}` : "";
  switch (event.event) {
    case "epoch": return `epoch ${countText(event.epoch)} ended${step}`;
    case "validation": return `validation of ${countText(event.elements)} elements took ${durationText(event.seconds)}`;
    case "checkpoint": return `checkpoint${event.best ? ", the best so far" : ""}${step}: ${event.path}`;
    case "checkpoint_failed": return `checkpoint not written${step}: ${event.why}`;
    case "plan": return `new plan${step}: ${event.why}`;
    case "limit": return event.refused === undefined ? `limit moved to ${bytesText(event.budget)}${step}`
      : `limit of ${bytesText(event.refused)} refused${step}; it stays ${bytesText(event.budget)}${event.why ? "\n" + event.why : ""}`;
    case "resumed": return "resumed" + (isNumber(event.pause) ? ` after a pause of ${durationText(event.pause)}` : "");
    case "refused": case "failed": return event.message || event.event;
    case "nonfinite_loss": return `the loss is ${event.loss}${step}`;
    case "measured": return `op times measured${step}: a step takes ${durationText(event.corrected_seconds_per_step)} by them, ${durationText(event.predicted_seconds_per_step)} predicted`;
    case "replan": return `planned again${step}: ${event.why}; planned peak ${bytesText(event.planned_peak)}`;
    case "skipped": return `left out: ${event.message}`;
    case "skipped_count": return `${countText(event.count)} elements left out in epoch ${countText(event.epoch)}`;
    case "slow": return `slow: ${event.op}, ${countText(event.tasks)} tasks, ${durationText(event.seconds)}: ${event.reason}; ${event.remedy}`;
    case "note": return event.text;
    case "data": return event.summary;
    case "end": return event.stopped ? `ended: ${event.stopped}` : "ended as asked";
    default: {
      const rest = Object.entries(event).filter(([name]) => name !== "time" && name !== "event");
      return rest.map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
    }
  }
}

function glyph(shape, kind, x, y) {
  const at = (path) => svg("path", { class: ("glyph " + kind).trim(), d: path, transform: `translate(${x.toFixed(1)} ${y})` });
  if (shape === "diamond") return at("M0-5 5 0 0 5-5 0Z");
  if (shape === "square") return at("M-4-4h8v8h-8Z");
  if (shape === "up") return at("M0-5 5 4h-10Z");
  if (shape === "cross") return at("M-5-3-3-5 0-2 3-5 5-3 2 0 5 3 3 5 0 2-3 5-5 3-2 0Z");
  return at("M-1-4h2v8h-2Z");
}

// Marks in the band above a chart, and lines for those that are rare.
function drawMarks(frame, events, lines) {
  const groups = {};
  for (const event of events) {
    if (!MARKED.includes(event.event) || event.time < frame.x0 || event.time > frame.x1) continue;
    (groups[event.event] = groups[event.event] || []).push(event);
  }
  for (const kind of [...MARKED].reverse()) {
    const group = groups[kind] || [];
    if (group.length > frame.inner / 7) continue;
    for (const event of group) {
      const x = frame.x(event.time);
      const [shape, style] = EVENT_GLYPHS[kind];
      if (lines && group.length <= 24 && kind !== "epoch" && kind !== "checkpoint") {
        frame.plot.append(svg("line", { class: ("mark " + style).trim(), x1: x, x2: x, y1: frame.top, y2: frame.top + frame.tall }));
      }
      frame.over.append(glyph(shape, style, x, frame.top - 10));
    }
  }
}

function eventsNear(events, frame, x) {
  const reach = ((frame.x1 - frame.x0) / frame.inner) * 6;
  return events.filter((event) => MARKED.includes(event.event) && Math.abs(event.time - x) <= reach).slice(0, 3);
}

function eventsSection(run) {
  const shown = run.events.filter((event) => event.event !== "replan");
  const section = el("section", { id: "log", "aria-labelledby": "log-h" }, el("h2", { id: "log-h" }, "What happened"),
    el("p", { class: "lead" }, shown.length === 0 ? "The log has no events besides its steps." : [count(shown.length), " events",
      run.event_count > run.events.length && [" of ", count(run.event_count), "; the others repeat every epoch"], "."]));
  if (shown.length > 0) {
    section.append(scrolled(table(null, ["#time", "#step", "~event", ""], shown.map((event) => [
      duration(event.time), isNumber(event.step) ? count(event.step) : "", EVENT_NAMES[event.event] || event.event, eventText(event)]), { "data-events": true }), "Events"));
  }
  if (run.problem_count > 0) {
    section.append(el("h3", {}, "Lines that could not be read"),
      el("p", {}, count(run.problem_count), run.problem_count === 1 ? " line is" : " lines are", " damaged or missing. What is whole is shown."),
      scrolled(table(null, ["#line", "what is wrong"], run.problems.map(([line, what]) => [count(line), what])), "Problems"));
  }
  return section;
}
