// What all pages share: asking the coordinator, live documents, elements, and numbers for people.
// Texts that come from jobs become text nodes, never markup.

export async function ask(path, parameters = {}) {
  const response = await fetch(`${path}?${query(parameters)}`).catch(() => {
    throw new Error("the coordinator does not answer");
  });
  const document = await response.json();
  if (!response.ok) throw new Error(document.error ?? response.statusText);
  return document;
}

// {job: ["j1", "j2"], base: "j1"} as a query; nothing for null, undefined and "".
export function query(parameters) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") words.append(key, one);
    }
  }
  return words.toString();
}

// Shows the document now and after each change. The browser connects again by itself.
export function live(path, parameters, show) {
  const state = document.getElementById("live");
  const source = new EventSource(`/api/live/${path}?${query(parameters)}`);
  source.onmessage = (event) => {
    state.textContent = "live";
    tell(null);
    show(JSON.parse(event.data));
  };
  source.onerror = () => {
    const over = source.readyState === EventSource.CLOSED;
    state.textContent = over ? "" : "not connected, trying again";
    if (over) ask(`/api/${path}`, parameters).catch((problem) => tell(problem.message));
  };
  source.addEventListener("problem", (event) => {
    source.close();
    state.textContent = "";
    tell(JSON.parse(event.data).error);
  });
  return source;
}

export function tell(problem) {
  const place = document.getElementById("problem");
  place.hidden = !problem;
  place.textContent = problem ?? "";
}

// The page's own link of the header.
document.querySelector(`header nav a[href="${location.pathname}"]`)
  ?.setAttribute("aria-current", "page");

export const at = (id) => document.getElementById(id);

// Only with TLS has a browser signed in.
const signOut = at("sign-out");
signOut.hidden = location.protocol !== "https:";
signOut.addEventListener("click", async () => {
  await fetch("/api/sign-out", { method: "POST" }).catch(() => null);
  location.assign("/");
});

// element("td", {class: "number"}, "text", child …); null children are left out.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map(
    (child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return made;
}

export const cell = (text, kind = "") => element("td", { class: kind || null }, text ?? "");

// A job as pages name it, and a link to its page.
export const nameWithId = (job) => `${job.name} (${job.id})`;
export const jobLink = (job, text = nameWithId(job)) => (
  element("a", { href: `/job?${query({ job: job.id })}` }, text));

// A list of facts: [label, text], those without a text left out.
export function showFacts(place, facts) {
  place.replaceChildren(...facts.filter(([, text]) => text !== null && text !== "").map(
    ([label, text]) => element("li", {}, element("b", {}, text), element("span", {}, label))));
}

// A fact that counts, with the label of one or of many. none: what stands for zero.
export const counted = (count, one, many, none = "0") =>
  [count === 1 ? one : many, count ? String(count) : none];

// ---- numbers for people, as the command line writes them (client/show/format.cc) ----

const thousands = (value) => Math.round(value).toLocaleString("en-US");

export function formatNumber(value) {
  if (!Number.isFinite(value)) return "nan";
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential(3);
  if (size >= 1000 || value === Math.trunc(value)) return thousands(value);
  if (size < 1e-5) return String(Number(value.toPrecision(4)));
  return String(Number(value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(size))))));
}

// As base::FormatBytes and base::FormatDuration.
export function formatBytes(value) {
  const size = Math.abs(value);
  if (size < 1024) return `${value} B`;
  if (size < 2 ** 20) return `${(value / 1024).toFixed(2)} KiB`;
  if (size < 2 ** 30 / 10) return `${(value / 2 ** 20).toFixed(2)} MiB`;
  return `${(value / 2 ** 30).toFixed(2)} GiB`;
}

