// Services by what the program knows and the list does not: pods, addresses, nodes, labels.

import { data } from "./api.js";
import { byId, count, element } from "./dom.js";
import { keyOf } from "./model.js";
import { present, span } from "./time.js";

const PAUSE = 120;
/** The least time between two looks for the same text. */
const AGAIN = 2_000;
const SHOWN = 6;

export class Finder {
  #timer = null;
  #request = null;
  #text = "";
  #again = null;
  #html = "";
  #done;
  /** What was found of each Service. */
  found = new Map();
  /** Resolves once all has been found for the text. */
  settled = Promise.resolve();
  /** The time of a dump; null for now. */
  now = null;

  /** `done()` is called when something else was found. */
  constructor(done) {
    this.#done = done;
  }

  /** Looks for a text soon. */
  look(text) {
    if (text === this.#text) return;
    this.#text = text;
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.settled = Promise.resolve();
    if (text.trim().length < 2) this.#show({ pods: [], services: [], more: false });
    else this.settled = new Promise((done) => (this.#timer = setTimeout(() => this.#read(text.trim()).then(done), PAUSE)));
  }

  /** Looks again soon, since something has changed. */
  refresh() {
    if (this.#text.trim().length < 2) return;
    this.#again ??= setTimeout(() => {
      this.#again = null;
      const text = this.#text;
      if (text.trim().length >= 2) this.settled = this.settled.then(() => text === this.#text && this.#read(text.trim()));
    }, AGAIN);
  }

  async #read(text) {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const found = await data(`search?q=${encodeURIComponent(text)}`, request.signal);
    if (this.#request === request && found !== null) this.#show(found);
  }

  #show({ pods, services, more }) {
    this.found = new Map();
    const add = (namespace, name, text, exact) => {
      const key = keyOf(namespace, name);
      if (exact || !this.found.has(key)) this.found.set(key, { text, exact });
    };
    const wanted = this.#text.trim().toLowerCase();
    const isExact = (pod) => [pod.name, pod.node, ...pod.addresses].some((it) => it?.toLowerCase() === wanted);
    for (const pod of pods) for (const name of pod.services) add(pod.namespace, name, words(pod), isExact(pod));
    for (const { namespace, name, by, value } of services) add(namespace, name, `${by} ${value}`, value.toLowerCase() === wanted);
    this.#showMatches(pods, more);
    this.#done();
  }

  /** What is not in the list: pods without a Service, and a time. */
  #showMatches(pods, more) {
    const node = byId("matches");
    const items = [];
    const moment = span(this.#text, this.now ?? present());
    if (moment !== null) {
      const query = new URLSearchParams({ from: new Date(moment.from).toISOString(), to: new Date(moment.to).toISOString() });
      items.push(element("li", {}, element("a", { href: `#/changes?${query}` }, `What happened at ${this.#text.trim()}`)));
    }
    const alone = pods.filter((pod) => pod.services.length === 0);
    for (const pod of alone.slice(0, SHOWN)) {
      items.push(element("li", {}, element("b", {}, `${pod.namespace}/${pod.name}`), ` ${place(pod)}: no Service selects this pod`));
    }
    if (alone.length > SHOWN) items.push(element("li", { class: "soft" }, `${count(alone.length - SHOWN, "more pod")} without a Service`));
    if (more) items.push(element("li", { class: "soft" }, "There is more: write more of it"));
    // A link that has the focus keeps it.
    const html = items.map((item) => item.outerHTML).join("");
    if (html !== this.#html) node.replaceChildren(...items);
    this.#html = html;
    node.hidden = items.length === 0;
  }
}

const place = (pod) => [pod.addresses.join(", "), pod.node && `on ${pod.node}`].filter(Boolean).join(" ");
const words = (pod) => `pod ${pod.name} ${place(pod)}, ${pod.ready ? "ready" : "not ready"}`;
