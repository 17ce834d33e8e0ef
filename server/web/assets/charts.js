// Curves and bars by Chart.js. Each chart is a figure with a caption, a picture with a description,
// and the same as a table, for who can't see it and where the build has no Chart.js.
import {
  ask, element, formatBytes, formatClock, formatEnergy, formatNumber, formatWithUnit, known,
} from "/assets/common.js";

const hasCharts = typeof Chart !== "undefined";
// Told apart by most who are colour-blind, on light and on dark (Okabe and Ito, without yellow).
const colours = [
  "#3b8bd4", "#e08a1e", "#1a9e77", "#c8659d", "#d5533c", "#7d7fc7", "#6b8f2f", "#8a6d4b", "#56b4e9",
  "#888888",
];
export const colourOf = (i) => colours[i % colours.length];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function frame(place, title, kind) {
  const name = element("b", {}, title);
  const note = element("span");
  const canvas = hasCharts ? element("canvas", { role: "img", "aria-label": title }) : null;
  const plot = element("div", { class: "plot" }, canvas);
  const table = element("tbody");
  const head = element("thead");
  const figure = element("figure", { class: `chart ${kind}` },
    element("figcaption", {}, name, note), hasCharts ? plot : null,
    element("details", hasCharts ? {} : { open: true }, element("summary", {}, "as a table"),
      element("div", { class: "wide" }, element("table", { "aria-label": title }, head, table))));
  place.append(figure);
  const showTable = (titles, rows) => {
    head.replaceChildren(element("tr", {}, ...titles.map((text) => element("th", {}, text))));
    const cells = (row) => row.map((text) => element("td", {}, text));
    table.replaceChildren(...rows.map((row) => element("tr", {}, ...cells(row))));
  };
  return { figure, name, note, canvas, plot, showTable };
}

const baseOptions = () => ({
  animation: false, maintainAspectRatio: false, responsive: true, normalized: true,
  color: style("--text"), interaction: { mode: "nearest", axis: "x", intersect: false },
});
const axisOptions = (format) => ({
  grid: { color: style("--line") },
  ticks: { color: style("--faint"), maxTicksLimit: 7, maxRotation: 0, callback: format },
});

// The mean of what came, weighed down by age; the first points are not drawn towards 0.
function smoothed(points, weight) {
  let sum = 0, weights = 0;
  return points.map((point) => {
    if (!Number.isFinite(point.y)) return point;
    sum = sum * weight + point.y * (1 - weight);
    weights = weights * weight + (1 - weight);
    return { ...point, y: sum / weights };
  });
}

// Beyond the number of colours lines are dashed.
function datasetsOf(curves, smoothing) {
  return curves.flatMap((curve, i) => {
    const line = {
      label: curve.label, data: curve.points, parsing: false, borderWidth: 1.6,
      borderColor: colourOf(i), backgroundColor: colourOf(i),
      borderDash: i < colours.length ? [] : [6, 3], pointRadius: curve.points.length < 40 ? 2 : 0,
    };
    if (smoothing === 0) return [line];
    return [{ ...line, data: smoothed(curve.points, smoothing) },
      { ...line, label: "", borderColor: `${colourOf(i)}55`, borderWidth: 1, pointRadius: 0 }];
  });
}

// Between ticks of bytes, at most so many over this range: round in KiB, MiB and GiB.
const bytesStep = (range, most) => 2 ** Math.ceil(Math.log2(Math.max(range, 1) / most));
const byteUnits = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

// Ticks so far apart, in the largest unit in which three digits tell all of them.
function bytesTick(step) {
  const [size, unit] = byteUnits.find(([bytes]) => step >= bytes / 8) ?? byteUnits[2];
  const digits = Math.min(3, Math.max(0, Math.log2(size / step)));
  return (value) => `${(value / size).toFixed(digits)} ${unit}`;
}

// Of an axis from 0 to `top` bytes, or a little above.
function bytesAxis(top) {
  const step = bytesStep(top, 8);
  const axis = axisOptions(bytesTick(step));
  Object.assign(axis.ticks, { stepSize: step, maxTicksLimit: 20 });
  return { ...axis, beginAtZero: true, max: Math.ceil(top / step) * step };
}

