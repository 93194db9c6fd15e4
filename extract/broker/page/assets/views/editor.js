// A new subscription: errors while you write, the explain picture, and a try on a pasted document.

import * as api from "../api.js";
import { calmly, complain, field, fill, h } from "../dom.js";
import { count, sentence } from "../figures.js";
import { said } from "./feeds.js";
import { picture } from "./subscriptions.js";

const KINDS = [["xpath", "XPath"], ["xpath 2.0", "XPath 2.0"], ["xpath 3.0", "XPath 3.0"], ["xpath 3.1", "XPath 3.1"], ["flwr", "FLWR: XML made to order"], ["xscl", "XSCL: a join of two documents"]];
const SHOWN = 50;

export function editor(place, feed, { tell, current, until }) {
  const id = h("input", { required: true, maxlength: 200, autocomplete: "off", spellcheck: "false" });
  const kind = h("select", {}, KINDS.map(([key, title]) => h("option", { value: key }, title)));
  const query = h("textarea", { rows: 4, required: true, spellcheck: "false", autocapitalize: "off" });
  const prefixes = h("textarea", { rows: 2, spellcheck: "false" });
  const webhook = h("input", { type: "url", autocomplete: "off" });
  const pasted = h("textarea", { rows: 8, spellcheck: "false" });
  const verdict = h("div", { role: "status" });
  const results = h("div", { role: "status" });

  const body = () => {
    const namespaces = {};
    for (const row of prefixes.value.split("\n")) {
      const [, prefix, uri] = /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(row) ?? [];
      if (prefix) namespaces[prefix] = uri;
    }
    const [language, version] = kind.value.split(" ");
    const made = { id: id.value.trim() || "new", [language]: query.value.trim() };
    if (version) made.version = version;
    if (Object.keys(namespaces).length) made.namespaces = namespaces;
    return made;
  };

  let running = new AbortController();
  until(() => running.abort());
  const check = async () => {
    running.abort();
    running = new AbortController();
    if (!query.value.trim()) {
      complain(query);
      fill(verdict);
      return;
    }
    try {
      const explained = await api.explain(feed, body(), running.signal);
      if (!current()) return;
      if (explained.status === "rejected") {
        fill(verdict);
        complain(query, ...wrong({ message: explained.reason, hint: explained.hint, body: explained }, query.value));
        return;
      }
      complain(query);
      fill(verdict,
        h("p", { class: explained.status === "satisfiable" ? "good-news" : "error" },
          explained.status === "satisfiable" ? "This can match." : `This matches nothing: ${explained.reason}.`),
        explained.hint && h("p", {}, sentence(explained.hint)),
        explained.picture && picture(explained),
        explained.words && h("details", {}, h("summary", {}, "In words"), h("pre", {}, explained.words)));
    } catch (error) {
      if (error.name === "AbortError" || !current()) return;
      fill(verdict);
      complain(query, ...wrong(error, query.value));
    }
  };
  const later = calmly(check, 300);
  for (const input of [query, prefixes]) input.addEventListener("input", later);
  kind.addEventListener("change", check);
  query.addEventListener("input", () => { // what FLWR and XSCL begin with, nothing else does
    const text = query.value.trimStart();
    if (kind.value.includes(" ")) return; // a later XPath has "for", too
    if (/^(<|for\s|let\s)/.test(text)) kind.value = "flwr";
    else if (/->|^SELECT\s|\b(FOLLOWED BY|JOIN)\s*\{/.test(text)) kind.value = "xscl";
    else if (text) kind.value = "xpath";
  });

  const attempt = async () => {
    complain(pasted);
    fill(results, h("p", { class: "note" }, "Trying …"));
    try {
      const found = await api.attempt(feed, { ...body(), document: pasted.value });
      if (current()) fill(results, shownResults(found));
    } catch (error) {
      if (!current()) return;
      fill(results);
      if (error.body?.about === "document") complain(pasted, ...wrong(error, pasted.value));
      else complain(pasted, said(error));
    }
  };

  const save = async (event) => {
    event.preventDefault();
    complain(id);
    const made = body();
    delete made.id; // it is in the path
    if (webhook.value.trim()) made.webhook = webhook.value.trim();
    try {
      await api.addSubscription(feed, id.value.trim(), made);
      tell(`${id.value.trim()} holds from the next document on.`);
      location.hash = `#/subscriptions/${encodeURIComponent(feed)}/id/${encodeURIComponent(id.value.trim())}`;
    } catch (error) {
      const about = error.body?.about === "query" || Number.isInteger(error.body?.offset) ? query : id;
      complain(about, ...wrong(error, query.value));
      about.focus();
    }
  };

  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "New subscription"), h("p", {}, `to ${feed}. `, h("a", { href: `#/subscriptions/${encodeURIComponent(feed)}` }, "All subscriptions"))),
    h("div", { class: "columns" },
      h("form", { class: "card", onsubmit: save },
        h("div", { class: "row" }, field("Id", id, "Unique in the whole broker."), field("Language", kind)),
        field("Query", query),
        verdict,
        h("details", {}, h("summary", {}, "Namespaces and webhook"),
          field("Namespaces", prefixes, "A line for each prefix: po = urn:example:orders"),
          field("Webhook", webhook, "Where notifications are sent, by POST. Without it they wait to be fetched.")),
        h("div", { class: "actions" }, h("button", { class: "primary" }, "Subscribe"))),
      h("section", { class: "card" }, h("h2", {}, "Try it on a document"),
        field("Document", pasted, "It is not published, and nobody is notified."),
        h("div", { class: "actions" }, h("button", { type: "button", onclick: attempt }, "Try")),
        results)));
}

