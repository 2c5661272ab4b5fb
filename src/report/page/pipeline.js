// The input pipeline: stages, rates, waits, the bottleneck, and what was left out.

function pipelineOf(line, run) {
  const stages = [...(line.stages || [])].sort((a, b) => b.depth - a.depth);
  const box = el("div", {}, el("h3", {}, line.name === "train" ? "Training data" : line.name === "validation" ? "Validation data" : line.name));
  const slow = line.bottleneck;
  if (slow) {
    box.append(el("p", {}, "Most of the work, ", percent(slow.share), ", is in ", el("b", { title: slow.stage }, shortName(slow.stage)), ". ", slow.remedy ? "To speed it up: " + slow.remedy + "." : ""));
  }
  const flow = el("div", { class: "stages", tabindex: "0", role: "list", "aria-label": "Stages, from the source to the training" });
  stages.forEach((stage, i) => {
    const all = stage.busy + stage.wait_input + stage.wait_room;
    const part = (value, colour, text) => value > 0 && el("i", { style: { width: (100 * value) / all + "%", background: colour }, title: `${text} ${durationText(value)}` });
    if (i > 0) flow.append(el("span", { class: "arrow", "aria-hidden": "true" }, "→"));
    flow.append(el("div", { class: "stage" + (slow && slow.stage === stage.stage ? " slow" : ""), role: "listitem" },
      el("b", { title: stage.stage }, shortName(stage.stage)),
      el("span", {}, count(stage.elements), " elements", stage.setting ? `, ${stage.setting}` : ""),
      all > 0 && el("div", { class: "parts", role: "img", "aria-label": `works ${percentText(stage.busy / all)} of its time` },
        part(stage.busy, "var(--prefetch)", "works"), part(stage.wait_input, "var(--input)", "waits for input"), part(stage.wait_room - stage.wait_memory, "var(--runtime)", "waits for room"), part(stage.wait_memory, "var(--bad)", "waits for memory")),
      el("span", {}, "busy ", duration(stage.busy), run.seconds > 0 && stage.busy > 0 && [", ", rate(stage.elements / stage.busy), " when busy"]),
      stage.held > 0 && el("span", {}, "holds ", bytes(stage.held))));
  });
  box.append(flow, el("ul", { class: "legend" }, [["var(--prefetch)", "works"], ["var(--input)", "waits for input"], ["var(--runtime)", "waits for room"], ["var(--bad)", "waits for memory"]].map(([colour, text]) => el("li", {}, swatch(colour), text))));
  box.append(behind("Table: stages", () => scrolled(table(null, ["stage", "chosen", "#elements", "#bytes", "#works", "#waits for input", "#waits for room", "#of which memory", "#holds"], stages.map((stage) => [
    stage.stage, stage.setting, count(stage.elements), bytes(stage.bytes), duration(stage.busy), duration(stage.wait_input), duration(stage.wait_room), duration(stage.wait_memory), bytes(stage.held)])), "Stages")));
  return box;
}

function pipelineSection(run) {
  const section = el("section", { id: "pipeline", "aria-labelledby": "pipeline-h" }, el("h2", { id: "pipeline-h" }, "The input pipeline"));
  const { waited, seconds, steps } = run.steps;
  let waits = 0;
  let works = 0;
  waited.forEach((value, i) => { if (isNumber(value) && isNumber(seconds[i])) { waits += value * steps[i]; works += seconds[i] * steps[i]; } });
  if (waits + works > 0) {
    section.append(el("p", { class: "lead" }, "Steps waited ", duration(waits), " for their batches, ", percent(waits / (waits + works)), " of their time. ",
      waits / (waits + works) > 0.1 ? "A faster pipeline would speed up training." : "The pipeline keeps up."));
  }
  const lines = run.pipelines.filter((line) => line && Array.isArray(line.stages)).sort((a, b) => String(a.name).localeCompare(String(b.name)));
  if (lines.length === 0) section.append(el("p", { class: "lead" }, "The log has no figures of the pipeline."));
  for (const line of lines) section.append(pipelineOf(line, run));
  const skipped = run.events.filter((event) => event.event === "skipped");
  const total = run.events.filter((event) => event.event === "skipped_count").reduce((sum, event) => sum + (event.count || 0), 0);
  if (total > 0) {
    section.append(el("h3", {}, "Elements left out"), el("p", {}, count(total), total === 1 ? " element" : " elements", " could not be read and ", total === 1 ? "was" : "were", " left out."),
      scrolled(table(null, ["#epoch", "file and reason"], skipped.map((event) => [count(event.epoch), event.message])), "Elements left out"));
  }
  return section;
}