// What hardly changes is drawn as nearly flat, and its ticks differ.
const leastRange = (unit) => (scale) => {
  const middle = (scale.min + scale.max) / 2;
  const half = Math.abs(middle) * (unit === "bytes" ? 0.05 : 0.005);
  if (scale.max - scale.min < 2 * half) {
    scale.min = middle - half;
    scale.max = middle + half;
  }
  if (unit !== "bytes" || scale.type !== "linear") return;
  const stepSize = bytesStep(scale.max - scale.min, 6);
  const callback = bytesTick(stepSize);
  Object.assign(scale.options.ticks, { stepSize, callback, maxTicksLimit: 20 });
};

// All but what follows the mouse is painted once after each change, and copied for each frame.
// Twenty curves of hundreds of points would not be stroked anew 60 times a second.
const paintedOnce = {
  id: "paintedOnce",
  afterUpdate(chart) { chart.painted = null; },
  beforeTooltipDraw(chart) { return !chart.painting; },
  beforeDraw(chart) {
    const { ctx: pen, canvas } = chart;
    if (chart.painting) return true;
    const { width, height } = canvas;
    if (chart.painted?.width !== width || chart.painted.height !== height) {
      chart.painting = true;
      chart.draw();
      chart.painting = false;
      chart.painted = Object.assign(document.createElement("canvas"), { width, height });
      chart.painted.getContext("2d").drawImage(canvas, 0, 0);
      chart.clear();
    }
    pen.drawImage(chart.painted, 0, 0, chart.width, chart.height);
    for (const { element: point, datasetIndex } of chart.getActiveElements()) {
      pen.fillStyle = chart.data.datasets[datasetIndex].borderColor;
      pen.beginPath();
      pen.arc(point.x, point.y, 3.5, 0, 7);
      pen.fill();
    }
    if (chart.tooltip?.opacity > 0) chart.tooltip.draw(pen);
    return false;
  },
};

// Lines down at what happened: chart.marks is [{x, text, kind}]. Their texts stand in the tooltip
// of a point near by.
const markLines = {
  id: "marks",
  beforeDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales } = chart;
    for (const { x, kind } of chart.marks ?? []) {
      const at = scales.x.getPixelForValue(x);
      if (!(at >= area.left && at <= area.right)) continue;
      ctx.save();
      const colour = { attempt: "--warn", text: "--good" }[kind] ?? "--faint";
      ctx.strokeStyle = ctx.fillStyle = style(colour);
      ctx.globalAlpha = 0.55;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(at, area.top);
      ctx.lineTo(at, area.bottom);
      ctx.stroke();
      ctx.beginPath();
      ctx.moveTo(at - 4, area.top);
      ctx.lineTo(at + 4, area.top);
      ctx.lineTo(at, area.top + 6);
      ctx.fill();
      ctx.restore();
    }
  },
};

function marksNear(chart, x) {
  const { min, max } = chart.scales.x;
  const isNear = (mark) => Math.abs(mark.x - x) <= (max - min) / 60;
  return (chart.marks ?? []).filter(isNear).map((mark) => mark.text).slice(0, 6);
}

// Points are numbered from 0; people read how many steps are done by then, as everywhere else.
export const stepsDone = (point) => point + 1;

// The first and last step among what is drawn from x to x; null: nothing is.
function stepsBetween(chart, axis, first, last) {
  if (axis === "step") return [first, last].map((x) => Math.max(1, Math.round(x)));
  const steps = chart.data.datasets.flatMap((line) => line.data)
    .filter(({ x }) => x >= first && x <= last).map(({ step }) => step);
  steps.sort((one, other) => one - other);
  return steps.length === 0 ? null : [steps[0], steps[steps.length - 1]];
}

