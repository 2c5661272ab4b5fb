// What the run was and how it ended.

function facts(rows) {
  return el("dl", { class: "facts" }, rows.filter((row) => row && row[1] !== "" && row[1] !== null && row[1] !== undefined && row[1] !== false)
    .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

const quoted = (word) => (/^[\w./=:,%@+-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");

function howToGoOn(run) {
  const checkpoint = (run.end && run.end.checkpoint) || ([...run.events].reverse().find((event) => event.event === "checkpoint") || {}).path;
  const folder = checkpoint ? String(checkpoint).replace(/\/[^/]*\/?$/, "") : null;
  if (run.state === "planned") return el("pre", { class: "note" }, run.ending);
  if (run.state === "replayed" || run.state === "reported") return run.ending ? el("pre", { class: "note bad" }, run.ending) : null;
  if (run.state === "refused") return el("pre", { class: "note bad" }, run.ending);
  if (["stopped", "killed", "failed"].includes(run.state)) {
    return [run.ending && el("pre", { class: "note" + (run.state === "failed" ? " bad" : "") }, run.ending),
      folder ? el("p", {}, "Go on with ", el("code", {}, "plimsoll train --resume " + quoted(folder))) : el("p", {}, "It wrote no checkpoint, so it can only be started anew.")];
  }
  return null;
}

function tiles(run) {
  const { steps } = run;
  const n = steps.step.length;
  const end = run.end || {};
  const device = run.devices[0];
  const elements = steps.elements.reduce((a, b) => a + b, 0);
  const last = (name) => { const rows = run.metrics.filter((row) => row[2] === name); return rows.length > 0 ? rows[rows.length - 1][3] : null; };
  const list = [
    device && device.peak.used > 0 && [bytes(device.peak.used), run.state === "replayed" ? "mapped at the peak" : "peak charged to the budget"],
    isNumber(end.planned_peak) && [bytes(end.planned_peak), "planned peak of training"],
    n > 0 && [count(steps.step[n - 1]), "steps"],
    run.state === "planned" && run.plans[0] && [bytes(run.plans[0].plan.total), "in all, on the device"],
    !["planned", "replayed", "reported"].includes(run.state) && [duration(run.seconds), "from start to end"],
    run.state === "replayed" && run.begin && [bytes(run.begin.live_peak), "live at the peak"],
    run.state === "replayed" && run.begin && [count(run.begin.operations), "operations"],
    run.state === "replayed" && run.begin && [bytes(run.begin.bytes_remapped), "remapped to serve requests"],
    run.state === "planned" && run.plans[0] && [duration(run.plans[0].plan.seconds), "predicted for a step"],
    n > 0 && [number(steps.loss[n - 1]), "loss of the last step"],
    isNumber(last("validation_accuracy")) && [percent(last("validation_accuracy")), "validation accuracy"],
    isNumber(end.measured_seconds_per_step) && end.measured_seconds_per_step > 0 && [duration(end.measured_seconds_per_step), "fastest step"],
    run.seconds > 0 && elements > 0 && [rate(elements / run.seconds), "elements, whole run"],
  ];
  return el("div", { class: "tiles" }, list.filter(Boolean).map(([value, text]) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, text))));
}

function gauge(run) {
  const device = run.devices[0];
  const limits = device ? device.limit.filter(isNumber) : [];
  const limit = (run.end && run.end.peak_limit) || limits[limits.length - 1];
  if (!device || !isNumber(limit) || !(limit > 0) || !(device.peak.used > 0)) return null;
  const share = device.peak.used / limit;
  return el("div", { class: "gauge" + (share > 1 ? " over" : ""), role: "img", "aria-label": `${percentText(share)} of the budget was used at the peak` },
    el("i", { style: { width: Math.min(100, share * 100) + "%" } }), el("u", { style: { left: "calc(100% - 2px)" } }));
}

function overviewSection(run) {
  const about = run.about || {};
  const begin = run.begin || {};
  const words = Array.isArray(about.command) ? about.command.map((word) => quoted(String(word))) : [];
  if (words.length > 0) words[0] = words[0].replace(/^.*\//, "");
  const seeds = run.options.seed;
  return el("section", { id: "overview", "aria-labelledby": "overview-h" },
    el("h2", { id: "overview-h", class: "hidden" }, "Overview"),
    el("div", { class: "hero" }, el("h1", {}, run.name), el("span", { class: "pill " + run.state }, run.state)),
    el("p", { class: "verdict" }, run.verdict),
    gauge(run), tiles(run), howToGoOn(run),
    run.problem_count > 0 && el("p", { class: "note" }, count(run.problem_count), run.problem_count === 1 ? " line of the log is" : " lines of the log are", " damaged or cut off; they are named at the end."),
    run.earlier > 0 && el("p", { class: "note" }, "The file has ", count(run.earlier), run.earlier === 1 ? " earlier run" : " earlier runs", "; this is the latest."),
    !["replayed", "reported"].includes(run.state) && el("div", { class: "columns" },
      el("div", {}, el("h3", {}, "Run"), facts([
        ["command", words.length > 0 && el("code", {}, words.join(" "))], ["model", about.model], ["data", about.data],
        ["batch", isNumber(begin.batch) && [count(begin.batch), begin.parts > 1 && [" in ", count(begin.parts), " micro-batches"]]],
        ["budget", isNumber(begin.budget) && bytes(begin.budget)], ["seed", seeds],
        ["began", run.began > 0 && new Date(run.began * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC"],
        ["parts", run.parts > 1 && [count(run.parts), ", resumed ", count(run.parts - 1), run.parts === 2 ? " time" : " times"]],
        ["log", run.path && el("code", {}, run.path)]])),
      el("div", {}, el("h3", {}, "Machine"), facts([
        ["device", begin.device && [begin.device, begin.device_description && `, ${begin.device_description}`, isNumber(begin.device_memory) && [", ", bytes(begin.device_memory)]]],
        ["host", about.host], ["system", about.system], ["processor", about.cpu && [about.cpu, isNumber(about.cpus) && [", ", count(about.cpus), " threads"]]],
        ["host memory", isNumber(about.host_memory) && bytes(about.host_memory)],
        ["plimsoll", about.plimsoll], ["git commit", about.commit && el("code", {}, about.commit)], ["log format", run.format > 0 && String(run.format)]]))),
    Object.keys(run.options).length > 0 && behind("All settings", () => scrolled(table(null, ["setting", "value"], Object.entries(run.options)), "Settings")));
}

// Several runs side by side, and what differs between them.
function comparison(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.options)))].sort();
  const differing = names.filter((name) => new Set(runs.map((run) => run.options[name])).size > 1);
  const last = (run, name) => { const rows = run.metrics.filter((row) => row[2] === name); return rows.length > 0 ? number(rows[rows.length - 1][3]) : ""; };
  const metrics = [...new Set(runs.flatMap((run) => run.metrics.map((row) => row[2])))].sort();
  const rows = [
    ["state", runs.map((run) => el("span", { class: run.state }, run.state))],
    ["most charged to the budget", runs.map((run) => (run.devices[0] ? bytes(run.devices[0].peak.used) : ""))],
    ["steps", runs.map((run) => (run.steps.step.length > 0 ? count(run.steps.step[run.steps.step.length - 1]) : ""))],
    ["time", runs.map((run) => duration(run.seconds))],
    ["loss of the last step", runs.map((run) => (run.steps.loss.length > 0 ? number(run.steps.loss[run.steps.loss.length - 1]) : ""))],
    ...metrics.map((name) => [name, runs.map((run) => last(run, name))]),
    ["fastest step", runs.map((run) => (run.end && run.end.measured_seconds_per_step > 0 ? duration(run.end.measured_seconds_per_step) : ""))],
  ];
  return el("section", { id: "compare", "aria-labelledby": "compare-h" }, el("h2", { id: "compare-h" }, `${runs.length} runs`),
    el("p", { class: "lead" }, differing.length === 0 ? "Their settings are the same." : "Settings that differ are shaded."),
    scrolled(table(null, ["", ...runs.map((run) => run.name)], [
      ...rows.map(([name, cells]) => [name, ...cells]),
      ...differing.map((name) => [name, ...runs.map((run) => el("td", { class: "differs" }, run.options[name] === undefined ? "" : run.options[name]))])]), "Comparison"));
}
