// A job: its facts live, its curves, its memory, its log, what it was asked to be.
import { ask, at, cell, elapsed, element, formatBytes, formatClock, formatDuration, formatNumber,
  formatTime, hasEnded, known, live, nameWithId, query, showChildren, showFacts, showRows,
  stateKind, stateText, succeeded, tell, whyOf } from "/assets/common.js";
import {
  adviceChart, askSeries, curveChart, curvesOf, memoryChart, onePhase, stepsDone,
} from "/assets/charts.js";

const job = new URLSearchParams(location.search).get("job") ?? "";
const refreshMillis = 3000;
const keptLog = 300000;  // characters
const markedEvents = 60;
const wantedCharts = ask("/api/metrics", {}).then((known) => known.charts);
wantedCharts.catch(() => {});  // who waits for them says so

let detail = null, view = null;
const charts = new Map();
const drawMemory = memoryChart(at("memory"));

// ---- facts ----

function showView(document) {
  const moved = view?.state !== document.job.state || view.attempt !== document.job.attempt;
  view = document.job;
  window.document.title = `${nameWithId(view)} – trainctl`;
  at("title").textContent = nameWithId(view);
  const group = view.group
    ? element("a", { href: `/lab?${query({ group: view.group })}` },
      `${view.group_name} (${view.group})`) : null;
  const why = whyOf(view);
  showChildren(at("message"), element("span", { class: stateKind(view) }, stateText(view)),
    why ? `: ${why}` : "", group ? " · " : "", group);
  const steps = formatNumber(view.step) + (view.steps ? ` of ${formatNumber(view.steps)}` : "");
  showFacts(at("facts"), [
    ["step", steps], ["loss", known(view.loss, formatNumber)],
    ["tokens/s", known(view.tokens_per_second, formatNumber)],
    ["peak allocated", known(view.peak_allocated_bytes, formatBytes)],
    ["time", known(elapsed(view), formatClock)],
    ["left", known(view.remaining_seconds, formatClock)],
    ["where", view.placement.join(" ")], ["owner", view.owner ?? ""],
    ["attempt", view.attempt > 1 ? String(view.attempt) : ""],
    ...document.workers.filter((worker) => worker.gpu).map((worker) => [
      `GPU of ${worker.name}`,
      known(worker.gpu.utilization_percent, (v) => `${v.toFixed(0)} % · `)
        + formatBytes(worker.gpu.memory_used_bytes)]),
  ]);
  if (moved) refresh();
  if (moved && view.attempt) guarded(readLog);
}

// ---- all about it ----

function rowsOf(value, key, rows) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value))
      rowsOf(inner, key ? `${key}.${name}` : name, rows);
  } else if (value !== null && value !== "") {
    rows.push([key, typeof value === "string" ? value : JSON.stringify(value)]);
  }
  return rows;
}

// LoRA's targets are named once the model is known.
function settingText(key, value) {
  return key === "lora.targets" && value === "[]" ? "all linear layers" : value;
}

function showDetail() {
  showRows(at("attempts"), detail.attempts.map((attempt) => ({
    key: `${attempt.attempt} ${attempt.outcome}`,
    cells: [cell(attempt.attempt), cell(attempt.outcome ?? "running"),
      cell(formatTime(attempt.started_at)),
      cell(attempt.ended_at ? formatDuration(attempt.ended_at - attempt.started_at) : "", "number"),
      element("td", { class: "why", "data-keep": "" }, attempt.message,
        attempt.outcome && !succeeded(attempt) && attempt.last_log_lines
          ? element("details", {}, element("summary", {}, "its last words"),
            element("pre", {}, attempt.last_log_lines)) : null)],
  })));
  showRows(at("events"), detail.events.map((event, i) => ({
    key: String(i), cells: [cell(formatTime(event.time)), cell(event.text, "why")],
  })));
  showRows(at("texts"), detail.continuations.map((said) => ({
    key: `${said.step} ${said.place}`,
    cells: [cell(formatNumber(said.step), "number"), cell(said.prompt, "name"),
      cell(said.text, "name")],
  })));
  showTextSteps();
  at("texts-part").hidden = detail.text_steps.length === 0;
  const settings = rowsOf(detail.job, "", []);
  showRows(at("settings"), settings.map(([key, value]) => ({
    key, cells: [element("th", { scope: "row" }, key), cell(settingText(key, value), "name")],
  })));
  drawMemory(detail.memory);
  showChoices(at("rank"), Math.max(1, detail.devices));
  showChoices(at("attempt"), detail.attempts.length, 1);
}