// chart.draw(curves, {title, unit, log, smoothing, axis, marks, range, leftOut}): curves are
// [{label, points: [{x, y, step}], count}]; range: {x: [least, most], y: …}, else what the points
// need; leftOut: how many more there are.
// onZoom(first, last): somebody dragged over these steps, or over their time.
export function curveChart(place, title, onZoom = null) {
  const { figure, name, note, canvas, plot, showTable } = frame(place, title, "");
  let chart = null, axis = "step";
  if (canvas && onZoom) {
    dragOver(plot, () => chart, (first, last) => {
      const steps = stepsBetween(chart, axis, first, last);
      if (steps) onZoom(...steps);
    });
  }
  return {
    figure,
    draw(curves, wanted) {
      axis = wanted.axis;
      name.textContent = wanted.title ?? title;
      const unit = wanted.unit ?? "";
      const format = (value) => formatWithUnit(value, unit);
      const values = (curve) => curve.points.map((point) => point.y).filter(Number.isFinite);
      showTable(["", "points", "first", "least", "most", "last"], curves.map((curve) => {
        const all = values(curve);
        if (all.length === 0) return [curve.label, String(curve.count), "–", "–", "–", "–"];
        return [curve.label, formatNumber(curve.count), format(all[0]), format(Math.min(...all)),
          format(Math.max(...all)), format(all[all.length - 1])];
      }));
      const last = curves.length === 1 ? values(curves[0]).pop() : undefined;
      const more = wanted.leftOut > 0 ? `${formatNumber(wanted.leftOut)} more curves left out` : "";
      note.textContent = [last === undefined ? "" : format(last), more].filter(Boolean).join(", ");
      if (!canvas) return;
      const names = curves.map((curve) => curve.label).join(", ");
      canvas.setAttribute("aria-label",
        `${name.textContent}: ${names}; the numbers are in the table below`);
      chart ??= new Chart(canvas, {
        type: "line", data: { datasets: [] }, options: {}, plugins: [paintedOnce, markLines],
      });
      chart.marks = wanted.marks ?? [];
      chart.data.datasets = datasetsOf(curves, wanted.smoothing);
      const options = baseOptions();
      options.scales = {
        x: { type: "linear", ...axisOptions(axis === "time" ? formatClock : formatNumber) },
        y: {
          type: wanted.log ? "logarithmic" : "linear",
          ...axisOptions(unit.endsWith("/s") ? formatNumber : format),
        },
      };
      options.scales.y.afterDataLimits = leastRange(unit);
      for (const [name, [min, max]] of Object.entries(wanted.range ?? {}))
        Object.assign(options.scales[name], { min, max });
      options.plugins = {
        legend: {
          display: curves.length > 1,
          labels: { color: style("--text"), boxWidth: 12, filter: (item) => item.text !== "" },
        },
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {
            title: ([item]) => {
              if (!item) return "";
              return axis === "time"
                ? formatClock(item.parsed.x) : `step ${formatNumber(item.parsed.x)}`;
            },
            label: (item) => `${item.dataset.label}: ${format(item.parsed.y)}`,
            footer: (items) => (items.length === 0 ? "" : marksNear(chart, items[0].parsed.x)),
          },
        },
      };
      chart.options = options;
      chart.update();
    },
  };
}

// onDrag(first, last): over these values of x.
function dragOver(plot, chartNow, onDrag) {
  const band = element("div", { class: "drag", hidden: true });
  plot.append(band);
  let begin = null;
  const x = (event) => event.clientX - plot.getBoundingClientRect().left;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || !chartNow()) return;
    begin = x(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (begin === null) return;
    band.hidden = Math.abs(x(event) - begin) < 6;
    band.style.left = `${Math.min(begin, x(event))}px`;
    band.style.width = `${Math.abs(x(event) - begin)}px`;
  });
  plot.addEventListener("pointerup", (event) => {
    const [first, last] = [begin, x(event)].sort((one, other) => one - other);
    const chart = chartNow();
    if (begin !== null && !band.hidden && chart) {
      const value = (pixel) => chart.scales.x.getValueForPixel(pixel);
      onDrag(value(first), value(last));
    }
    begin = null;
    band.hidden = true;
  });
}

// What /api/series answers, as curves over steps or seconds since `start`.
export function curvesOf(series, axis, start, label) {
  return series.curves.map((curve) => ({
    label: label(curve),
    count: curve.count,
    points: curve.steps.map((point, i) => ({
      x: axis === "time" ? (curve.times[i] ?? start) - start : stepsDone(point),
      y: curve.values[i] ?? NaN,
      step: stepsDone(point),
    })),
  }));
}

// Memory is told four times a step: of each rank the curve of this phase, where there is one.
export function onePhase(series, phase = series.phase) {
  const phases = new Set(series.curves.map((curve) => curve.phase));
  const shown = phases.has(phase) ? phase : series.curves[0]?.phase;
  return { ...series, curves: series.curves.filter((curve) => curve.phase === shown) };
}
export const phaseText = (phase) => phase.replaceAll("_", " ");

