// The feeds: what there is, a new one, and a document for one of them.

import * as api from "../api.js";
import { complain, field, fill, h, table } from "../dom.js";
import { clock, count, iso, sentence } from "../figures.js";

const SCHEMAS = { dtd: "DTD", xsd: "XSD", inferred: "inferred", none: "none" };

export function feedTable(feeds) {
  return table("Feeds", ["Feed", "Schema", "#Subscriptions", "#Documents"],
    feeds.map((one) => [
      h("a", { href: `#/feeds/${encodeURIComponent(one.name)}` }, one.name),
      SCHEMAS[one.schema] ?? one.schema ?? "none",
      h("a", { href: `#/subscriptions/${encodeURIComponent(one.name)}`, "aria-label": `${count(one.subscriptions)} subscriptions of ${one.name}` }, count(one.subscriptions)),
      count(one.documents),
    ]),
    "There is no feed yet.");
}

export async function feeds(place, context) {
  if (context.rest[0]) return oneFeed(place, context.rest[0], context);
  const some = await api.feeds();
  if (!context.current()) return;
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Feeds"), h("p", {}, "Documents of one kind, and the subscriptions to them.")),
    h("section", { class: "card" }, feedTable(some)),
    h("section", { class: "card" }, h("h2", {}, "New feed"), feedForm(context)));
}

function feedForm({ tell }) {
  const name = h("input", { required: true, maxlength: 100, autocomplete: "off", spellcheck: "false" });
  const kind = h("select", {},
    h("option", { value: "" }, "infer it from the documents, or none"),
    h("option", { value: "dtd" }, "a DTD"),
    h("option", { value: "xsd" }, "an XML Schema"));
  const text = h("textarea", { rows: 8, spellcheck: "false" });
  const root = h("input", { autocomplete: "off", spellcheck: "false" });
  const schema = h("div", { hidden: true },
    field("Text of the schema", text),
    field("Document element", root, "Where the schema leaves it open."));
  kind.addEventListener("change", () => { schema.hidden = !kind.value; });
  const send = async (event) => {
    event.preventDefault();
    complain(name);
    complain(text);
    const body = kind.value ? { [kind.value]: text.value } : {};
    if (kind.value && root.value.trim()) body.root = root.value.trim();
    try {
      await api.putFeed(name.value.trim(), body);
      tell(`Feed ${name.value.trim()} is there.`);
      location.hash = `#/feeds/${encodeURIComponent(name.value.trim())}`;
    } catch (error) {
      complain(kind.value ? text : name, said(error));
    }
  };
  return h("form", { onsubmit: send },
    h("div", { class: "row" }, field("Name", name), field("Schema", kind)),
    schema,
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Make the feed")));
}

async function oneFeed(place, name, { tell, current }) {
  const one = await api.feed(name);
  if (!current()) return;
  const facts = [
    ["Schema", `${SCHEMAS[one.schema] ?? one.schema ?? "none"}${one.root ? `, document element ${one.root}` : ""}`],
    ["Versions of the schema", one.versions?.length ? one.versions.join(", ") : null],
    ["Subscriptions", h("a", { href: `#/subscriptions/${encodeURIComponent(name)}` }, count(one.subscriptions))],
    ["Documents", count(one.documents)],
    ["Documents that break the schema", one.on_nonconforming === "reject" ? "are refused" : "are matched all the same"],
    ["Made", h("time", { datetime: iso(one.created) }, clock(one.created))],
  ].filter(([, value]) => value !== null && value !== undefined);
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, name), h("p", {}, h("a", { href: "#/feeds" }, "All feeds"))),
    h("section", { class: "card" }, h("dl", { class: "facts" }, facts.map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]))),
    h("section", { class: "card" }, h("h2", {}, "Publish a document"), publishForm(name, tell)));
}

function publishForm(feed, tell) {
  const name = h("input", { autocomplete: "off", spellcheck: "false" });
  const text = h("textarea", { rows: 7, required: true, spellcheck: "false" });
  const done = h("p", { class: "good-news", role: "status" });
  const send = async (event) => {
    event.preventDefault();
    complain(text);
    done.textContent = "";
    try {
      const answer = await api.publish(feed, name.value.trim(), text.value);
      done.textContent = `Accepted${answer.name ? ` as ${answer.name}` : ""}: its notifications follow.`;
      tell("The document was accepted.");
    } catch (error) {
      complain(text, said(error));
    }
  };
  return h("form", { onsubmit: send },
    field("Name", name, "In notifications; by default the broker gives it one."),
    field("Document", text),
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Publish"), done));
}

/** A refusal in a line, with its place. */
export function said(error) {
  const at = error.body?.line ? `line ${error.body.line}${error.body.column ? `, column ${error.body.column}` : ""}: ` : "";
  return `${at}${at ? error.message : sentence(error.message)}${at ? "." : ""}${error.hint ? ` ${sentence(error.hint)}` : ""}`;
}
