// The subscriptions of a feed: search, look at, remove; a new one is made in editor.js.

import * as api from "../api.js";
import { calmly, field, fill, h, table } from "../dom.js";
import { count } from "../figures.js";
import { editor } from "./editor.js";

const KINDS = ["xpath", "flwr", "xscl"];

export const textOf = (one) => one.xpath ?? one.flwr ?? one.xscl ?? "";
export const kindOf = (one) => KINDS.find((kind) => one[kind] !== undefined && one[kind] !== null) ?? "";

export async function subscriptions(place, context) {
  const { rest, current } = context;
  const feeds = await api.feeds();
  if (!current()) return;
  if (!feeds.length) {
    fill(place, h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Subscriptions")),
      h("p", {}, "There is no feed to subscribe to yet. ", h("a", { href: "#/feeds" }, "Make one")));
    return;
  }
  const feed = feeds.some((one) => one.name === rest[0]) ? rest[0] : feeds[0].name;
  if (rest[1] === "add") return editor(place, feed, context);
  if (rest[1] === "id") return oneSubscription(place, feed, rest[2], context);

  const which = h("select", { onchange: () => { location.hash = `#/subscriptions/${encodeURIComponent(which.value)}`; } },
    feeds.map((one) => h("option", { value: one.name, selected: one.name === feed }, one.name)));
  const words = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const list = h("div", {});
  const known = h("p", { role: "status" });
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Subscriptions"), known,
      h("div", { class: "right" }, h("a", { href: `#/subscriptions/${encodeURIComponent(feed)}/add` }, "Add a subscription"))),
    h("section", { class: "card" },
      h("div", { class: "row" }, field("Feed", which), field("Search", words, "A part of an id or of a query.")),
      list));

  let asked = 0;
  const search = async () => {
    asked += 1;
    const mine = asked;
    const found = await api.subscriptions(feed, words.value.trim(), "");
    if (!current() || mine !== asked) return;
    const rows = [...found.subscriptions];
    const draw = (next) => {
      known.textContent = `${count(rows.length)}${next ? " and more" : ""} of ${count(feeds.find((one) => one.name === feed).subscriptions)}`;
      fill(list,
        table(`Subscriptions of ${feed}`, ["Id", "=Query", "Kind", ""], rows.map((one) => [
          h("a", { href: `#/subscriptions/${encodeURIComponent(feed)}/id/${encodeURIComponent(one.id)}` }, one.id),
          h("code", { class: "clip" }, textOf(one)),
          [h("span", { class: "tag" }, kindOf(one)), one.set_aside && h("span", { class: "tag" }, "set aside")],
          h("a", { href: `#/notifications/${encodeURIComponent(one.id)}`, "aria-label": `Notifications of ${one.id}` }, "Notifications"),
        ]), words.value ? "No subscription has that in its id or query." : "There is none yet."),
        next && h("p", {}, h("button", { type: "button", onclick: async () => {
          const more = await api.subscriptions(feed, words.value.trim(), next);
          rows.push(...more.subscriptions);
          draw(more.next);
        } }, "Show more")));
    };
    draw(found.next);
  };
  words.addEventListener("input", calmly(() => search().catch((error) => fill(list, h("p", { class: "error" }, `${error.message}.`)))));
  await search();
}

async function oneSubscription(place, feed, id, { tell, current }) {
  const one = await api.subscription(feed, id);
  const explained = await api.explain(feed, { [kindOf(one)]: textOf(one), namespaces: one.namespaces ?? {} }).catch((error) => error);
  if (!current()) return;
  const known = ["id", "feed", "revision", "namespaces", "webhook", "set_aside", ...KINDS];
  const facts = [
    ["Feed", h("a", { href: `#/feeds/${encodeURIComponent(feed)}` }, feed)],
    ["Query", h("pre", {}, textOf(one))],
    ["Namespaces", Object.entries(one.namespaces ?? {}).map(([prefix, uri]) => h("div", { class: "mono" }, `${prefix} = ${uri}`))],
    ["Set aside", one.set_aside && `Since ${one.set_aside.since}: ${one.set_aside.reason}. It has missed ${count(one.set_aside.missed)} documents; put it again to have it asked again.`],
    ["Webhook", one.webhook && h("code", {}, one.webhook)],
    ...Object.entries(one).filter(([key, value]) => !known.includes(key) && value !== null).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
  ].filter(([, value]) => value && value.length !== 0);
  const remove = async () => {
    if (!confirm(`Remove the subscription ${id}? Its notifications go, too.`)) return;
    try {
      await api.removeSubscription(feed, id);
      tell(`${id} was removed.`);
      location.hash = `#/subscriptions/${encodeURIComponent(feed)}`;
    } catch (error) {
      tell(`${error.message}.`);
    }
  };
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, id), h("p", {}, h("a", { href: `#/subscriptions/${encodeURIComponent(feed)}` }, "All subscriptions")),
      h("div", { class: "right" }, h("a", { href: `#/notifications/${encodeURIComponent(id)}` }, "Notifications"), h("button", { type: "button", class: "danger", onclick: remove }, "Remove"))),
    h("section", { class: "card" }, h("dl", { class: "facts" }, facts.map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]))),
    explained.picture && h("section", { class: "card" }, h("h2", {}, "What it looks at"), picture(explained)));
}

/** The explain picture. As an image it can neither run nor load anything. */
export function picture(explained) {
  const source = URL.createObjectURL(new Blob([explained.picture], { type: "image/svg+xml" }));
  const image = h("img", { src: source, alt: explained.words ?? "What the query looks at", onload: () => URL.revokeObjectURL(source) });
  return h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Picture of the query" }, image);
}
