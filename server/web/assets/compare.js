// Runs side by side: the table of `trainctl compare`, and curves of any metric over each other. The
// address holds the selection.
import {
  ask, at, element, formatDelta, formatWithUnit, jobLink, nameWithId, query, tell,
} from "/assets/common.js";
import { askSeries, curveChart, curvesOf, onePhase, phaseText } from "/assets/charts.js";

let metrics = [], firstMetric = "";
let comparison = null, compared = [], base = 0, curves = [];  // compared: ids
const chart = curveChart(at("curves"), "Curves", zoom);
chart.figure.classList.add("tall");

// ---- the address ----

const isId = (word) => /^[gj]\d+$/.test(word);

// A name means the newest of that name, and no word the newest group: tomorrow they are others.
const idsFor = (words) =>
  (words.length > 0 && words.every(isId) ? words : comparison.jobs.map((job) => job.id));

function readAddress() {
  const held = new URLSearchParams(location.search);
  const words = held.getAll("job");
  at("jobs").value = words.join(" ");
  at("metric").replaceChildren(
    ...metrics.map((metric) => element("option", { value: metric.name }, metric.label)));
  const wanted = metrics.find((metric) => metric.name === held.get("metric"));
  at("metric").value = wanted?.name ?? firstMetric;
  at("log").checked = held.has("log");
  at("axis").value = held.get("axis") === "time" ? "time" : "step";
  at("smoothing").value = held.get("smoothing") ?? 0;
  for (const id of ["from", "to"]) at(id).value = held.get(id) ?? "";
  return [words, held.get("base")];
}

function writeAddress() {
  const selection = {
    job: compared, base: base > 0 ? comparison.jobs[base].id : null,
    metric: at("metric").value === firstMetric ? null : at("metric").value,
    log: at("log").checked ? 1 : null,
    axis: at("axis").value === "time" ? "time" : null,
    smoothing: Number(at("smoothing").value) || null,
    from: at("from").value, to: at("to").value,
  };
  history.replaceState(null, "", `/compare?${query(selection)}`);
}

// ---- the table ----

// As client/show/compare_cell.cc.
function valueText(row, i) {
  const value = row.values[i];
  if (value === null) return row.section === "changed" ? "none" : "–";
  if (typeof value === "string") return value;
  return formatWithUnit(value, row.unit.endsWith("/s") ? "" : row.unit);
}

function valueCell(row, i) {
  const delta = row.deltas[i] === null ? "" : `  ${formatDelta(row.deltas[i])}`;
  const note = row.notes[i] ? ` (${row.notes[i]})` : "";
  const best = row.best[i];
  return element("td", { class: best ? "good" : null },
    `${valueText(row, i)}${delta}${best ? " *" : ""}${note}`);
}

// As client/show/comparison.cc.
function headingsAbove({ section, label }, span) {
  const doubt = comparison.doubtful_sections[section];
  if (section === label && !doubt) return [];
  return [element("tr", { class: "section" },
    element("th", { scope: "colgroup", colspan: span }, section,
      ...(doubt ? [element("span", { class: "warn" }, ` (${doubt})`)] : [])))];
}

function warningText(text, i) {
  const sections = comparison.warning_sections[i].join(", ");
  return element("p", { class: "notes" }, element("b", { class: "warn" }, "Not comparable"),
    `${sections ? ` (${sections})` : ""}: ${text}.`);
}

function showTable() {
  const { jobs, rows } = comparison;
  const order = [base, ...jobs.keys()].filter((i, place) => place === 0 || i !== base);
  const heading = (i) => element("th", { scope: "col" }, jobLink(jobs[i]),
    i === base && jobs.length > 1 ? " base" : "");
  at("head").replaceChildren(element("tr", {}, element("td"), ...order.map(heading)));
  const made = [];
  let section = "";
  for (const row of rows) {
    if (row.section !== section) made.push(...headingsAbove(row, order.length + 1));
    section = row.section;
    made.push(element("tr", {}, element("th", { scope: "row" }, row.label),
      ...order.map((i) => valueCell(row, i))));
  }
  at("rows").replaceChildren(...made);
  at("same").textContent = comparison.same.length > 0 ? `Same: ${comparison.same.join(", ")}.` : "";
  at("definitions").replaceChildren(
    ...comparison.definitions.map((line) => element("p", {}, line)));
  at("warnings").replaceChildren(...comparison.warnings.map(warningText));
  at("base").replaceChildren(
    ...jobs.map((job, i) => element("option", { value: i }, nameWithId(job))));
  at("base").value = String(base);
}