// from, to: steps as people read them; empty: all.
export function askSeries(job, name, { from = "", to = "", ...more } = {}) {
  const pointOf = (step) => (step === "" ? "" : Math.max(0, Number(step) - 1));
  return ask("/api/series", { job, name, from: pointOf(from), to: pointOf(to), ...more });
}

// ---- memory ----

// A line over the whole width, with its words.
const limitLine = (limit) => ({
  id: "limit",
  afterDatasetsDraw(chart) {
    const y = chart.scales.y.getPixelForValue(limit);
    const { left, right, top } = chart.chartArea;
    if (y < top) return;
    const pen = chart.ctx;
    pen.save();
    pen.strokeStyle = pen.fillStyle = style("--bad");
    pen.lineWidth = 2;
    pen.setLineDash([6, 4]);
    pen.beginPath();
    pen.moveTo(left, y);
    pen.lineTo(right, y);
    pen.stroke();
    pen.fillText(`limit ${formatBytes(limit)}`, left + 4, y - 4);
    pen.restore();
  },
});

// advice: what /api/advice answers. The front is numbered, the other ways that fit are small
// points, the job as it is has a triangle, and what was measured a ring.
export function adviceChart(place) {
  const title = "Time of the whole run over peak memory of a device";
  const { canvas, note, showTable } = frame(place, title, "tall");
  let chart = null;
  // price: of a device and hour; null: not known.
  return (advice, price) => {
    const front = advice.front.map((way, i) => ({ ...way, number: i + 1 }));
    const duration = (seconds) => (seconds === null ? "–" : formatWithUnit(seconds, "s"));
    const cost = ({ devices, total_seconds: seconds }) => (
      seconds === null ? "–" : (price * devices * seconds / 3600).toFixed(2));
    showTable(["", "time", "a step", "peak of a device", "devices", "energy",
      ...(price === null ? [] : ["cost"]), "time from", "changes to paste"],
      [...front, { ...advice.asked, number: "as it is" }].map((way) => [
        String(way.number), duration(way.total_seconds), duration(way.step_seconds),
        peakByKind(way), String(way.devices), known(way.energy_joules, formatEnergy) || "?",
        ...(price === null ? [] : [cost(way)]), way.time_from, way.overrides || "(none)"]));
    const others = advice.fitting.map(([, bytes]) => bytes);
    const most = Math.max(0, ...others, advice.asked.peak_allocated_bytes);
    const limit = advice.limit_bytes;
    const limitFits = limit > 0 && limit < 4 * most;
    const beyond = limitFits ? "" : ", beyond the picture";
    note.textContent = limit > 0 ? `limit ${formatBytes(limit)}${beyond}` : "";
    if (!canvas) return;
    chart?.destroy();
    const point = (way) => ({ x: way.total_seconds, y: way.peak_allocated_bytes, way });
    const timed = (ways) => ways.filter((way) => way.total_seconds !== null).map(point);
    const look = (i) => ({ backgroundColor: colourOf(i), borderColor: colourOf(i) });
    const options = baseOptions();
    options.interaction = { mode: "nearest", intersect: true };
    options.scales = {
      x: {
        type: "linear", beginAtZero: true, ...axisOptions(formatClock),
        title: { display: true, text: "time", color: style("--faint") },
      },
      y: { type: "linear", ...bytesAxis(limitFits ? Math.max(limit, most) * 1.08 : most * 1.05) },
    };
    options.plugins = {
      legend: { labels: { color: style("--text"), boxWidth: 12 } },
      tooltip: { callbacks: { label: ({ raw }) => (raw.way
        ? [`${raw.way.number ?? "as it is"}: ${raw.way.overrides || "(as it is)"}`,
          [duration(raw.x), formatBytes(raw.y), known(raw.way.energy_joules, formatEnergy),
            `from ${raw.way.time_from}`]
            .filter(Boolean).join(", ")]
        : `${duration(raw.x)}, ${formatBytes(raw.y)}`) } },
    };
    const measured = advice.fitting.filter(([, , isMeasured]) => isMeasured);
    const ring = {
      label: "measured in earlier runs", data: measured.map(([x, y]) => ({ x, y })),
      pointRadius: 9, pointHitRadius: 0, pointBorderWidth: 1.5, order: 3,
      backgroundColor: "transparent", borderColor: style("--faint"),
    };
    chart = new Chart(canvas, { type: "scatter", options, data: { datasets: [
      { label: "the best", data: timed(front), pointRadius: 6, order: 1, ...look(0) },
      {
        label: "as it is", data: timed([advice.asked]), pointStyle: "triangle", pointRadius: 8,
        order: 0, ...look(1),
      },
      {
        label: "other ways that fit", data: advice.fitting.map(([x, y]) => ({ x, y })),
        pointRadius: 2, order: 2, ...look(9),
      },
      ...(measured.length > 0 ? [ring] : []),
    ] }, plugins: [numbers, ...(limitFits ? [limitLine(limit)] : [])] });
  };
}