/** An error with the place underlined. */
function wrong(error, text) {
  const { offset, line, column } = error.body ?? {};
  const content = [h("p", {}, sentence(error.message))];
  const shown = Number.isInteger(offset) && offset >= 0 ? excerpt(text.trim(), offset) : line ? excerptOfLine(text, line, column) : null;
  if (shown) content.push(h("pre", {}, shown.text, "\n", " ".repeat(shown.caret), h("b", {}, "^")));
  if (error.hint) content.push(h("p", {}, sentence(error.hint)));
  return content;
}

/** The line around an offset, counted in characters as Python counts them, and where the caret goes. */
function excerpt(text, offset) {
  const characters = [...text];
  const before = characters.slice(0, offset).join("");
  const start = before.lastIndexOf("\n") + 1;
  const end = text.indexOf("\n", before.length);
  return { text: text.slice(start, end < 0 ? undefined : end), caret: [...before.slice(start)].length };
}

function excerptOfLine(text, line, column) {
  const row = text.split("\n")[line - 1] ?? "";
  const from = Math.max(0, (column ?? 1) - 60);
  return { text: row.slice(from, from + 100), caret: Math.max(0, (column ?? 1) - 1 - from) };
}

function shownResults(found) {
  const notes = (found.rejections ?? []).map((one) => h("p", { class: "error" }, one.reason));
  if (found.output !== undefined && found.output !== null) return [notes, h("h3", {}, "Output"), h("pre", {}, found.output)];
  const matches = found.matches ?? [];
  if (!matches.length) return [notes, !notes.length && h("p", { class: "empty" }, "Nothing of this document matches.")];
  return [
    notes,
    h("p", { class: "good-news" }, `${count(found.total ?? matches.length)} ${matches.length === 1 ? "match" : "matches"}`),
    h("ol", { class: "found" }, matches.slice(0, SHOWN).map((one) => h("li", {},
      h("div", { class: "where" }, `${one.path ?? one.node}`),
      h("pre", {}, one.value ?? "")))),
    (found.total ?? 0) > SHOWN && h("p", { class: "note" }, `The first ${SHOWN} are shown.`),
  ];
}