// Behind what is always there; what was chosen stays chosen while it is kept.
function showTextSteps() {
  const select = at("texts-of"), was = select.value;
  const steps = [...select.options].slice(2);
  if (steps.map((step) => Number(step.value)).join() === detail.text_steps.join()) return;
  for (const step of steps) step.remove();
  select.append(...detail.text_steps.map(
    (step) => element("option", { value: step }, `step ${formatNumber(step)}`)));
  select.value = was;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

function showChoices(select, count, first = 0) {
  const had = select.options.length;
  if (had === count) return;
  const atLast = had === 0 || select.selectedIndex === had - 1;
  for (let i = had; i < count; ++i)
    select.append(element("option", { value: i + first }, i + first));
  if (first === 1 && atLast && count > 0) select.selectedIndex = count - 1;
}

// ---- curves ----

function chosen() {
  return {
    log: at("log").checked, smoothing: Number(at("smoothing").value), axis: at("axis").value,
    marks: marks(),
  };
}

// Where a time stands among the steps, and a step in time, by the points of the first curve;
// between them on a straight line.
function between(from, to, value) {
  if (from.length === 0) return null;
  const next = from.findIndex((one) => one >= value);
  if (next < 0) return value > from[from.length - 1] + 1e-9 ? null : to[to.length - 1];
  if (next === 0 || from[next] === value) return value < from[0] - 1e-9 ? null : to[next];
  const share = (value - from[next - 1]) / (from[next] - from[next - 1]);
  return to[next - 1] + share * (to[next] - to[next - 1]);
}

// Events, attempts and texts where they belong on the axis of the curves.
function marks() {
  if (!detail || !at("marks").checked) return [];
  const curve = charts.get(0)?.series[0]?.curves[0];
  const start = view.started_at ?? 0, overTime = at("axis").value === "time";
  const ofTime = (time) => {
    if (overTime) return Math.max(0, time - start);
    const point = curve ? between(curve.times, curve.steps, time) : null;
    return point === null ? null : stepsDone(point);
  };
  const ofStep = (step) => {
    if (!overTime) return step;
    const time = curve ? between(curve.steps.map(stepsDone), curve.times, step) : null;
    return time === null ? null : time - start;
  };
  const texts = [...new Set(detail.continuations.map((said) => said.step))];
  return [
    ...detail.attempts.slice(1).map(({ attempt, started_at: time }) => (
      { x: ofTime(time), text: `attempt ${attempt} begins`, kind: "attempt" })),
    ...detail.events.slice(-markedEvents).map(({ time, text }) => (
      { x: ofTime(time), text: text.slice(0, 90), kind: "event" })),
    ...texts.map((step) => ({
      x: ofStep(Math.max(1, step)),  // texts before the first step stand at it
      text: `texts of step ${formatNumber(step)} (below)`,
      kind: "text",
    })),
  ].filter((mark) => mark.x !== null && Number.isFinite(mark.x));
}

function chartOf(place, title) {
  if (!charts.has(place)) {
    const chart = curveChart(at("curves"), title, zoom);
    chart.figure.style.order = place;
    charts.set(place, { chart, series: [] });
  }
  return charts.get(place);
}

function drawOne({ chart, series }) {
  const start = view.started_at ?? 0;
  const wanted = chosen();
  const label = (one, curve) => {
    if (curve.rank === null || one.curves.length === 1) return one.label;
    return `${series.length > 1 ? `${one.label}, ` : ""}rank ${curve.rank}`;
  };
  const curves = series.flatMap(
    (one) => curvesOf(one, wanted.axis, start, (curve) => label(one, curve)));
  const leftOut = series.reduce((sum, one) => sum + one.left_out, 0);
  chart.draw(curves, { ...wanted, unit: series[0]?.unit, leftOut });
}

function drawAll() {
  for (const one of charts.values()) drawOne(one);
}

function zoom(first, last) {
  at("from").value = first;
  at("to").value = last;
  readCurves();
}

// Those that the job has none of are asked for as well: it costs nothing, and the first curve need
// not wait for the list of what the job has.
async function readCurves() {
  const range = { from: at("from").value, to: at("to").value };
  for (const [place, { title, metrics }] of (await wantedCharts).entries()) {
    const answers = await Promise.all(metrics.map((name) => askSeries(job, name, range)));
    const series = answers.map((one) => onePhase(one)).filter((one) => one.curves.length > 0);
    if (series.length === 0 && !charts.has(place)) continue;
    const chart = chartOf(place, title);
    chart.series = series;
    drawOne(chart);
  }
}

async function readDetail() {
  const texts = at("texts-of").value;
  const answer = await ask("/api/job", { job, texts });
  if (texts !== at("texts-of").value) return;  // another choice is asked for
  detail = answer;
  showDetail();
  drawAll();  // the marks are of the detail
}

at("texts-of").addEventListener("change", () => guarded(readDetail));
for (const id of ["log", "smoothing", "axis", "marks"])
  at(id).addEventListener("input", drawAll);
for (const id of ["from", "to"]) at(id).addEventListener("change", () => guarded(readCurves));
at("whole").addEventListener("click", () => {
  at("from").value = at("to").value = "";
  guarded(readCurves);
});

// ---- other ways ----

// "2.50/GPUh" or "2.5", as `trainctl advise --price`; null: none, or none that can be read.
function priceOf(field) {
  const [, number] = field.value.trim().match(/^(\d+\.?\d*|\.\d+)(\/GPUh)?$/) ?? [];
  field.setAttribute("aria-invalid", String(field.value.trim() !== "" && number === undefined));
  return number === undefined ? null : Number(number);
}

// Found when somebody looks: thousands of ways are weighed.
let drawAdvice = null;
at("advice").addEventListener("toggle", () => guarded(async () => {
  if (!at("advice").open || drawAdvice) return;
  const advice = await ask("/api/advice", { job });
  if (drawAdvice) return;  // opened twice before the answer
  drawAdvice = adviceChart(at("ways"));
  at("advised").textContent =
    `${formatNumber(advice.considered)} ways on ${advice.devices} × ${advice.device}, `
    + `${formatNumber(advice.fitting.length)} fit, the best `
    + `${formatNumber(advice.front.length)} are shown by number: each other is slower and no `
    + "smaller than one of these. "
    + "Each trains the same: rows, steps, global batch and learning rate stay."
    + (advice.asked.energy_joules === null ? ""
      : " Energy: of the devices alone, at the power that runs on them measured.");
  const leftOut = Object.entries(advice.devices_left_out).map(([why, count]) => `${count} ${why}`);
  at("excluded").replaceChildren(
    ...(leftOut.length > 0 ? [element("li", {}, `Devices left out: ${leftOut.join(", ")}.`)] : []),
    ...advice.excluded.map(({ reason, ways, least_peak_bytes: least }) => element("li", {},
      `Left out, ${formatNumber(ways)}: ${reason}`
      + `${known(least, (bytes) => ` (the least of them ${formatBytes(bytes)})`)}.`)));
  const { refused } = advice.asked;
  at("refused").textContent = refused ? `As it is: ${refused}.` : "";
  const draw = () => drawAdvice(advice, priceOf(at("price")));
  at("price").addEventListener("input", draw);
  draw();
  at("ways").querySelector("details").open = true;
}));

// ---- the log ----

let log = { offset: null, ended: false, asked: 0 };

function restartLog() {
  log = { offset: null, ended: false, asked: log.asked + 1 };
  at("text").textContent = "";
  readLog();
}

async function readLog() {
  const { asked, offset } = log;
  const piece = await ask("/api/log", {
    job, rank: at("rank").value, attempt: at("attempt").value, offset,
  });
  // Over a slow line one asked behind this one, or before it, may have the same piece.
  if (asked !== log.asked || offset !== log.offset) return;
  log.offset = piece.next_offset;
  log.ended = piece.ended;
  const place = at("text");
  const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
  if (piece.removed_at && !piece.text && !place.textContent) {
    const when = formatTime(piece.removed_at);
    place.textContent = `The log was removed at ${when} by this site's policy.`;
  }
  if (piece.text) place.textContent = (place.textContent + piece.text).slice(-keptLog);
  if (piece.text && atEnd) place.scrollTop = place.scrollHeight;
}

for (const id of ["rank", "attempt"]) at(id).addEventListener("change", () => guarded(restartLog));

// ---- again and again ----

async function guarded(work) {
  try {
    await work();
  } catch (error) {
    tell(error.message);
  }
}

let refreshing = false, again = false;

// What changes while it is read is read again.
async function refresh() {
  again = refreshing;
  if (refreshing) return;
  refreshing = true;
  await guarded(() => Promise.all([readCurves(), readDetail()]));
  refreshing = false;
  if (again) refresh();
}

setInterval(() => {
  if (document.hidden || refreshing || !view || hasEnded(view)) return;
  refresh();
}, refreshMillis);
setInterval(() => {
  if (document.hidden || !view || !at("follow").checked || log.ended || !view.attempt) return;
  guarded(readLog);
}, 1000);
live("view", { job }, showView);
