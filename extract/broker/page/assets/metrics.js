// What /metrics says: Prometheus' text format, rates between two samples, quantiles of histograms.

/** Samples as a map from a name to a list of {labels, value}. */
export function parse(text) {
  const samples = new Map();
  for (const row of text.split("\n")) {
    if (!row || row.startsWith("#")) continue;
    const found = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(row);
    if (!found) continue;
    const labels = {};
    for (const [, key, value] of (found[2] ?? "").matchAll(/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
      labels[key] = value.replace(/\\(.)/g, (_, one) => (one === "n" ? "\n" : one));
    }
    const list = samples.get(found[1]) ?? [];
    list.push({ labels, value: Number(found[3].replace("Inf", "Infinity")) });
    samples.set(found[1], list);
  }
  return samples;
}

/** The sum over all labels, or over those for which `where` holds; NaN if there is none. */
export function total(samples, name, where = () => true) {
  const list = (samples.get(name) ?? []).filter((one) => where(one.labels));
  return list.length ? list.reduce((sum, one) => sum + one.value, 0) : NaN;
}

/** What was counted a second between two samples of a counter; NaN after a restart. */
export function rateOf(before, after, name, seconds) {
  const difference = total(after, name) - total(before, name);
  return difference >= 0 && seconds > 0 ? difference / seconds : NaN;
}

/** A quantile of what a histogram has counted between two samples, as Prometheus estimates it. */
export function quantile(share, before, after, name) {
  const sums = new Map();
  for (const [samples, sign] of [[before, -1], [after, 1]]) {
    for (const { labels, value } of samples?.get(`${name}_bucket`) ?? []) {
      const bound = Number(labels.le.replace("+Inf", "Infinity"));
      sums.set(bound, (sums.get(bound) ?? 0) + sign * value);
    }
  }
  const buckets = [...sums].sort((one, other) => one[0] - other[0]);
  const all = buckets.at(-1)?.[1] ?? 0;
  if (all <= 0) return NaN;
  const rank = share * all;
  let low = 0;
  let below = 0;
  for (const [bound, counted] of buckets) {
    if (counted >= rank) {
      if (!Number.isFinite(bound)) return low;
      return low + (bound - low) * ((rank - below) / (counted - below || 1));
    }
    low = bound;
    below = counted;
  }
  return low;
}