export function formatDuration(seconds) {
  const whole = Math.round(seconds);
  const parts = [[Math.floor(whole / 86400), "d"], [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"], [whole % 60, "s"]];
  const said = parts.filter(([count]) => count > 0);
  return said.map(([count, unit]) => `${count} ${unit}`).join(" ") || "0 s";
}

export function formatClock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

export function formatWithUnit(value, unit) {
  if (!Number.isFinite(value)) return "nan";
  if (unit === "bytes") return formatBytes(value);
  if (unit === "s" && value >= 60) return formatDuration(value);
  if (unit === "s" && value < 1) return `${(1000 * value).toFixed(2)} ms`;
  if (unit === "s") return `${value.toFixed(2)} s`;
  if (unit === "%") return `${value.toFixed(0)} %`;
  if (unit === "×") return `${value.toFixed(2)}×`;
  return unit ? `${formatNumber(value)} ${unit}` : formatNumber(value);
}

// As `trainctl advise` has it: 1.25 kWh; of less 12.50 Wh, of little 830 J.
export function formatEnergy(joules) {
  const hours = joules / 3600;
  if (hours < 1) return `${joules.toFixed(0)} J`;
  return hours < 1000 ? `${hours.toFixed(2)} Wh` : `${(hours / 1000).toFixed(2)} kWh`;
}

export function formatDelta(ratio) {
  const percent = 100 * ratio;
  if (!Number.isFinite(percent) || Math.abs(percent) < 0.05) return "±0 %";
  const digits = Math.abs(percent) < 999.95 ? 1 : 0;
  return `${percent > 0 ? "+" : "−"}${Math.abs(percent).toFixed(digits)} %`;
}

export const known = (value, format) => (
  value === null || value === undefined ? "" : format(value));
export const formatTime = (seconds) => known(seconds, (s) => new Date(s * 1000).toLocaleString());

// ---- what names of states mean (common/job/outcome.h, worker_state.h) ----

export const hasEnded = (job) => job.state === "FINISHED";
export const waits = (job) => job.state === "QUEUED";
export const isUnderWay = (job) => !waits(job) && !hasEnded(job);
export const succeeded = (job) => job.outcome === "SUCCEEDED";
// As it was to: with success, or as the job expects it.
export const endedWell = (job) => hasEnded(job) && (job.as_expected ?? succeeded(job));
export const whyOf = (job) => (hasEnded(job) ? job.message : job.reason);
export const isBusy = (worker) => worker.state === "BUSY";
export const isSlow = (worker) => worker.slowness !== null;
export const isFaulty = (worker) => worker.state === "BAD" || worker.state === "SUSPECT";
export const isAway = (worker) => worker.state === "LOST" || worker.state === "DIRTY";
const workerKinds = { READY: "good", BUSY: "", LEASED: "", DRAINED: "warn", SUSPECT: "warn" };
export const workerKind = (worker) => {
  const kind = workerKinds[worker.state] ?? "bad";
  return kind !== "bad" && isSlow(worker) ? "warn" : kind;
};

export function stateText(job) {
  if (job.as_expected === null) return job.outcome ?? job.state;
  const expected = job.as_expected ? " (as expected)" : " (not as expected)";
  return (job.outcome ?? job.state) + expected;
}

export function stateKind(job) {
  if (job.as_expected !== null) return job.as_expected ? "good" : "bad";
  if (succeeded(job)) return "good";
  if (job.outcome === "CANCELLED" || job.state === "STOPPING") return "warn";
  return job.outcome ? "bad" : waits(job) ? "faint" : "";
}

export function elapsed(job, now = Date.now() / 1000) {
  return job.started_at === null ? null : Math.max(0, (job.ended_at ?? now) - job.started_at);
}

// The cells of a table, changed only where their text changed, so that a selection and the focus
// stay. rows: [{key, cells: [td …]}].
export function showRows(body, rows) {
  const old = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const made = rows.map(({ key, cells }) => {
    const row = old.get(key) ?? element("tr", { "data-key": key });
    cells.forEach((fresh, i) => {
      const there = row.children[i];
      if (!there) row.append(fresh);
      else if (there.dataset.keep === undefined && there.outerHTML !== fresh.outerHTML)
        there.replaceWith(fresh);
    });
    return row;
  });
  const kept = new Set(made);
  for (const row of [...body.children]) if (!kept.has(row)) row.remove();
  made.forEach((row, i) => {
    if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null);
  });
}

// These children, unless they are there already: the focus stays.
export function showChildren(place, ...children) {
  const fresh = [...element("p", {}, ...children).childNodes], there = [...place.childNodes];
  const same = fresh.length === there.length
    && fresh.every((node, i) => node.isEqualNode(there[i]));
  if (!same) place.replaceChildren(...fresh);
}
