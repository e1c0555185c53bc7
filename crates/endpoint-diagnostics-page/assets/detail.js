// A Service: what its clients get and why, its picture, what differs, what happened, its pods and slices.

import { request as requested, timely } from "./api.js";
import { commands } from "./command.js";
import { button, copyButton, count, element } from "./dom.js";
import { PRESENCES, STATES, VERDICTS, headline, isMissed, keyOf, stateOfView, viewOf } from "./model.js";
import { Picture } from "./picture.js";
import { clock } from "./time.js";
import { timeline } from "./timeline.js";

/** Pods that are shown before the user asks for all. */
const FIRST = 100;
/** The order of pods: those that need attention come first. */
const ORDER = ["wrong", "unknown", "lagging", "ok"];
const CHANGES = { create: "is missing", update: "differs", delete: "should not exist" };
/** The least time between two readings of a report. */
const PAUSE = 150;

export class Detail {
  #title;
  #body;
  #key = null;
  #text = null;
  #view = null;
  #all = false;
  #request = null;
  #again = false;
  #flags = [];
  #picture = new Picture((pod) => this.#reveal(pod));

  constructor(title, body) {
    this.#title = title;
    this.#body = body;
  }

  get key() {
    return this.#key;
  }

  /** Flags of kubectl for commands about the same objects, which may be known after a Service. */
  set flags(flags) {
    if (JSON.stringify(flags) === JSON.stringify(this.#flags)) return;
    this.#flags = flags;
    if (this.#view !== null) this.#render();
  }

  /** Shows a Service, whose parts are those of its key. */
  open(namespace, name) {
    this.close();
    this.#key = keyOf(namespace, name);
    this.#title.replaceChildren(element("span", { class: "soft" }, `${namespace}/`), name);
    this.#body.replaceChildren(element("p", { class: "soft" }, "Loading"));
    return this.refresh();
  }

  close() {
    this.#request?.abort();
    this.#request = this.#key = this.#text = this.#view = null;
    this.#all = this.#again = false;
  }

  /** Reads the Service again; one request at a time. */
  async refresh() {
    if (this.#key === null) return;
    if (this.#request !== null) {
      this.#again = true;
      return;
    }
    const request = new AbortController();
    this.#request = request;
    const text = await read(`services/${this.#key}/view`, request.signal);
    if (this.#request !== request) return;
    // What is shown stays while the program can't be reached; the page says so elsewhere.
    if (text === null && this.#view === null) {
      this.#body.replaceChildren(element("p", {}, "The program can't be reached."));
    } else if (text !== null && text !== this.#text) {
      this.#text = text;
      this.#view = viewOf(text);
      this.#render();
    }
    if (this.#again) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    if (this.#request !== request) return;
    this.#request = null;
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }

  #render() {
    const view = this.#view;
    if (view.error !== undefined) {
      this.#body.replaceChildren(element("p", {}, view.error));
      return;
    }
    const { report, service } = view;
    const hadFocus = this.#body.contains(document.activeElement);
    const scroll = this.#body.parentElement.scrollTop;
    const state = stateOfView(view);
    this.#picture.show(view);
    const parts = [
      element("p", { class: "headline", "data-state": state },
        element("span", { class: "sign", "data-state": state, "aria-hidden": "true" }, STATES[state].sign), headline(view)),
      facts(report, service, this.#flags),
      this.#picture.node,
      reasons(report.reasons),
      differences(view),
      element("div", { class: "beside" },
        element("section", { "aria-labelledby": "pods-title" }, this.#pods(report.pods)),
        element("section", { "aria-labelledby": "happened-title" },
          element("h3", { id: "happened-title" }, "What happened"), timeline(view.timeline, { now: view.now }))),
      slices(view.slices, view.capacity),
      endpoints(report.endpoints),
    ];
    this.#body.replaceChildren(...parts.filter((part) => part !== null));
    this.#body.parentElement.scrollTop = scroll;
    if (hadFocus) this.#title.focus({ preventScroll: true });
  }

  #pods(all) {
    const missed = all.filter(isMissed);
    const pods = all.filter((pod) => !isMissed(pod));
    const rank = (pod) => ORDER.indexOf(pod.verdict) * 2 + (pod.slices === "ready" ? 1 : 0);
    pods.sort((a, b) => rank(a) - rank(b));
    const shown = this.#all ? pods : pods.slice(0, FIRST);
    const made = [element("h3", { id: "pods-title" }, `Pods (${pods.length})`)];
    if (pods.length === 0) made.push(element("p", { class: "soft" }, "The Service selects no pods."));
    else made.push(this.#podTable("Pods", shown));
    if (shown.length < pods.length) {
      made.push(button(`Show all ${pods.length} pods`, () => {
        this.#all = true;
        this.#render();
      }));
    }
    if (missed.length > 0) {
      made.push(element("h3", {}, `Missed by the selector (${missed.length})`),
        this.#podTable("Pods that the selector misses by one label", missed));
    }
    return made;
  }

  #podTable(caption, pods) {
    const body = element("tbody");
    for (const pod of pods) {
      const name = button(pod.name, () => this.#picture.mark(pod.name), { class: "link", title: "Show in the picture" });
      name.addEventListener("focus", () => this.#picture.mark(pod.name));
      name.addEventListener("blur", () => this.#picture.mark(null));
      const row = element("tr", { "data-pod": pod.name },
        element("th", { scope: "row" }, name, element("div", { class: "soft" }, [pod.node, ...pod.addresses].filter(Boolean).join(" · "))),
        element("td", {}, presence(pod.slices), pod.endpoints === pod.slices ? null
          : element("div", { class: "soft" }, `Endpoints: ${PRESENCES[pod.endpoints] ?? pod.endpoints}`),
        pod.verdict === "ok" ? null : element("div", {}, verdict(pod.verdict))),
        element("td", {}, reasons(pod.reasons)));
      row.addEventListener("pointerenter", () => this.#picture.mark(pod.name));
      row.addEventListener("pointerleave", () => this.#picture.mark(null));
      body.append(row);
    }
    return table(caption, ["Pod", "In slices", "Why"], body);
  }

  /** Scrolls to a pod of the table that was chosen in the picture. */
  #reveal(name) {
    if (!this.#all && this.#view.report.pods.length > FIRST) {
      this.#all = true;
      this.#render();
    }
    for (const row of this.#body.querySelectorAll("[data-pod]")) {
      row.classList.toggle("chosen", row.dataset.pod === name);
      if (row.dataset.pod === name) row.scrollIntoView({ block: "nearest" });
    }
  }
}

/** The answer's text; null if there is none. A refusal is a view with nothing but an error. */
async function read(path, signal) {
  try {
    const answer = await requested(path, timely(signal));
    if (answer.ok || answer.status === 404) return await answer.text();
    return JSON.stringify({ error: `The server responded with status ${answer.status}.` });
  } catch {
    return null;
  }
}

const cell = (content) => element("td", {}, content);
const presence = (value) => element("span", { class: "presence", "data-state": value }, PRESENCES[value] ?? value);
const verdict = (value) => element("span", { class: "controller", "data-verdict": value }, VERDICTS[value] ?? value);

function facts({ namespace, name, verdict: found }, service, flags) {
  const list = element("ul", { class: "chips" });
  const chip = (what, text) => list.append(element("li", {}, element("span", { class: "soft" }, what), " ", text));
  list.append(element("li", {}, element("span", { class: "soft" }, "controller"), " ", verdict(found)));
  chip("type", service.kind);
  if (service.addresses.length > 0) chip("address", service.addresses.join(", "));
  if (service.ports.length > 0) chip("ports", service.ports.join(", "));
  if (service.selector.length > 0) chip("selector", service.selector.join(","));
  if (service.trafficDistribution) chip("traffic", service.trafficDistribution);
  if (service.internalLocal) chip("internal traffic", "Local");
  if (service.externalLocal) chip("external traffic", "Local");
  if (service.publishNotReady) chip("publishes", "not-ready addresses");
  const menu = element("details", { class: "menu" }, element("summary", {}, "Copy a command"),
    element("ul", {}, commands(namespace, name, flags).map(({ what, text }) => element("li", {},
      copyButton(`Copy: ${what}`, () => text), element("code", {}, text)))));
  return element("div", { class: "facts-row" }, list, menu);
}

function reasons(list) {
  if (list.length === 0) return null;
  return element("ul", { class: "reasons" }, list.map(({ code, message, remedy }) => element("li", {},
    `${message} `, element("code", {}, code), remedy ? element("div", { class: "remedy" }, remedy) : null)));
}

function table(caption, columns, body) {
  const heads = columns.map((column) => element("th", { scope: "col" }, column));
  return element("table", {}, element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, heads)), body);
}

/** The fields by which the stored objects differ from those that the controllers would write. */
function differences({ differences: list, omitted }) {
  if (list.length === 0) return null;
  const made = element("section", { class: "differences", "aria-labelledby": "differences-title" },
    element("h3", { id: "differences-title" }, "Present and desired"));
  for (const { action, kind, name, fields } of list) {
    const body = element("tbody", {}, fields.map(({ path, before, after }) => element("tr", {},
      element("th", { scope: "row" }, path), side(before, "present"), side(after, "desired"))));
    made.append(element("p", {}, `${kind} `, element("b", {}, name), ` ${CHANGES[action]}`),
      fields.length > 0 ? table(`Differences of ${name}`, ["Field", "Present", "Desired"], body) : "");
  }
  if (omitted > 0) made.append(element("p", { class: "soft" }, `${count(omitted, "more field")} differ.`));
  return made;
}

function side(value, which) {
  if (value === undefined) return element("td", { class: "soft" }, "absent");
  return element("td", { class: which }, typeof value === "string" ? value || "empty" : JSON.stringify(value));
}

function slices(list, capacity) {
  if (list.length === 0) return element("p", { class: "soft" }, "No EndpointSlices.");
  const body = element("tbody", {}, list.map((slice) => {
    const ready = slice.endpoints.filter((endpoint) => endpoint.state === "ready").length;
    const written = slice.written ? ` at ${clock(slice.written)}` : "";
    return element("tr", {}, element("th", { scope: "row" }, slice.name), cell(slice.addressType),
      cell(slice.ports.join(", ")), cell(`${ready} ready, ${slice.endpoints.length} of ${capacity}`),
      cell(slice.managedBy), cell(slice.writer ? `${slice.writer}${written}` : written));
  }));
  return element("section", {}, element("h3", {}, `EndpointSlices (${list.length})`),
    table("EndpointSlices", ["EndpointSlice", "Family", "Ports", "Endpoints", "Managed by", "Last written"], body));
}

function endpoints(report) {
  if (!report) return element("p", { class: "soft" }, "No Endpoints object.");
  const cut = report.truncated ? "; cut at 1,000 addresses" : "";
  return element("p", { class: "soft" }, `Endpoints: ${count(report.addresses, "address", "addresses")} ready, `,
    `${report.notReady} not ready${cut}.`);
}