async function compare(words, wantedBase) {
  comparison = await ask("/api/compare", { job: words, base: wantedBase });
  compared = idsFor(words);
  at("jobs").value = compared.join(" ");
  const isWanted = (job) => job.id === wantedBase || job.name === wantedBase;
  base = Math.max(0, comparison.jobs.findIndex(isWanted));
  showTable();
  writeAddress();
  await readCurves();
}

// ---- the curves ----

const kMostRanks = 8;  // of a run that stands alone

// What is no number is lower than any.
const highest = ({ values }) => Math.max(...values.filter((value) => value !== null));
// The first of those with the highest value.
const highestOf = (ranks) =>
  ranks.reduce((one, other) => (highest(other) > highest(one) ? other : one));

// The phase of a step in which memory is drawn: where the run has most, as the table has it. One in
// which that is so of all runs, where there is one.
function phaseFor(runs) {
  const hasMostIn = ({ curves: ranks }, phase) => {
    const most = highest(highestOf(ranks));
    return ranks.some((one) => one.phase === phase && highest(one) === most);
  };
  const shared = runs[0]?.curves.map((one) => one.phase)
    .find((phase) => runs.every((run) => hasMostIn(run, phase)));
  return (run) => shared ?? highestOf(run.curves).phase;
}

async function readCurves() {
  const metric = at("metric").value;
  const range = { from: at("from").value, to: at("to").value };
  const answers = await Promise.all(comparison.jobs.map((job) => askSeries(job.id, metric, range)));
  const told = answers.filter((series) => series.curves.length > 0);
  const phaseOf = phaseFor(told);
  curves = told.map((series) => onePhase(series, phaseOf(series)));
  draw();
}

function zoom(first, last) {
  at("from").value = first;
  at("to").value = last;
  writeAddress();
  guarded(readCurves);
}

// Of each run its gang's curve. Of ranks all, where a run stands alone; else the highest, as the
// table has the worst rank's memory.
function draw() {
  const axis = at("axis").value;
  const phases = [...new Set(curves.map((series) => series.curves[0].phase).filter(Boolean))];
  const drawn = curves.flatMap((series) => {
    const most = curves.length > 1 ? 1 : kMostRanks, count = series.curves.length;
    const shown = { ...series, curves: count > most ? [highestOf(series.curves)] : series.curves };
    const start = series.started_at ?? shown.curves[0].times[0] ?? 0;
    const note = count > most ? `, the highest of ${count}` : "";
    return curvesOf(shown, axis, start, ({ rank, phase }) => (
      `${series.name} (${series.job})`
      + (rank === null || count === 1 ? "" : `, rank ${rank}${note}`)
      + (phases.length > 1 ? `, ${phaseText(phase)}` : "")));
  });
  const { label } = metrics.find((metric) => metric.name === at("metric").value);
  const title = [label, phases.map(phaseText).join(" or ")].filter(Boolean).join(", ");
  chart.draw(drawn, {
    title, axis, unit: curves[0]?.unit,
    log: at("log").checked, smoothing: Number(at("smoothing").value),
  });
}

async function guarded(work) {
  tell(null);
  try {
    await work();
  } catch (error) {
    tell(error.message);
  }
}

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(() => compare(at("jobs").value.split(/[\s,]+/).filter(Boolean), null));
});
at("base").addEventListener("change", () =>
  guarded(() => compare(compared, comparison.jobs[at("base").value].id)));
at("metric").addEventListener("change", () => { writeAddress(); guarded(readCurves); });
for (const id of ["log", "axis", "smoothing"])
  at(id).addEventListener("input", () => { writeAddress(); draw(); });
for (const id of ["from", "to"])
  at(id).addEventListener("change", () => { writeAddress(); guarded(readCurves); });
at("whole").addEventListener("click", () => zoom("", ""));
guarded(async () => {
  const known = await ask("/api/metrics", {});
  metrics = known.metrics;
  firstMetric = known.charts[0].metrics[0];
  await compare(...readAddress());
});
