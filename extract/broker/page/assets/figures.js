// How numbers, times and sizes are written.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export function count(number) {
  return Number.isFinite(number) ? whole.format(number) : "–";
}

/** Of so many a second. */
export function rate(number) {
  if (!Number.isFinite(number)) return "–";
  if (number === 0) return "0";
  return number >= 10000 ? compact.format(number) : short.format(number);
}

/** A reason or hint of the broker as a sentence. */
export function sentence(text) {
  if (!text) return "";
  const end = /[.!?]$/.test(text) ? "" : ".";
  return `${text[0].toUpperCase()}${text.slice(1)}${end}`;
}

/** Of seconds. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${short.format(seconds * 1000)} ms`;
  if (seconds < 120) return `${short.format(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export function bytes(number) {
  if (!Number.isFinite(number)) return "–";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return `${short.format(number)} ${units[unit]}`;
}

/** A time of the server: the clock of today, with the date if it is another day. */
export function clock(time) {
  const date = asDate(time);
  if (!date) return "–";
  const text = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? text : `${date.toLocaleDateString("en-CA")} ${text}`;
}

/** The same time in full, for machines and tooltips. */
export function iso(time) {
  return asDate(time)?.toISOString() ?? null;
}

function asDate(time) {
  if (time === null || time === undefined || time === "") return null;
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  return Number.isNaN(date.getTime()) ? null : date;
}
