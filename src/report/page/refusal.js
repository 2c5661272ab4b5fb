// Memory that was refused, and memory that leaks: who held what, drawn against the limit.

function shareBar(parts, whole, label) {
  return el("div", { class: "share", role: "img", "aria-label": label }, parts.filter((part) => part.bytes > 0).map((part) =>
    el("i", { class: part.kind, title: `${part.text}: ${bytesText(part.bytes)}`, style: { width: (100 * part.bytes) / whole + "%", ...(part.colour && { background: part.colour }) } })));
}

function refusalSection(report) {
  const holders = (report.holders || []).filter((holder) => holder && holder.bytes > 0);
  const byTag = new Map();
  for (const holder of holders) byTag.set(holder.tag, (byTag.get(holder.tag) || 0) + holder.bytes);
  const held = holders.reduce((sum, holder) => sum + holder.bytes, 0);
  const limited = isNumber(report.limit) && report.limit > 0 && report.limit < 2 ** 62;
  const beyond = Math.max(0, (report.used || 0) - held);
  const taken = held + beyond + (report.promised || 0);
  const whole = Math.max(limited ? report.limit : 0, taken + (report.requested || 0), 1);
  const free = limited ? Math.max(0, report.limit - taken) : 0;
  const parts = [
    ...[...byTag].sort((a, b) => b[1] - a[1]).map(([tag, size]) => ({ text: tag, bytes: size, colour: tagColour(tag) })),
    { text: "page rounding and free pages", bytes: beyond, colour: tagColour("pages") },
    { text: "guaranteed to others", bytes: report.promised || 0, colour: "var(--runtime)" },
  ];
  const rows = holders.slice(0, 500).map((holder) => [[swatch(tagColour(holder.tag)), holder.tag], holder.label || "(no label)", holder.budget, count(holder.blocks), bytes(holder.bytes)]);
  return el("section", { id: "refusal", "aria-labelledby": "refusal-h" }, el("h2", { id: "refusal-h" }, "Out of memory"),
    el("p", { class: "lead" }, el("b", {}, report.label || "somebody"), " asked for ", bytes(report.requested), ` as ${report.tag}. `,
      report.budget ? ["The budget ", el("b", {}, report.budget), " refused: ", bytes(report.used), " of ", bytes(limited ? report.limit : null), " was in use."] : ["The system refused: ", report.system_error || "it does not say why", "."]),
    shareBar([...parts, { text: "requested", bytes: report.requested || 0, kind: "asked" }], whole, `${bytesText(taken)} was held and ${bytesText(report.requested)} asked for, of ${bytesText(limited ? report.limit : null)}`),
    limited && el("div", { class: "share-limit" }, el("u", { style: { left: (100 * report.limit) / whole + "%" } }), el("span", { style: 2 * report.limit > whole ? { right: 100 - (100 * report.limit) / whole + "%" } : { left: (100 * report.limit) / whole + "%" } }, "limit ", bytes(report.limit))),
    el("ul", { class: "legend" }, parts.filter((part) => part.bytes > 0).map((part) => el("li", {}, swatch(part.colour), part.text, " ", bytes(part.bytes))),
      el("li", {}, el("span", { class: "swatch asked", "aria-hidden": "true" }), "requested ", bytes(report.requested)), free > 0 && el("li", {}, "free ", bytes(free))),
    (report.remedies || []).length > 0 && [el("h3", {}, "What helps"), table(null, ["", "#frees"], report.remedies.map((remedy) => [remedy.text, remedy.bytes > 0 ? bytes(remedy.bytes) : ""]))],
    el("h3", {}, "Who held what"),
    rows.length > 0 ? scrolled(table(null, ["~held as", "by", "budget", "#blocks", "#bytes"], rows), "Holders") : el("p", {}, "Nobody held anything."),
    report.free_mapped > 0 && el("p", {}, "Mapped and free in the arena that was asked: ", bytes(report.free_mapped), "; the largest piece has ", bytes(report.largest_free), ", so ", percent(report.fragmentation), " of it is elsewhere."));
}

function leakSection(leak) {
  const sizes = (leak.history || []).filter(isNumber);
  const first = leak.index - sizes.length + 1;
  const xs = sizes.map((_, i) => first + i);
  const chart = sizes.length > 1 && new Chart({
    label: `What ${leak.label} held at the end of each ${leak.what}; the table below has the figures`, height: 200, binary: true,
    x: () => [xs[0], xs[xs.length - 1]], y: () => [0, 1.06 * largest(sizes)], xText: (x) => `${shortName(leak.what, 12)} ${countText(x)}`, yText: bytesText, stops: () => xs,
    tip: (x) => { const i = indexAt(xs, x); return `${leak.what} ${countText(xs[i])}: ${bytesText(sizes[i])}`; },
    draw: (frame) => {
      frame.plot.append(svg("path", { d: pathOf(frame, xs, sizes), fill: "none", "stroke-width": 2, style: { stroke: tagColour(leak.tag) } }));
      sizes.forEach((size, i) => frame.plot.append(svg("circle", { cx: frame.x(xs[i]), cy: frame.y(size), r: 3, style: { fill: tagColour(leak.tag) } })));
    },
  });
  return el("section", { id: "leak", "aria-labelledby": "leak-h" }, el("h2", { id: "leak-h" }, "Memory leaks"),
    el("p", { class: "lead" }, el("b", {}, leak.label || "(no label)"), ` holds `, bytes(leak.bytes), ` as ${leak.tag} in ${leak.budget}, `, bytes(leak.bytes - leak.first), ` more than before. It grew at the end of each ${leak.what}.`),
    chart && chart.root,
    behind("Table: what it held", () => scrolled(table(null, ["#" + leak.what, "#bytes"], sizes.map((size, i) => [count(xs[i]), bytes(size)])), "What it held")));
}
