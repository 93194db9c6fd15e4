// One line over the last minutes: a rate or a latency, drawn without a library.

import { svg } from "./dom.js";

const WIDTH = 220;
const HEIGHT = 44;

/** A line of numbers, oldest first; NaN is a gap. `name` is said to those who cannot see it. */
export function line(name, values, most = 60) {
  const known = values.filter(Number.isFinite);
  const top = Math.max(...known, 1e-9);
  const step = WIDTH / (most - 1);
  const start = WIDTH - (values.length - 1) * step;
  let path = "";
  let pen = false;
  values.forEach((value, at) => {
    if (!Number.isFinite(value)) {
      pen = false;
      return;
    }
    const x = (start + at * step).toFixed(1);
    const y = (HEIGHT - 3 - (value / top) * (HEIGHT - 8)).toFixed(1);
    path += `${pen ? "L" : "M"}${x} ${y}`;
    pen = true;
  });
  return svg("svg", { class: "line", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}, the last minutes` },
    svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT - 2.5, y2: HEIGHT - 2.5, class: "base" }),
    path && svg("path", { d: path, "vector-effect": "non-scaling-stroke" }));
}
