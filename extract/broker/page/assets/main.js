// The frame of the page: which view is shown, the token, the theme, messages.

import * as api from "./api.js";
import { fill, h } from "./dom.js";
import { sentence } from "./figures.js";
import * as live from "./live.js";
import { deadLetters } from "./views/dead_letters.js";
import { feeds } from "./views/feeds.js";
import { notifications } from "./views/notifications.js";
import { overview } from "./views/overview.js";
import { reference } from "./views/reference.js";
import { rejections } from "./views/rejections.js";
import { subscriptions } from "./views/subscriptions.js";

const VIEWS = [
  ["", "Overview", overview],
  ["feeds", "Feeds", feeds],
  ["subscriptions", "Subscriptions", subscriptions],
  ["notifications", "Notifications", notifications],
  ["rejections", "Rejections", rejections],
  ["dead-letters", "Dead letters", deadLetters],
  ["api", "API", reference],
];

const content = document.getElementById("content");
let leave = () => {};
let shown = 0;

/** A message that goes away by itself; it is also read out. */
export function tell(text) {
  const message = h("p", {}, text);
  document.getElementById("messages").append(message);
  setTimeout(() => message.remove(), 6000);
}

async function show() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [key, title, view] = VIEWS.find(([one]) => one === name) ?? VIEWS[0];
  leave();
  leave = () => {};
  shown += 1;
  const mine = shown;
  document.title = `${title} · extract`;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === key) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const place = h("div", {});
  fill(content, place);
  const stops = [];
  leave = () => stops.forEach((stop) => stop());
  try {
    await view(place, { rest, tell, until: (stop) => stops.push(stop), current: () => mine === shown });
  } catch (error) {
    if (mine === shown) fill(place, h("h1", { tabindex: "-1" }, title), problem(error));
  }
  if (mine === shown && mine > 1) place.querySelector("h1")?.focus();
}

/** An error as a card. */
function problem(error) {
  return h("div", { class: "card", role: "alert" },
    h("p", { class: "error" }, sentence(error.message)),
    error.hint && h("p", {}, sentence(error.hint)),
    h("button", { type: "button", onclick: show }, "Try again"));
}

// -- the token

const dialog = document.getElementById("ask");
const input = document.getElementById("ask-token");
let question = null;

/** Asks for a token; all who wait get the same answer. */
function ask(again) {
  question ??= new Promise((answer) => {
    input.value = "";
    document.getElementById("ask-error").textContent = again ? "The broker does not know this token." : "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      question = null;
      const given = dialog.returnValue === "use" && input.value.trim() !== "";
      if (given) api.useToken(input.value.trim());
      input.value = "";
      document.getElementById("token").hidden = false;
      answer(given);
    }, { once: true });
  });
  return question;
}

api.askWith(ask);
document.getElementById("token").addEventListener("click", async () => {
  if (await ask(false)) show();
});

// -- the theme: as the system, light, dark

const theme = document.getElementById("theme");
const THEMES = [["", "as the system", "◐"], ["light", "light", "○"], ["dark", "dark", "●"]];

function useTheme(name) {
  const [, words, sign] = THEMES.find(([one]) => one === name) ?? THEMES[0];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  theme.textContent = sign;
  theme.setAttribute("aria-label", `Theme: ${words}`);
  theme.title = `Theme: ${words}`;
}

theme.addEventListener("click", () => {
  const at = THEMES.findIndex(([one]) => one === (document.documentElement.dataset.theme ?? ""));
  const [next] = THEMES[(at + 1) % THEMES.length];
  useTheme(next);
  try {
    localStorage.setItem("theme", next);
  } catch { /* then it is as the system again next time */ }
});
try {
  useTheme(localStorage.getItem("theme") ?? "");
} catch {
  useTheme("");
}

// -- start

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment names the view
  content.focus();
});
const state = document.getElementById("state");
live.whenKnown((error) => {
  const text = error ? (error.status === 401 || error.status === 403 ? "no access" : "not connected") : "live";
  if (state.textContent !== text) state.textContent = text; // a screen reader speaks only of changes
  state.className = `state ${error ? "bad" : "good"}`;
});
fill(document.getElementById("views"),
  VIEWS.map(([key, title]) => h("li", {}, h("a", { href: `#/${key}`, "data-view": key }, title))));
addEventListener("hashchange", show);
live.start();
show();
