// The broker's HTTP interface. The token is a variable of this module: no cookie, no storage, no URL.

let token = "";
let asked = null; // a function that asks for a token, or returns the question that is open

/** A refusal of the broker: what is wrong, what to do, and where. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.reason ?? `the broker answered ${status}`);
    this.status = status;
    this.body = body;
    this.hint = body.hint ?? "";
  }
}

export function useToken(text) {
  token = text;
}

export function hasToken() {
  return token !== "";
}

/** Says who asks for a token when the broker wants one: a function that promises whether it got one. */
export function askWith(question) {
  asked = question;
}

async function send(path, options = {}) {
  const headers = new Headers(options.headers);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, { reason: "the broker does not answer", hint: "is it still running?" });
  }
  if (answer.status === 401 && asked && !options.quiet) {
    if (await asked(hasToken())) return send(path, options);
  }
  if (!answer.ok) throw new Refusal(answer.status, await bodyOf(answer));
  return answer;
}

async function bodyOf(answer) {
  try {
    return await answer.json();
  } catch {
    return { reason: `the broker answered ${answer.status} ${answer.statusText}` };
  }
}

const enc = encodeURIComponent;

function search(values) {
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

async function get(path, options) {
  return (await send(path, options)).json();
}

async function put(path, body, method = "PUT", headers = {}) {
  const answer = await send(path, { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } });
  return answer.status === 204 ? null : answer.json();
}

export const health = () => get("health", { quiet: true });
export const metrics = async () => (await send("metrics", { quiet: true })).text(); // views ask for a token
export const openapi = () => get("openapi.json");

export const feeds = async () => (await get("feeds")).feeds;
export const feed = (name) => get(`feeds/${enc(name)}`);
export const putFeed = (name, body) => put(`feeds/${enc(name)}`, body);
export const publish = async (name, document, text) =>
  (await send(`feeds/${enc(name)}/documents${search({ name: document })}`, { method: "POST", body: text, headers: { "Content-Type": "application/xml" } })).json();

export const subscriptions = (name, q, after, limit = 50) => get(`feeds/${enc(name)}/subscriptions${search({ search: q, after, limit })}`);
export const subscription = (name, id) => get(`feeds/${enc(name)}/subscriptions/${enc(id)}`);
export const addSubscription = (name, id, body) => put(`feeds/${enc(name)}/subscriptions/${enc(id)}`, body, "PUT", { "If-None-Match": "*" });
export const removeSubscription = (name, id) => send(`feeds/${enc(name)}/subscriptions/${enc(id)}`, { method: "DELETE" });
export const explain = (name, body, signal) => explainWith(`feeds/${enc(name)}/explain`, body, signal);
export const attempt = (name, body) => put(`feeds/${enc(name)}/try`, body, "POST");

async function explainWith(path, body, signal) {
  return (await send(path, { method: "POST", body: JSON.stringify(body), signal, headers: { "Content-Type": "application/json" } })).json();
}

export const recent = (limit = 50) => get(`notifications${search({ limit })}`);
export const rejections = (limit = 100) => get(`rejections${search({ limit })}`);
export const deadLetters = (limit = 100) => get(`dead-letters${search({ limit })}`);
export const sendAgain = (id, seq) => put(`subscriptions/${enc(id)}/dead-letters/${seq}/resend`, {}, "POST");
export const forget = (id, seq) => send(`subscriptions/${enc(id)}/dead-letters/${seq}`, { method: "DELETE" });

/**
 * The notifications of a subscription as they come, by server-sent events: calls `take` with each,
 * and resumes after the last one when the connection breaks, until the signal says to stop.
 */
export async function follow(id, after, take, signal) {
  let last = after;
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 15000)) {
    try {
      const answer = await send(`subscriptions/${enc(id)}/notifications${search({ after: last })}`, { signal, headers: { Accept: "text/event-stream" } });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const events = (rest + value).split(/\r?\n\r?\n/);
        rest = events.pop();
        for (const event of events) {
          const data = event.split(/\r?\n/).filter((one) => one.startsWith("data:")).map((one) => one.slice(5).replace(/^ /, ""));
          if (!data.length) continue;
          const notification = JSON.parse(data.join("\n"));
          if (!Number.isFinite(notification.seq)) continue;
          last = notification.seq;
          pause = 500;
          take(notification);
        }
      }
    } catch (error) {
      if (signal.aborted || (error.status >= 400 && error.status !== 410 && error.status !== 429)) throw error;
      if (error.status === 410) last = (error.body.oldest ?? last + 1) - 1;
    }
    await new Promise((resume) => setTimeout(resume, pause));
  }
}
