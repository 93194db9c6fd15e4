// Notifications that a webhook did not take, to look at and to send again.

import * as api from "../api.js";
import { fill, h, table } from "../dom.js";
import { clock, iso } from "../figures.js";

export async function deadLetters(place, { tell, current }) {
  const list = h("div", {});
  const refresh = async () => {
    const { dead_letters: some } = await api.deadLetters();
    if (!current()) return;
    fill(list, table("Dead letters", ["Time", "Subscription", "#Seq", "=Webhook", "=Reason", "", ""],
      some.map((one) => [
        h("time", { datetime: iso(one.time) }, clock(one.time)),
        one.subscription,
        String(one.seq),
        h("code", {}, one.webhook ?? one.url ?? ""),
        one.reason,
        h("button", { type: "button", "aria-label": `Send ${one.subscription} ${one.seq} again`, onclick: () => again(one) }, "Send again"),
        h("button", { type: "button", class: "danger", "aria-label": `Forget ${one.subscription} ${one.seq}`, onclick: () => forget(one) }, "Forget"),
      ]),
      "None. A notification comes here when its webhook has refused it for good."));
  };
  const again = (one) => act(() => api.sendAgain(one.subscription, one.seq), "The webhook has taken it.");
  const forget = (one) => act(() => api.forget(one.subscription, one.seq), "It is forgotten.");
  const act = async (action, done) => {
    try {
      await action();
      tell(done);
    } catch (error) {
      tell(`${error.message}.`);
    }
    await refresh();
  };
  await refresh();
  if (!current()) return;
  fill(place,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Dead letters"), h("p", {}, "Notifications that a webhook did not take.")),
    h("section", { class: "card" }, list));
}
