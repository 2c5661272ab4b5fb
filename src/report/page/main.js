// Puts the page together, and again whenever a live run has more to show.

function parsedData() {
  try {
    return JSON.parse(document.getElementById("data").textContent);
  } catch (error) {
    return { runs: [], live: false, plimsoll: "" };
  }
}

let chosenRun = 0;

const SECTION_NAMES = { compare: "Compare", curves: "Curves", overview: "Overview", refusal: "Out of memory", leak: "Leak", memory: "Memory", plan: "Plan", blocks: "Blocks", pipeline: "Pipeline", log: "Events" };

function runPicker(data) {
  const { runs } = data;
  const select = el("select", { "aria-label": "Run", onchange: () => { chosenRun = Number(select.value); render(data); document.getElementById("pick").querySelector("select").focus(); } }, runs.map((each, i) => el("option", { value: i }, each.name)));
  select.value = String(chosenRun);
  return el("div", { class: "bar", id: "pick" }, el("label", {}, "Details of", select));
}

// What the page has, from top to bottom: [id, how it is made].
function sectionsOf(data) {
  const { runs } = data;
  if (runs.length === 0) return [["", () => el("section", {}, el("h1", {}, "Nothing to show"), el("p", {}, "This page has no run in it."))]];
  const run = runs[chosenRun] || runs[0];
  const several = runs.length > 1;
  const real = !["planned", "replayed", "reported", "empty"].includes(run.state);
  return [
    several && ["compare", () => comparison(runs)],
    several && ["curves", () => curvesSection(runs)],
    several && ["", () => runPicker(data)],
    ["overview", () => overviewSection(run)],
    run.out_of_memory && ["refusal", () => refusalSection(run.out_of_memory)],
    run.leak && ["leak", () => leakSection(run.leak)],
    (real || run.devices.length > 0) && ["memory", () => memorySection(run)],
    run.state === "replayed" && ["blocks", () => blocksSection(run)],
    (real || run.state === "planned") && ["plan", () => planSection(run)],
    real && ["pipeline", () => pipelineSection(run)],
    real && !several && ["curves", () => curvesSection(runs)],
    (real || run.state === "empty") && ["log", () => eventsSection(run)],
  ].filter(Boolean);
}

// The first screen at once, the rest in turns: of a page that updates itself, everything at once.
function render(data) {
  const main = document.getElementById("main");
  const scroll = window.scrollY;
  const all = sectionsOf(data);
  later.length = 0;
  const made = all.map(([id, make], i) => (i < 3 || data.live ? make() : el("section", { id, class: "coming" }, el("h2", {}, SECTION_NAMES[id]))));
  main.replaceChildren(...made, el("footer", {}, "plimsoll ", data.plimsoll, data.live ? "; updates itself" : "; this file asks nothing of any network"));
  made.forEach((section, i) => { if (section.className === "coming") inTurn(() => section.replaceWith(all[i][1]())); });
  window.scrollTo({ top: scroll, behavior: "instant" });
  document.getElementById("nav").replaceChildren(...all.filter(([id]) => id).map(([id]) => el("a", { href: "#" + id }, SECTION_NAMES[id])));
  document.documentElement.dataset.ready = "true";
  inTurn(() => {});
}

function themes() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = () => {
    const theme = chosen || (dark.matches ? "dark" : "light");
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "☀" : "☾";
    button.setAttribute("aria-pressed", String(theme === "dark"));
  };
  button.addEventListener("click", () => { chosen = root.dataset.theme === "dark" ? "light" : "dark"; apply(); });
  dark.addEventListener("change", apply);
  // Paper is light.
  window.addEventListener("beforeprint", () => { root.dataset.theme = "light"; });
  window.addEventListener("afterprint", apply);
  apply();
}

function follow(data) {
  let version = "";
  const ask = async () => {
    try {
      const answer = await fetch("data.json" + (version ? "?after=" + encodeURIComponent(version) : ""), { cache: "no-store" });
      if (answer.status === 200) {
        version = answer.headers.get("ETag") || "";
        const now = await answer.json();
        // Not under the hands of somebody who reads a chart or a table.
        const busy = document.activeElement && document.activeElement !== document.body && document.getElementById("main").contains(document.activeElement);
        if (!busy) render(now);
        if (now.runs.every((run) => run.state !== "running")) { say("the run has ended"); return; }
      }
    } catch (error) {
      say("the watcher has ended");
      return;
    }
    setTimeout(ask, 1000);
  };
  if (data.live) setTimeout(ask, 1000);
}

themes();
const data = parsedData();
render(data);
follow(data);
