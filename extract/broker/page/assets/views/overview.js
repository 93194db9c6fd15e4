// What happens right now, on one screen.

import * as api from "../api.js";
import { line } from "../charts.js";
import { fill, h } from "../dom.js";
import { count, duration, rate } from "../figures.js";
import { KEPT, listen } from "../live.js";
import { feedTable } from "./feeds.js";
import { notificationTable } from "./notifications.js";
import { rejectionTable } from "./rejections.js";

const EVERY = 3000;

export async function overview(place, { until, current }) {
  const tiles = h("div", { class: "tiles" });
  const feeds = h("div", {});
  const latest = h("div", {});
  const rejected = h("div", {});
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Overview")),
    tiles,
    h("section", { class: "card" }, h("h2", {}, "Feeds", h("a", { href: "#/feeds" }, "All feeds")), feeds),
    h("div", { class: "columns" },
      h("section", { class: "card" }, h("h2", {}, "Latest notifications", h("a", { href: "#/notifications" }, "All notifications")), latest),
      h("section", { class: "card" }, h("h2", {}, "Latest rejections", h("a", { href: "#/rejections" }, "All rejections")), rejected)));
  const set = makeTiles(tiles);
  until(listen(set));

  const refresh = async () => {
    const [some, newest, wrong] = await Promise.all([api.feeds(), api.recent(8), api.rejections(6)]);
    if (!current()) return;
    fill(feeds, feedTable(some));
    fill(latest, notificationTable(newest.notifications, "The latest notifications"));
    fill(rejected, rejectionTable(wrong.rejections, "The latest rejections"));
  };
  await refresh();
  let waiting = false;
  const timer = setInterval(async () => {
    if (document.hidden || waiting || place.contains(document.activeElement)) return; // nothing moves under the keyboard
    waiting = true;
    await refresh().catch(() => {}); // the state in the corner says so
    waiting = false;
  }, EVERY);
  until(() => clearInterval(timer));
}

function makeTiles(place) {
  const tiles = [
    tile(place, "Documents", (last) => [rate(last.rates.documents), "a second"], (last) => `${count(last.totals.documents)} since the start`, (one) => one.rates.documents),
    tile(place, "Notifications", (last) => [rate(last.rates.notifications), "a second"], (last) => `${count(last.totals.notifications)} since the start`, (one) => one.rates.notifications),
    tile(place, "Latency, median", (last) => [duration(last.p50), ""], (last) => `99% within ${duration(last.p99)}`, (one) => one.p50),
    tile(place, "Rejections", (last) => [rate(last.rates.rejections), "a second"], (last) => `${count(last.totals.rejections)} since the start`, (one) => one.rates.rejections),
    tile(place, "Waiting documents", (last) => [count(last.totals.queue), ""], () => "accepted, not matched yet", (one) => one.totals.queue),
  ];
  return (history) => tiles.forEach((set) => set(history));
}

function tile(place, name, figure, more, value) {
  const big = h("div", { class: "figure" }, "–");
  const small = h("p", { class: "more" }, " ");
  const chart = h("div", {}, line(name, []));
  place.append(h("section", { class: "tile" }, h("h2", {}, name), big, small, chart));
  return (history) => {
    const last = history.at(-1);
    const [number, unit] = figure(last);
    fill(big, number, unit && number !== "–" && h("small", {}, ` ${unit}`));
    small.textContent = more(last);
    fill(chart, line(name, history.map(value), Math.min(KEPT, Math.max(15, history.length))));
  };
}
