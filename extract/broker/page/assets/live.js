// The pulse of the page: /metrics every two seconds while somebody looks, kept for two minutes.

import * as api from "./api.js";
import { parse, quantile, rateOf, total } from "./metrics.js";

const EVERY = 2000;
export const KEPT = 60;

const listeners = new Set();
const samples = []; // {at, values}: what was read, oldest first
const history = []; // what a tick shows, oldest first
let timer = 0;
let running = false;

/** The names of the broker's metrics. */
const COUNTERS = {
  documents: ["extract_documents_total"],
  notifications: ["extract_notifications_total"],
  rejections: ["extract_documents_refused_total", "extract_rejections_total"],
};
const LATENCY = "extract_notification_seconds";
const WAITING = "extract_pending_documents";

/** Calls back after each tick, at once if there was one; returns how to stop. */
export function listen(back) {
  listeners.add(back);
  if (history.length) back(history);
  start();
  return () => listeners.delete(back);
}

/** Starts again at once, as after a token was given. */
export function start() {
  if (running) return;
  clearTimeout(timer);
  tick();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) start();
});

async function tick() {
  running = true;
  try {
    const values = parse(await api.metrics());
    const at = performance.now() / 1000;
    const before = samples.at(-1);
    samples.push({ at, values });
    if (samples.length > KEPT) samples.shift();
    history.push(before ? between(before, { at, values }) : first(values));
    if (history.length > KEPT) history.shift();
    for (const back of listeners) back(history);
    announce(null);
  } catch (error) {
    announce(error);
  } finally {
    running = false;
    if (!document.hidden) timer = setTimeout(tick, EVERY);
  }
}

let announce = () => {};

/** Says who shows whether the broker answers. */
export function whenKnown(back) {
  announce = back;
}

const added = (numbers) => numbers.reduce((sum, one) => sum + one, 0);

function totals(values) {
  const sums = { queue: total(values, WAITING) };
  for (const [key, names] of Object.entries(COUNTERS)) sums[key] = added(names.map((name) => total(values, name)));
  return sums;
}

function first(values) {
  return { totals: totals(values), rates: {}, p50: NaN, p99: NaN };
}

function between(before, after) {
  const seconds = after.at - before.at;
  const rates = {};
  for (const [key, names] of Object.entries(COUNTERS)) {
    rates[key] = added(names.map((name) => rateOf(before.values, after.values, name, seconds)));
  }
  // Of the last ten seconds, or less: a quantile of two seconds would jump.
  const earlier = samples.at(-6) ?? samples[0];
  return {
    totals: totals(after.values),
    rates,
    p50: quantile(0.5, earlier.values, after.values, LATENCY),
    p99: quantile(0.99, earlier.values, after.values, LATENCY),
  };
}
