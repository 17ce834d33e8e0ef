// The site: devices and jobs, live.
import { at, cell, counted, elapsed, element, formatBytes, formatClock, formatNumber, hasEnded,
  isAway, isBusy, isFaulty, isSlow, isUnderWay, jobLink, known, live, query, showFacts, showRows,
  stateKind, stateText, succeeded, whyOf, workerKind } from "/assets/common.js";

const selected = new Set();
let newest = null;

function progressCell(job) {
  if (!job.steps) return cell(job.step > 0 ? formatNumber(job.step) : "");
  const words = `${formatNumber(job.step)}/${formatNumber(job.steps)}`;
  const bar = { max: job.steps, value: job.step, "aria-label": `steps of ${job.id}` };
  return element("td", {}, element("progress", bar), ` ${words}`);
}

// Kept while its row is there, so that it stays as it was clicked.
function choiceCell(job) {
  const box = element("input", { type: "checkbox", "aria-label": `compare ${job.id}` });
  box.checked = selected.has(job.id);
  box.addEventListener("change", () => {
    if (box.checked) selected.add(job.id); else selected.delete(job.id);
    at("compare").disabled = selected.size === 0;
  });
  return element("td", { "data-keep": "" }, box);
}

function nameCell(job) {
  const group = job.group
    ? element("a", { class: "faint", href: `/lab?${query({ group: job.group })}` }, job.group_name)
    : null;
  return element("td", { class: "name" }, job.name, group ? " " : null, group);
}

function whereOrWhy(job) {
  const place = job.placement.join(" ");
  if (succeeded(job)) return place;
  return [place, whyOf(job)].filter(Boolean).join(": ");
}

function jobRow(job) {
  return {
    key: job.id,
    cells: [choiceCell(job), element("td", {}, jobLink(job, job.id)), nameCell(job),
      cell(stateText(job), stateKind(job)), progressCell(job),
      cell(known(job.loss, formatNumber), "number"),
      cell(known(job.tokens_per_second, formatNumber), "number optional"),
      cell(known(job.peak_allocated_bytes, formatBytes), "number optional"),
      cell(known(elapsed(job), formatClock), "number"),
      cell(known(job.remaining_seconds, formatClock), "number"),
      cell(whereOrWhy(job), "why optional")],
  };
}

function workerRow(worker) {
  const gpu = worker.gpu ?? {};
  const holder = worker.job ? jobLink({ id: worker.job }, worker.job) : "";
  const state = worker.reason ? `${worker.state}: ${worker.reason}` : worker.state;
  const used = (bytes, total) => `${formatBytes(bytes)} of ${formatBytes(total)}`;
  return {
    key: worker.name,
    cells: [cell(worker.name, "name"), cell(state, workerKind(worker)), element("td", {}, holder),
      cell(worker.device.name, "optional"),
      cell(known(gpu.utilization_percent, (v) => `${v.toFixed(0)} %`), "number"),
      cell(known(gpu.memory_used_bytes, (v) => used(v, worker.device.memory_bytes)), "number"),
      cell(known(gpu.power_watts, (v) => `${formatNumber(v)} W`), "number optional"),
      cell(known(gpu.temperature_celsius, (v) => `${v.toFixed(0)} °C`), "number optional"),
      cell(known(worker.host_cpu_percent, (v) => `${v.toFixed(0)} %`), "number"),
      cell(known(worker.host_memory_used_bytes, (v) => used(v, worker.host_memory_total_bytes)),
        "number optional")],
  };
}

// What others run on a worker's GPU: "pid 4711 python (bo)".
function foreignRow(worker, process) {
  const text = [`pid ${process.pid}`, process.program, process.user && `(${process.user})`]
    .filter(Boolean).join(" ");
  return {
    key: `${worker.name} ${process.pid}`,
    cells: [cell(""), cell("foreign", "warn"), cell(text, "warn"), cell("", "optional"), cell(""),
      cell(known(process.memory_bytes, formatBytes), "number"),
      cell("", "optional"), cell("", "optional"), cell(""), cell("", "optional")],
  };
}

const foreignOf = (worker) => worker.gpu?.foreign_processes ?? [];

function passes(job) {
  if (at("unfinished").checked && hasEnded(job)) return false;
  const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const tags = Object.entries(job.tags).map(([key, value]) => `${key}=${value}`);
  const text = [job.id, job.name, job.owner, job.group_name, stateText(job), ...tags]
    .join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function show(site) {
  newest = site;
  const count = (list, test) => list.filter(test).length;
  const { jobs, workers } = site;
  const some = (test, of) => counted(count(workers, test), `device ${of}`, `devices ${of}`, "");
  showFacts(at("facts"), [
    ["devices busy", `${count(workers, isBusy)} of ${workers.length}`],
    some(isAway, "lost or not free"), some(isFaulty, "faulty"), some(isSlow, "slow"),
    some((worker) => foreignOf(worker).length > 0, "used by others"),
    counted(new Set(workers.map((worker) => worker.host)).size, "host", "hosts"),
    counted(count(jobs, isUnderWay), "job running", "jobs running"),
    counted(site.queued_jobs, "job in the queue", "jobs in the queue"),
    ["you are", site.user],
    ["coordinator", site.version],
  ]);
  const shown = jobs.filter(passes);
  const unfinished = count(jobs, (j) => !hasEnded(j));
  const all = site.unfinished_jobs;
  const which = unfinished < all ? `${unfinished} of ${all}` : "all";
  at("shown").textContent =
    `${shown.length} of ${jobs.length}: ${which} unfinished ones, and the newest`;
  showRows(at("jobs"), shown.map(jobRow));
  showRows(at("devices"), workers.flatMap((worker) => [
    workerRow(worker), ...foreignOf(worker).map((process) => foreignRow(worker, process))]));
}

for (const id of ["filter", "unfinished"])
  at(id).addEventListener("input", () => newest && show(newest));
at("compare").addEventListener("click", () => {
  location.href = `/compare?${query({ job: [...selected] })}`;
});
live("site", { limit: new URLSearchParams(location.search).get("limit") }, show);
