// Elements, made without any markup in strings: what a stranger sent can only ever be text.

/**
 * An element with attributes, listeners (`onclick: f`) and children.
 * null, undefined and false are left out, as attribute and as child.
 */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Replaces all that an element has. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

let numbers = 0;

/** A field with its label, a note, and a place for its error. */
export function field(label, input, note = "") {
  numbers += 1;
  const id = input.id || `field-${numbers}`;
  input.id = id;
  const described = [];
  if (note) described.push(`${id}-note`);
  described.push(`${id}-error`);
  input.setAttribute("aria-describedby", described.join(" "));
  return h("div", { class: "field" },
    h("label", { for: id }, label),
    input,
    note && h("p", { id: `${id}-note`, class: "note" }, note),
    h("div", { id: `${id}-error`, class: "error", "aria-live": "polite" }));
}

/** Shows what is wrong with a field; nothing takes it away. */
export function complain(input, ...content) {
  const place = document.getElementById(`${input.id}-error`);
  if (place) fill(place, ...content);
  if (content.length) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/**
 * A table. Rows are arrays of children of cells; `empty` stands for no rows. A head that begins
 * with # is of numbers, one with = of text that may be long: on a narrow screen that text has a
 * line of its own below the others. A table without one scrolls inside of its frame there.
 */
export function table(caption, heads, rows, empty) {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  const kinds = heads.map((one) => ({ "#": "number", "=": "long" })[one[0]] ?? null);
  // The roles stay what they are where the style lays rows out in another way.
  return h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", { role: "table", class: kinds.includes("long") ? "stack" : null },
      h("caption", { class: "unseen" }, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads.map((one, at) => h("th", { scope: "col", role: "columnheader", class: kinds[at] }, one.replace(/^[#=]/, ""))))),
      h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" }, row.map((cell, at) => h("td", { role: "cell", class: kinds[at] }, cell)))))));
}

/** Calls a function when nothing has happened for a while. */
export function calmly(action, milliseconds = 250) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}