const peakByKind = (way) => element("details", {},
  element("summary", {}, formatBytes(way.peak_allocated_bytes)),
  element("ul", {}, ...way.peak_by_kind.map(
    ({ label, bytes }) => element("li", {}, `${label} ${formatBytes(bytes)}`))));

// Beside the points that have one.
const numbers = {
  id: "numbers",
  afterDatasetsDraw(chart) {
    const pen = chart.ctx;
    pen.save();
    pen.fillStyle = style("--text");
    for (const [i, { way }] of chart.data.datasets[0].data.entries()) {
      const { x, y } = chart.getDatasetMeta(0).data[i];
      pen.fillText(String(way.number), x + 8, y - 6);
    }
    pen.restore();
  },
};

// memory: {"rows": [{kind, label, phase, predicted_bytes, measured_bytes, is_part}],
// "limit_bytes"}.
export function memoryChart(place) {
  const { note, canvas, showTable } = frame(place, "Memory of a rank", "tall");
  let chart = null;
  return (memory) => {
    const phases = [...new Set(memory.rows.map((row) => row.phase))];
    const isShown = (row) => row.is_part && (row.predicted_bytes || row.measured_bytes);
    const kinds = [...new Map(memory.rows.filter(isShown).map((row) => [row.kind, row.label]))];
    const bytes = (value) => (value === null ? "–" : formatBytes(value));
    showTable(["kind", "phase", "predicted", "measured"], memory.rows.map(
      (row) => [row.label, phaseText(row.phase), bytes(row.predicted_bytes),
        bytes(row.measured_bytes)]));
    const find = (kind, phase) =>
      memory.rows.find((row) => row.kind === kind && row.phase === phase);
    const stack = (name, key, alpha) => kinds.map(([kind, label], i) => ({
      label, stack: name,
      backgroundColor: colourOf(i) + alpha, borderColor: colourOf(i), borderWidth: 1,
      data: phases.map((phase) => find(kind, phase)?.[key] ?? 0),
    }));
    const datasets = [
      ...stack("predicted", "predicted_bytes", "66"), ...stack("measured", "measured_bytes", ""),
    ];
    const total = (name, i) =>
      datasets.filter((d) => d.stack === name).reduce((sum, d) => sum + d.data[i], 0);
    const most = Math.max(
      0, ...phases.flatMap((_, i) => [total("predicted", i), total("measured", i)]));
    const limit = memory.limit_bytes;
    const limitFits = limit !== null && limit < 4 * most;
    const beyond = limitFits ? "" : ", beyond the picture";
    note.textContent = limit === null ? "" : `limit ${formatBytes(limit)}${beyond}`;
    if (!canvas || phases.length === 0) return;
    chart?.destroy();
    const options = baseOptions();
    options.interaction = { mode: "nearest", intersect: true };
    const top = limitFits ? Math.max(limit * 1.08, most * 1.05) : most * 1.05;
    options.scales = {
      x: { stacked: true, ...axisOptions((_, i) => phaseText(phases[i])) },
      y: { stacked: true, ...bytesAxis(top) },
    };
    options.scales.x.ticks.maxRotation = 60;
    options.plugins = {
      legend: {
        labels: {
          color: style("--text"), boxWidth: 12, filter: (item) => item.datasetIndex >= kinds.length,
        },
      },
      tooltip: {
        callbacks: {
          label: ({ dataset, parsed }) =>
            `${dataset.stack} ${dataset.label}: ${formatBytes(parsed.y)}`,
        },
      },
    };
    chart = new Chart(canvas, { type: "bar", data: { labels: phases, datasets }, options,
      plugins: limitFits ? [limitLine(limit)] : [] });
  };
}
