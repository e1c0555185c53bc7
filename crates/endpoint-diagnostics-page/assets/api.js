// Requests to the program, with the token that its address has.

import { withoutToken } from "./route.js";

/** The token in the address is kept for the tab alone, and taken out of the address, which may be shared. */
function token() {
  const { token: found, fragment } = withoutToken(location.hash);
  if (found !== null) {
    setToken(found);
    history.replaceState(null, "", location.pathname + fragment);
  }
  return kept;
}

/** Where the browser keeps nothing, the token counts until the page is loaded again. */
let kept = stored(() => sessionStorage.getItem("token")) ?? "";

export function setToken(value) {
  // Others can't be sent, and no token has them.
  kept = /^[\x21-\x7e]*$/.test(value) ? value : "";
  stored(() => sessionStorage.setItem("token", kept));
}

function stored(use) {
  try {
    return use();
  } catch {
    return null;
  }
}

token();

/** Requests a path of the API. */
export const request = (path, signal) =>
  fetch(`api/${path}`, { cache: "no-store", headers: { Authorization: `Bearer ${token()}` }, signal });

/** Longer than the program takes to answer. A dead connection that was never closed gives no answer. */
const PATIENCE = 20_000;

/** A signal that also ends a request without an answer. */
export const timely = (signal) => AbortSignal.any([AbortSignal.timeout(PATIENCE), signal]);

/** The answer to a request as data; null if there is none. */
export async function data(path, signal) {
  try {
    const answer = await request(path, timely(signal));
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/** Reads server-sent events, each as `{ type, id, data }`. EventSource has no headers. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const whole = text.split("\n\n");
    text = whole.pop();
    for (const event of whole) yield parsed(event);
  }
}

/** The fields of an event as this program writes them: each once, on a line of its own. */
function parsed(event) {
  const fields = event.split("\n").map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  const { event: type, id, data: text } = Object.fromEntries(fields);
  return { type, id, data: text };
}
