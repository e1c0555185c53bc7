// The report about one Service: reasons, slices, Endpoints and pods.

import { request as requested } from "./api.js";
import { PRESENCES, element, keyOf, setVerdict } from "./dom.js";

/** Pods that are shown before the user asks for all. */
const FIRST = 200;
/** The order of pods: those that need attention come first. */
const ORDER = ["wrong", "unknown", "lagging", "ok"];

export class Detail {
  #title;
  #body;
  #key = null;
  #text = null;
  #report = null;
  #all = false;
  #request = null;
  #again = false;

  constructor(title, body) {
    this.#title = title;
    this.#body = body;
  }

  get key() {
    return this.#key;
  }

  /** Shows a Service, whose parts are those of its key. */
  open(namespace, name) {
    this.close();
    this.#key = keyOf(namespace, name);
    this.#title.textContent = `${namespace}/${name}`;
    this.#body.replaceChildren(element("p", {}, "Loading"));
    return this.refresh();
  }

  close() {
    this.#request?.abort();
    this.#request = this.#key = this.#text = this.#report = null;
    this.#all = this.#again = false;
  }

  /** Reads the report again; one request at a time. */
  async refresh() {
    if (this.#key === null) return;
    if (this.#request !== null) {
      this.#again = true;
      return;
    }
    const request = new AbortController();
    this.#request = request;
    const text = await read(`services/${this.#key}`, request.signal);
    if (this.#request !== request) return;
    this.#request = null;
    // What is shown stays while the program can't be reached; the page says so elsewhere.
    if (text === null && this.#report === null) {
      this.#body.replaceChildren(element("p", {}, "The program can't be reached."));
    } else if (text !== null && text !== this.#text) {
      this.#text = text;
      this.#report = JSON.parse(text);
      this.#render();
    }
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }

  #render() {
    const report = this.#report;
    if (report.error !== undefined) {
      this.#body.replaceChildren(element("p", {}, report.error));
      return;
    }
    const hadFocus = this.#body.contains(document.activeElement);
    const { pods, ready, inSlices, inEndpoints } = report.counts;
    this.#body.replaceChildren(element("div", {},
      element("p", {}, verdict(report.verdict), `. Of ${count(pods, "pod")}, ${ready} ready, ${inSlices} in slices, `,
        `${inEndpoints} in Endpoints.`),
      reasons(report.reasons),
      this.#pods(report.pods),
      slices(report.slices),
      endpoints(report.endpoints),
    ));
    if (hadFocus) this.#title.focus();
  }

  #pods(all) {
    const missed = all.filter(isMissed);
    const pods = all.filter((pod) => !isMissed(pod));
    const rank = (pod) => ORDER.indexOf(pod.verdict) * 2 + (pod.slices === "ready" ? 1 : 0);
    pods.sort((a, b) => rank(a) - rank(b));
    const shown = this.#all ? pods : pods.slice(0, FIRST);
    const made = element("div", {},
      pods.length === 0 ? element("p", {}, "No pods.") : podTable(`Pods (${pods.length})`, shown));
    if (shown.length < pods.length) {
      const more = element("button", { type: "button" }, `Show all ${pods.length} pods`);
      more.addEventListener("click", () => {
        this.#all = true;
        this.#render();
      });
      made.append(more);
    }
    if (missed.length > 0) made.append(podTable(`Pods that the selector misses by one label (${missed.length})`, missed));
    return made;
  }
}

/** True for a pod of which the report only says that the Service doesn't select it. */
const isMissed = (pod) => pod.slices === "absent" && pod.endpoints === "absent" && pod.reasons[0]?.code === "label-differs";

function podTable(caption, pods) {
  const made = table(caption, ["Pod", "Node", "Addresses", "In slices", "In Endpoints", "Verdict"]);
  const body = made.tBodies[0];
  for (const pod of pods) {
    body.append(element("tr", {}, element("th", { scope: "row" }, pod.name), cell(pod.node ?? ""),
      cell(pod.addresses.join(", ")), cell(PRESENCES[pod.slices] ?? pod.slices),
      cell(PRESENCES[pod.endpoints] ?? pod.endpoints), cell(verdict(pod.verdict))));
    if (pod.reasons.length > 0) {
      body.append(element("tr", {}, element("td", { colspan: 6 }, reasons(pod.reasons))));
    }
  }
  return made;
}

/** The answer's text; null if there is none. A refusal is a report with nothing but an error. */
async function read(path, signal) {
  try {
    const answer = await requested(path, signal);
    if (answer.ok || answer.status === 404) return await answer.text();
    return JSON.stringify({ error: `The server responded with status ${answer.status}.` });
  } catch {
    return null;
  }
}

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const cell = (content) => element("td", {}, content);

function verdict(value) {
  const made = element("span");
  setVerdict(made, value);
  return made;
}

function reasons(list) {
  if (list.length === 0) return null;
  const made = element("ul");
  for (const { code, message, remedy } of list) {
    const help = remedy ? element("div", { class: "remedy" }, remedy) : null;
    made.append(element("li", {}, `${message} `, element("code", {}, code), help));
  }
  return made;
}

function table(caption, columns) {
  const heads = columns.map((column) => element("th", { scope: "col" }, column));
  return element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads)), element("tbody"));
}

function slices(list) {
  if (list.length === 0) return element("p", {}, "No EndpointSlices.");
  const made = table(`EndpointSlices (${list.length})`,
    ["EndpointSlice", "Addresses", "Managed by", "Ports", "Ready / endpoints"]);
  for (const slice of list) {
    made.tBodies[0].append(element("tr", {}, element("th", { scope: "row" }, slice.name), cell(slice.addressType),
      cell(slice.managedBy ?? ""), cell(slice.ports.join(", ")), cell(`${slice.ready} / ${slice.endpoints}`)));
  }
  return made;
}

function endpoints(report) {
  if (!report) return element("p", {}, "No Endpoints object.");
  const cut = report.truncated ? "; cut at 1,000 addresses" : "";
  return element("p", {}, `Endpoints: ${count(report.addresses, "address").replace("addresss", "addresses")} ready, `,
    `${report.notReady} not ready${cut}.`);
}
