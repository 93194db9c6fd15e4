// What could not be matched: documents, and queries on a document, with place and reason.

import * as api from "../api.js";
import { fill, h, table } from "../dom.js";
import { clock, iso } from "../figures.js";
import { name } from "./notifications.js";

const EVERY = 5000;

export function rejectionTable(rejections, caption) {
  return table(caption, ["Time", "Feed", "Document", "Place", "=Reason"],
    rejections.map((one) => [
      h("time", { datetime: iso(one.time) }, clock(one.time)),
      one.feed,
      [name(one.document), one.query && h("span", { class: "note" }, ` query ${one.query}`)],
      h("span", { class: "keep" }, spot(one)),
      [one.reason, " ", one.stage && h("span", { class: "tag" }, one.stage)],
    ]),
    "Nothing was rejected.");
}

function spot(one) {
  if (one.line) return `${one.line}:${one.column ?? one.col ?? "?"}`;
  return Number.isFinite(one.offset) && one.offset >= 0 ? `byte ${one.offset}` : "–";
}

export async function rejections(place, { until, current }) {
  const list = h("div", {});
  const refresh = async () => {
    const { rejections: some } = await api.rejections(200);
    if (current()) fill(list, rejectionTable(some, "Rejections, newest first"));
  };
  await refresh();
  if (!current()) return;
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Rejections"), h("p", {}, "Documents that were refused, and queries that were given up on a document. Newest first.")),
    h("section", { class: "card" }, list));
  const timer = setInterval(() => document.hidden || list.contains(document.activeElement) || refresh().catch(() => {}), EVERY);
  until(() => clearInterval(timer));
}
