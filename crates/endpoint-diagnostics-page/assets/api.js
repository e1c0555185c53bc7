// Requests to the program, with the token that its address has.

/** The token in the address is kept for the tab alone, and taken out of the address, which may be shared. */
function token() {
  const found = /&?token=([0-9a-f]+)$/.exec(location.hash);
  if (found !== null) {
    sessionStorage.setItem("token", found[1]);
    history.replaceState(null, "", location.pathname + location.hash.slice(0, found.index));
  }
  return sessionStorage.getItem("token") ?? "";
}

const headers = { Authorization: `Bearer ${token()}` };

/** Requests a path of the API. */
export const request = (path, signal) => fetch(`api/${path}`, { cache: "no-store", headers, signal });

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
  const { event: type, id, data } = Object.fromEntries(fields);
  return { type, id, data };
}
