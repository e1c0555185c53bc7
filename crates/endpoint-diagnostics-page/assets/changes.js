// What happened to all Services in a span of time.

import { data } from "./api.js";
import { byId, element, setText, svg } from "./dom.js";
import { bars, buckets } from "./spark.js";
import { clock, date, present, span } from "./time.js";
import { timeline, totals } from "./timeline.js";

const SLOTS = 120;
/** Spans that end now. */
const RECENT = { "last minute": 60, "5 min": 300, "15 min": 900, hour: 3600 };
const DEFAULT = 900;
/** The times between two readings of a span that ends now, though nothing has changed: it moves on. */
const OFTEN = [2_000, 30_000];

export class Changes {
  #request = null;
  #go;
  #view = null;
  #timer = null;
  #next = null;
  #pending = Promise.resolve();
  #text = "";
  /** The time of a dump; null for now. */
  now = null;

  /** `go(change)` changes the address. */
  constructor(go) {
    this.#go = go;
    byId("recent").replaceChildren(...Object.keys(RECENT).map((word) => {
      const made = element("button", { type: "button", "data-seconds": RECENT[word] }, word);
      made.addEventListener("click", () => go({ from: `-${RECENT[word]}`, to: "" }));
      return made;
    }));
    byId("moment").addEventListener("submit", (event) => {
      event.preventDefault();
      const input = byId("at");
      const found = span(input.value, this.now ?? present());
      input.setCustomValidity(found === null ? "A time such as 14:03, 14:03:20 or 2026-11-27 14:03" : "");
      if (found === null) input.reportValidity();
      else go({ from: new Date(found.from).toISOString(), to: new Date(found.to).toISOString() });
    });
    byId("at").addEventListener("input", (event) => event.target.setCustomValidity(""));
  }

  /** Shows what the address says, and follows it if it ends now. */
  show(view) {
    const isTime = (text) => !Number.isNaN(Date.parse(text));
    const isSpan = view.from === "" || /^-\d+$/.test(view.from) || (isTime(view.from) && isTime(view.to));
    this.#view = isSpan ? view : { ...view, from: "", to: "" };
    this.#text = "";
    const seconds = this.#seconds();
    for (const node of byId("recent").children) node.setAttribute("aria-pressed", node.dataset.seconds === `${seconds}`);
    if (seconds === null) byId("at").value = `${date(Date.parse(view.from))} ${clock(Date.parse(view.from))}`;
    this.#read();
  }

  hide() {
    this.#view = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#next);
    this.#timer = null;
    this.#request?.abort();
  }

  /** Reads again, if the span ends now. */
  refresh() {
    if (this.#view === null || this.#seconds() === null) return;
    // After the answer that is under way, which would otherwise never come while much happens.
    this.#timer ??= setTimeout(() => this.#pending.then(() => this.#timer !== null && this.#read()), 500);
  }

  /** The seconds of a span that ends now; null for one that is over. */
  #seconds() {
    const { from, to } = this.#view;
    if (from === "") return DEFAULT;
    return to === "" && /^-\d+$/.test(from) ? -Number(from) : null;
  }

  async #read() {
    clearTimeout(this.#timer);
    clearTimeout(this.#next);
    this.#timer = null;
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const seconds = this.#seconds();
    const now = this.now ?? present();
    const to = seconds === null ? Date.parse(this.#view.to) : now;
    const from = seconds === null ? Date.parse(this.#view.from) : now - seconds * 1000;
    if (seconds !== null && this.now === null) {
      const [least, most] = OFTEN;
      this.#next = setTimeout(() => this.refresh(), Math.min(Math.max((seconds * 1000) / SLOTS, least), most));
    }
    // Up to now, and a second for what the clock of the program is ahead.
    const until = seconds === null ? to : to + 1000;
    const query = new URLSearchParams({ since: from, until, namespace: this.#view.namespace });
    this.#pending = data(`timeline?${query}`, request.signal);
    const found = await this.#pending;
    if (this.#request !== request || found === null) return;
    this.#render(found, from, to, now);
  }

  #render({ entries, more, watched }, from, to, now) {
    const text = JSON.stringify(entries);
    const times = (tone) => entries.filter((entry) => (entry.tone === "bad") === (tone === "bad")).map((entry) => entry.time);
    const chart = byId("histogram");
    const path = (tone) => svg("path", { class: tone, d: bars(buckets(times(tone), from, to, SLOTS), SLOTS, 720, 40) });
    chart.replaceChildren(path("other"), path("bad"));
    setText(byId("histogram-from"), `${date(from)} ${clock(from)}`);
    setText(byId("histogram-to"), clock(to));
    const older = from < watched ? `; what is older than ${clock(watched)} is as far as objects record it` : "";
    setText(byId("changes-sum"), `${totals(entries)}${more ? ", and more" : ""}${older}`);
    // The list is left as it is if nothing is new: the user may be reading it.
    if (text === this.#text) return;
    this.#text = text;
    byId("happened").replaceChildren(timeline(entries, { isAll: true, now }));
  }
}
