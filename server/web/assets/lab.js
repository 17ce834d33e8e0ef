// A group as a grid of its experiments: what each changes, how far it is, and its training loss.
import { ask, at, counted, elapsed, element, endedWell, formatBytes, formatClock, formatNumber,
  formatWithUnit, hasEnded, isUnderWay, jobLink, known, live, query, showFacts, stateKind,
  stateText, succeeded, tell, waits, whyOf } from "/assets/common.js";
import { askSeries, curveChart, curvesOf } from "/assets/charts.js";

const group = new URLSearchParams(location.search).get("group") ?? "";
const refreshMillis = 5000;
const cards = new Map();  // by the id of a job
let jobs = [], changed = new Map();

// ---- cards ----

function cardOf(job) {
  if (cards.has(job.id)) return cards.get(job.id);
  const heading = element("h3", {}, jobLink(job));
  const changes = element("p", { class: "faint" }), state = element("p");
  const facts = element("ul", { class: "facts" });
  const item = element("li", { class: "experiment" }, heading, changes, state, facts);
  const chart = curveChart(item, "Training loss");
  const card = { item, changes, facts, state, chart, series: null };
  cards.set(job.id, card);
  at("experiments").append(item);
  return card;
}

function showCard(job) {
  const card = cardOf(job);
  const why = whyOf(job);
  const steps = job.steps
    ? element("progress", { max: job.steps, value: job.step, "aria-label": `steps of ${job.id}` })
    : null;
  card.state.replaceChildren(...[
    element("span", { class: stateKind(job) }, stateText(job)), " ", steps,
    !succeeded(job) && why ? ` ${why}` : "",
  ].filter(Boolean));
  showFacts(card.facts, [
    ["step", job.steps ? `${formatNumber(job.step)} of ${formatNumber(job.steps)}` : ""],
    ["loss", known(job.loss, formatNumber)],
    ["tokens/s", known(job.tokens_per_second, formatNumber)],
    ["peak", known(job.peak_allocated_bytes, formatBytes)],
    ["time", known(elapsed(job), formatClock)],
    ["left", known(job.remaining_seconds, formatClock)],
  ]);
  card.changes.textContent = changed.get(job.id) ?? "";
}

function show(document) {
  jobs = document.jobs;
  window.document.title = `${document.group_name} – trainctl`;
  at("title").textContent = `${document.group_name} (${document.group})`;
  at("question").textContent = document.questions.join(" ");
  at("compare").href = `/compare?${query({ job: document.group })}`;
  const count = (test) => String(jobs.filter(test).length);
  const asExpected = jobs.filter((job) => endedWell(job) && !succeeded(job)).length;
  showFacts(at("facts"), [
    counted(jobs.length, "experiment", "experiments"),
    ["succeeded", count((job) => endedWell(job) && succeeded(job))],
    ["ended otherwise, as expected", asExpected ? String(asExpected) : ""],
    ["ended otherwise", count((job) => hasEnded(job) && !endedWell(job))],
    ["running", count(isUnderWay)],
    ["in the queue", count(waits)],
  ]);
  jobs.forEach(showCard);
}

// ---- what each changes, and the curves ----

function changesOf(comparison) {
  const rows = comparison.rows.filter((row) => row.section === "changed");
  return new Map(comparison.jobs.map((job, i) => [job.id, rows.map((row) => {
    const value = row.values[i];
    if (value === null) return `${row.label} none`;
    return `${row.label} ${typeof value === "string" ? value : formatWithUnit(value, row.unit)}`;
  }).join(" · ")]));
}

function draw() {
  const wanted = { log: at("log").checked, axis: at("axis").value, smoothing: 0 };
  const drawn = jobs.filter((job) => cards.get(job.id)?.series).map((job) => {
    const { series } = cards.get(job.id);
    const loss = curvesOf(series, wanted.axis, job.started_at ?? 0, () => "training loss");
    return [cards.get(job.id), loss, series.unit];
  });
  const points = drawn.flatMap(([, curves]) => curves.flatMap((curve) => curve.points));
  const bound = (pick, values) => values.reduce((one, other) => pick(one, other), values[0]);
  const span = (values) => [bound(Math.min, values), bound(Math.max, values)];
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y).filter(Number.isFinite);
  const range = at("same").checked && ys.length > 0 ? { x: span(xs), y: span(ys) } : null;
  for (const [card, curves, unit] of drawn) card.chart.draw(curves, { ...wanted, unit, range });
}

async function refresh() {
  if (jobs.length === 0) return;
  const comparison = await ask("/api/compare", { job: jobs.map((job) => job.id) });
  changed = changesOf(comparison);
  await Promise.all(jobs.map(async (job) => {
    const series = await askSeries(job.id, "loss", { points: 120 });
    cardOf(job).series = series.curves.length > 0 ? series : null;
  }));
  jobs.forEach(showCard);
  draw();
}

let busy = false;
async function guardedRefresh() {
  if (busy) return;
  busy = true;
  try {
    await refresh();
  } catch (error) {
    tell(error.message);
  }
  busy = false;
}

for (const id of ["log", "axis", "same"]) at(id).addEventListener("input", draw);
let first = true;
live("group", { group }, (document) => {
  show(document);
  if (first) guardedRefresh();
  first = false;
});
setInterval(() => {
  if (!document.hidden && !jobs.every(hasEnded)) guardedRefresh();
}, refreshMillis);
