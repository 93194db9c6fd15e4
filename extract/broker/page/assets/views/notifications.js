// The latest notifications of all subscriptions, or those of one as they come.

import * as api from "../api.js";
import { fill, h, table } from "../dom.js";
import { clock, iso } from "../figures.js";

const EVERY = 2500;
const SHOWN = 200;

export function notificationTable(notifications, caption) {
  return table(caption, ["Time", "Subscription", "Feed", "Document", "=What"],
    notifications.toReversed().map((one) => [
      h("time", { datetime: iso(one.time) }, clock(one.time)),
      link(one.subscription),
      one.feed,
      name(one.document),
      summary(one),
    ]),
    "There is none yet.");
}

/** A name that may be long. */
export function name(text) {
  return h("span", { class: "name", title: text }, text);
}

function link(id) {
  return h("a", { href: `#/notifications/${encodeURIComponent(id)}` }, id);
}

/** The first of what matched, in a line or two. */
export function summary(one) {
  if (one.output !== undefined && one.output !== null) return h("code", { class: "clip", title: one.output }, one.output);
  const matches = one.matches ?? [];
  if (!matches.length) return Number.isFinite(one.count) ? `${one.count} nodes` : "a match";
  const first = matches[0].value ?? matches[0].text ?? matches[0].path ?? "";
  return [h("code", { class: "clip", title: matches[0].path ?? "" }, first), (one.count ?? matches.length) > 1 && h("span", { class: "note" }, `and ${(one.count ?? matches.length) - 1} more`)];
}

export async function notifications(place, context) {
  if (context.rest[0]) return following(place, context.rest[0], context);
  const list = h("div", {});
  const hold = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const held = hold.getAttribute("aria-pressed") === "true";
    hold.setAttribute("aria-pressed", String(!held));
    hold.textContent = held ? "Hold" : "Go on";
  } }, "Hold");
  const refresh = async () => {
    const { notifications: some } = await api.recent(100);
    if (context.current()) fill(list, notificationTable(some, "The latest notifications of all subscriptions"));
  };
  await refresh();
  if (!context.current()) return;
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Notifications"), h("p", {}, "The latest of all subscriptions, newest first."), h("div", { class: "right" }, hold)),
    h("section", { class: "card" }, list));
  const timer = setInterval(() => {
    const still = document.hidden || hold.getAttribute("aria-pressed") === "true" || list.contains(document.activeElement);
    if (!still) refresh().catch(() => {});
  }, EVERY);
  context.until(() => clearInterval(timer));
}

/** One subscription, by server-sent events. */
async function following(place, id, { until, current }) {
  const list = h("div", {});
  const stop = new AbortController();
  until(() => stop.abort());
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, id), h("p", {}, "Notifications as they come. ", h("a", { href: "#/notifications" }, "Those of all subscriptions"))),
    h("section", { class: "card" }, list));
  let shown = [];
  let drawn = 0;
  const draw = () => {
    drawn = 0;
    if (current()) {
      fill(list, table(`Notifications of ${id}`, ["#Seq", "Time", "Document", "=What"],
        shown.toReversed().map((one) => [String(one.seq), h("time", { datetime: iso(one.time) }, clock(one.time)), name(one.document), summary(one)]),
        "There is none yet. It follows the next document that matches."));
    }
  };
  draw();
  api.follow(id, 0, (one) => {
    shown.push(one);
    if (shown.length > SHOWN) shown = shown.slice(-SHOWN);
    drawn ||= setTimeout(draw, 200); // a burst is drawn once
  }, stop.signal).catch((error) => {
    if (current() && error.name !== "AbortError") fill(list, h("p", { class: "error", role: "alert" }, `${error.message}.`));
  });
}
