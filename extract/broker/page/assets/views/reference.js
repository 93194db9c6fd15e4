// The OpenAPI document of the broker, to read and to search.

import * as api from "../api.js";
import { calmly, field, fill, h } from "../dom.js";

const METHODS = ["get", "put", "post", "patch", "delete"];

export async function reference(place, { rest, current }) {
  const page = await api.openapi();
  if (!current()) return;
  const operations = [];
  for (const [path, item] of Object.entries(page.paths)) {
    for (const method of METHODS) {
      if (item[method]) operations.push({ path, method, ...item[method], parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])] });
    }
  }
  const words = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const list = h("ul", {});
  const articles = h("div", {});
  const draw = () => {
    const wanted = words.value.trim().toLowerCase();
    const kept = operations.filter((one) => !wanted || text(one).includes(wanted));
    fill(list, kept.map((one) => h("li", {}, h("a", { href: `#/api/${anchor(one)}`, onclick: (event) => {
      event.preventDefault();
      const target = document.getElementById(anchor(one));
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    } }, h("span", { class: `method ${one.method}` }, one.method.toUpperCase()), one.path))));
    fill(articles, kept.length ? kept.map((one) => operation(page, one)) : h("p", { class: "empty" }, "No operation has these words."));
  };
  words.addEventListener("input", calmly(draw, 120));
  draw();
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, page.info.title), h("p", {}, `Version ${page.info.version}. `, h("a", { href: "openapi.json" }, "OpenAPI as JSON"))),
    h("div", { class: "reference" },
      h("aside", { "aria-label": "Operations" }, field("Search", words), list),
      h("div", {}, page.info.description && h("div", { class: "card" }, paragraphs(page.info.description)), articles)));
  if (rest[0]) document.getElementById(rest[0])?.scrollIntoView();
}

const anchor = (one) => `${one.method}-${one.path.replace(/[^\w]+/g, "-").replace(/^-|-$/g, "")}`;
const text = (one) => `${one.method} ${one.path} ${one.summary ?? ""} ${one.description ?? ""}`.toLowerCase();
const paragraphs = (words) => words.split(/\n\s*\n/).map((one) => h("p", {}, one));

function operation(page, one) {
  const body = one.requestBody && resolved(page, one.requestBody);
  return h("article", { class: "card", id: anchor(one), tabindex: "-1" },
    h("h2", {}, h("span", { class: `method ${one.method}` }, one.method.toUpperCase()), h("code", {}, one.path)),
    one.summary && h("p", {}, h("b", {}, one.summary)),
    one.description && paragraphs(one.description),
    one.parameters.length > 0 && [h("h3", {}, "Parameters"), h("dl", { class: "facts" }, one.parameters.map((given) => {
      const parameter = resolved(page, given);
      return [
        h("dt", {}, h("code", {}, parameter.name)),
        h("dd", {}, `${parameter.in}, ${shape(page, parameter.schema ?? {})}${parameter.required ? ", required" : ""}`, parameter.description && h("span", {}, `. ${parameter.description}`)),
      ];
    }))],
    body && [h("h3", {}, "Body"), body.description && h("p", {}, body.description), contents(page, body.content)],
    h("h3", {}, "Answers"),
    Object.entries(one.responses ?? {}).filter(([status]) => status < "400").map(([status, given]) => {
      const answer = resolved(page, given);
      return h("details", {}, h("summary", {}, h("code", {}, status), ` ${answer.description ?? ""}`), contents(page, answer.content) ?? h("p", { class: "empty" }, "No body."));
    }),
    refusals(page, one));
}

function refusals(page, one) {
  const some = Object.entries(one.responses ?? {}).filter(([status]) => status >= "400");
  if (!some.length) return null;
  return h("details", {}, h("summary", {}, `Refusals: ${some.map(([status]) => status).join(", ")}`),
    h("dl", { class: "facts" }, some.map(([status, given]) => [h("dt", {}, h("code", {}, status)), h("dd", {}, resolved(page, given).description ?? "")])),
    contents(page, resolved(page, some[0][1]).content));
}

function contents(page, content) {
  if (!content) return null;
  return Object.entries(content).map(([type, { schema }]) => [
    h("p", {}, h("span", { class: "tag" }, type)),
    schema && Object.keys(schema).length > 0 && h("pre", {}, shape(page, schema)),
  ]);
}

function resolved(page, thing) {
  if (!thing?.$ref) return thing;
  return thing.$ref.replace(/^#\//, "").split("/").reduce((from, key) => from?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], page) ?? {};
}

/** A JSON schema as a person would write the value down. */
function shape(page, given, depth = 0) {
  const schema = resolved(page, given);
  if (depth > 6) return "…";
  const inside = "  ".repeat(depth + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return [...new Set(either.map((one) => shape(page, one, depth)))].join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => shape(page, one, depth)).join(" & ");
  if (schema.type === "array") return `[${shape(page, schema.items ?? {}, depth)}, …]`;
  if (schema.type === "object" || schema.properties) {
    const needed = new Set(schema.required ?? []);
    const rows = Object.entries(schema.properties ?? {}).map(([key, value]) => {
      const about = resolved(page, value).description ?? value.description;
      return `${inside}"${key}"${needed.has(key) ? "" : "?"}: ${shape(page, value, depth + 1)}${about ? `  // ${about.replace(/\s+/g, " ")}` : ""}`;
    });
    const more = schema.additionalProperties;
    if (more) rows.push(`${inside}…: ${more === true ? "any" : shape(page, more, depth + 1)}`);
    return rows.length ? `{\n${rows.join("\n")}\n${"  ".repeat(depth)}}` : "object";
  }
  const type = Array.isArray(schema.type) ? schema.type.join(" | ") : schema.type ?? "any";
  return schema.format ? `${type} (${schema.format})` : type;
}
