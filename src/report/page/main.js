// Puts the page together, and again whenever a live run has more to show.

function parsedData() {
  try {
    return JSON.parse(document.getElementById("data").textContent);
  } catch (error) {
    return { runs: [], live: false, plimsoll: "" };
  }
}

let chosenRun = 0;

function sectionsOf(data) {
  const runs = data.runs;
  const main = [];
  if (runs.length === 0) return [el("section", {}, el("h1", {}, "Nothing to show"), el("p", {}, "This page has no run in it."))];
  if (runs.length > 1) main.push(comparison(runs), curvesSection(runs));
  const run = runs[chosenRun] || runs[0];
  if (runs.length > 1) {
    const select = el("select", { "aria-label": "Run", onchange: () => { chosenRun = Number(select.value); render(data); document.getElementById("pick").querySelector("select").focus(); } }, runs.map((each, i) => el("option", { value: i }, each.name)));
    select.value = String(chosenRun);
    main.push(el("div", { class: "bar", id: "pick" }, el("label", {}, "Details of", select)));
  }
  main.push(overviewSection(run));
  if (run.state === "planned") return [...main, planSection(run)];
  if (run.state !== "empty") {
    main.push(memorySection(run), planSection(run), pipelineSection(run));
    if (runs.length === 1) main.push(curvesSection(runs));
  }
  main.push(eventsSection(run));
  return main;
}

function render(data) {
  const main = document.getElementById("main");
  const scroll = window.scrollY;
  main.replaceChildren(...sectionsOf(data), el("footer", {}, "plimsoll ", data.plimsoll, data.live ? "; updates itself" : "; this file asks nothing of any network"));
  window.scrollTo({ top: scroll, behavior: "instant" });
  const nav = document.getElementById("nav");
  nav.replaceChildren(...[...main.querySelectorAll("section[id]")].map((section) => {
    const names = { overview: "Overview", memory: "Memory", plan: "Plan", pipeline: "Pipeline", curves: "Curves", log: "Events", compare: "Compare" };
    return el("a", { href: "#" + section.id }, names[section.id]);
  }));
  document.documentElement.dataset.ready = "true";
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
