// The queue in its order, and leases as a calendar: a row for each device that somebody has leased.
import { at, cell, counted, element, formatClock, formatTime, jobLink, known, live, showFacts,
  showRows, waits, workerKind } from "/assets/common.js";

const day = 86400;

function queueRow(job, now) {
  return {
    key: job.id,
    cells: [element("td", {}, jobLink(job, job.id)), cell(job.name, "name"),
      cell(job.owner, "optional"), cell(job.priority, "number"), cell(job.devices, "number"),
      cell(known(job.submitted_at, (time) => formatClock(now - time)), "number"),
      cell(known(job.predicted_start, formatTime)), cell(job.reason, "why")],
  };
}

const word = (trouble) => trouble.is.split(/[: ]/)[0];  // "BAD"
const kindOf = (trouble) => workerKind({ state: word(trouble), slowness: null });

// The devices, and below them what is wrong with some: no job starts there.
function devicesCell(lease) {
  return element("td", { class: "optional" }, lease.devices.join(" "),
    ...lease.trouble.map((trouble) => (
      element("div", { class: kindOf(trouble) }, `${trouble.device} is ${trouble.is}`))));
}

// Of a row of the calendar: the device, and in a word what is wrong with it.
function deviceLabel(worker, leases) {
  const trouble = leases.flatMap((lease) => lease.trouble).find(({ device }) => device === worker);
  return element("b", {}, worker,
    trouble && element("span", { class: kindOf(trouble), title: `${worker} is ${trouble.is}` },
      ` ${word(trouble)}`));
}

function leaseRow(lease) {
  const kind = { ACTIVE: "good", ENDING: "warn" }[lease.state] ?? "";
  const links = lease.jobs.flatMap((job) => [jobLink(job), " "]);
  return {
    key: lease.name,
    cells: [cell(lease.name, "name"), cell(lease.owner), cell(lease.state, kind),
      cell(formatTime(lease.start)),
      cell(formatTime(lease.end)), devicesCell(lease),
      element("td", {}, ...links)],
  };
}

// From now, or the first start, to the last end; a mark for each midnight.
function showCalendar(leases, now) {
  const begin = Math.min(now, ...leases.map((lease) => lease.start));
  const end = Math.max(begin + 3600, ...leases.map((lease) => lease.end));
  const place = (time) => 100 * (Math.min(Math.max(time, begin), end) - begin) / (end - begin);
  const line = (time, kind) => {
    const mark = element("i", { class: kind, title: formatTime(time) });
    mark.style.left = `${place(time)}%`;
    return mark;
  };
  const midnights = [];
  const first = new Date(begin * 1000);
  first.setHours(24, 0, 0, 0);
  for (let time = first.getTime() / 1000; time < end && midnights.length < 60; time += day)
    midnights.push(time);
  const workers = [...new Set(leases.flatMap((lease) => lease.devices))].sort();
  at("calendar").replaceChildren(...workers.map((worker) => {
    const track = element("div", { class: "track" },
      ...midnights.map((time) => line(time, "midnight")), line(now, "now"));
    for (const lease of leases.filter((one) => one.devices.includes(worker))) {
      const share = place(lease.end) - place(lease.start);
      const look = share >= 8 ? "" : place(lease.start) > 70 ? " narrow late" : " narrow";
      const turn = element("span", {
        class: `turn ${lease.state.toLowerCase()}${look}`,
        title: `${lease.name} (${lease.owner}): ${formatTime(lease.start)} to `
          + formatTime(lease.end),
      }, lease.name);
      turn.style.left = `${place(lease.start)}%`;
      turn.style.width = `${share}%`;
      track.append(turn);
    }
    return element("div", { class: "device" }, deviceLabel(worker, leases), track);
  }));
  at("span").textContent = leases.length === 0 ? "There are none: trainctl lease create makes one."
    : `${formatTime(begin)} to ${formatTime(end)}`;
}

function show({ jobs, leases, queued_jobs: total, queued_devices: devices }) {
  const now = Date.now() / 1000;
  const queue = jobs.filter(waits);  // one may have begun since
  showFacts(at("facts"), [counted(total, "job waits", "jobs wait"),
    counted(devices, "device wanted", "devices wanted"),
    counted(leases.length, "lease", "leases")]);
  at("shown").textContent = queue.length < total ? `The first ${queue.length} of ${total}.` : "";
  showRows(at("queue"), queue.map((job) => queueRow(job, now)));
  showRows(at("leases"), leases.map(leaseRow));
  showCalendar(leases, now);
}

live("queue", {}, show);
