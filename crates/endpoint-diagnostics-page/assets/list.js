// The list of Services. Of thousands of rows, those that are seen are elements, and the active one, so that
// `aria-activedescendant` always names an element.

import { element, setText, svg } from "./dom.js";
import { STATES, VERDICTS, expected, total } from "./model.js";
import { age, present } from "./time.js";
import { sparkline } from "./spark.js";

/** The time after which ages are written anew. */
const AGES = 5000;
/** Rows beyond the edges, for scrolling. */
const OVERSCAN = 8;
/** Time for which a changed row is marked. */
const MARKED = 2500;

export class ServiceList {
  #grid;
  #body;
  #open;
  #rows = [];
  #active = null;
  #activeIndex = -1;
  #elements = new Map();
  #frame = null;
  /** The height of a row in pixels: `--row` in style.css, which depends on the width. */
  #row = 40;

  /** `open(key)` is called for the row that the user opens. */
  constructor(grid, body, open) {
    this.#grid = grid;
    this.#body = body;
    this.#open = open;
    grid.addEventListener("scroll", () => this.#schedule(), { passive: true });
    grid.addEventListener("keydown", (event) => this.#key(event));
    grid.addEventListener("focus", () => this.#active === null && this.#move(Math.ceil(grid.scrollTop / this.#row)));
    body.addEventListener("click", (event) => {
      const row = event.target.closest("[data-key]");
      if (row === null) return;
      this.activate(row.dataset.key);
      this.#open(row.dataset.key);
    });
    new ResizeObserver(() => this.#resize()).observe(grid);
    setInterval(() => this.#schedule(), AGES);
  }

  #resize() {
    const row = parseFloat(getComputedStyle(this.#body).getPropertyValue("--row"));
    if (row > 0 && row !== this.#row) {
      this.#row = row;
      this.#body.style.height = `${this.#rows.length * row}px`;
    }
    this.#schedule();
  }

  /** The time that ages are relative to: that of a dump, or none for now. */
  now = null;

  /** The rows to show, in order. The active Service stays active if it is among them. */
  show(rows) {
    this.#rows = rows;
    this.#grid.setAttribute("aria-rowcount", rows.length + 1);
    this.#body.style.height = `${rows.length * this.#row}px`;
    const index = this.#active === null ? -1 : rows.findIndex((row) => row.key === this.#active);
    if (index >= 0) this.#activeIndex = index;
    else if (this.#active !== null) this.#set(Math.min(this.#activeIndex, rows.length - 1));
    this.#schedule();
  }

  /** Makes the row of a Service active, and scrolls it into view. */
  activate(key) {
    const index = this.#rows.findIndex((row) => row.key === key);
    if (index >= 0) this.#move(index);
  }

  get active() {
    return this.#active;
  }

  /** The first Service; null if there is none. */
  get first() {
    return this.#rows[0]?.key ?? null;
  }

  focus() {
    this.#grid.focus({ preventScroll: true });
  }

  #set(index) {
    this.#activeIndex = index;
    this.#active = this.#rows[index]?.key ?? null;
  }

  #move(index) {
    if (this.#rows.length === 0) return;
    this.#set(Math.max(0, Math.min(index, this.#rows.length - 1)));
    const top = this.#activeIndex * this.#row;
    const height = this.#grid.clientHeight - this.#row;
    if (top < this.#grid.scrollTop) this.#grid.scrollTop = top;
    else if (top + this.#row > this.#grid.scrollTop + height) this.#grid.scrollTop = top + this.#row - height;
    this.#render();
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.#grid.clientHeight / this.#row) - 2);
    const to = {
      ArrowDown: this.#activeIndex + 1,
      ArrowUp: this.#activeIndex - 1,
      PageDown: this.#activeIndex + page,
      PageUp: this.#activeIndex - page,
      Home: 0,
      End: this.#rows.length - 1,
    }[event.key];
    if (to !== undefined) this.#move(to);
    else if (event.key === "Enter" && this.#active !== null) this.#open(this.#active);
    else return;
    event.preventDefault();
  }

  #schedule() {
    this.#frame ??= requestAnimationFrame(() => this.#render());
  }

  #render() {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const first = Math.max(0, Math.floor(this.#grid.scrollTop / this.#row) - OVERSCAN);
    const last = Math.min(this.#rows.length, first + Math.ceil(this.#grid.clientHeight / this.#row) + 2 * OVERSCAN);
    const seen = new Set();
    for (let index = first; index < last; index++) seen.add(index);
    if (this.#activeIndex >= 0) seen.add(this.#activeIndex);
    const spare = [];
    for (const [index, row] of this.#elements) {
      if (seen.has(index)) continue;
      this.#elements.delete(index);
      spare.push(row);
    }
    const now = performance.now();
    for (const index of seen) {
      let row = this.#elements.get(index);
      if (row === undefined) {
        row = spare.pop() ?? this.#make();
        this.#elements.set(index, row);
      }
      this.#fill(row, index, now);
    }
    for (const row of spare) row.remove();
    if (this.#activeIndex < 0) this.#grid.removeAttribute("aria-activedescendant");
    else this.#grid.setAttribute("aria-activedescendant", `row-${this.#activeIndex}`);
  }

  #make() {
    const cell = (column, name, ...children) =>
      element("span", { role: "gridcell", "aria-colindex": column, class: name }, ...children);
    const row = element("div", { role: "row", class: "row" },
      cell(1, "name", element("i", { class: "sign", "aria-hidden": "true" }), element("span", { class: "unseen" }),
        element("span", { class: "soft" }), element("b")),
      cell(2, "bar", element("span", { class: "meter", "aria-hidden": "true" }, ["ready", "serving", "notReady"].map((state) =>
        element("i", { class: state }))), element("span", { class: "number" })),
      cell(3, "spark", svg("svg", { width: 96, height: 24, "aria-hidden": "true" },
        svg("path", { class: "area" }), svg("path", { class: "line" }))),
      cell(4, "why"), cell(5, "controller"), cell(6, "soft age"));
    this.#body.append(row);
    return row;
  }

  #fill(row, index, now) {
    const service = this.#rows[index];
    const isOther = row.dataset.key !== service.key;
    row.id = `row-${index}`;
    row.dataset.key = service.key;
    row.dataset.state = service.state;
    row.setAttribute("aria-rowindex", index + 2);
    row.setAttribute("aria-selected", index === this.#activeIndex);
    row.style.transform = `translateY(${index * this.#row}px)`;
    const [name, bar, spark, why, controller, changed] = row.children;
    const { sign, word } = STATES[service.state];
    [sign, `${word}: `, `${service.namespace}/`, service.name].forEach((text, part) => setText(name.children[part], text));
    const all = expected(service);
    const { ready, serving, notReady } = service.traffic;
    const width = Math.max(all, total(service.traffic));
    [ready, serving, notReady].forEach((part, at) => (bar.firstChild.children[at].style.width = `${width ? (100 * part) / width : 0}%`));
    bar.firstChild.hidden = service.state === "alias";
    setText(bar.lastChild, service.state === "alias" ? "" : `${ready} of ${all}`);
    this.#spark(spark, service);
    setText(why, service.via || service.summary);
    why.classList.toggle("via", Boolean(service.via));
    setText(controller, VERDICTS[service.verdict] ?? service.verdict);
    controller.dataset.verdict = service.verdict;
    const time = this.now ?? present();
    setText(changed, service.changed ? age(service.changed, time) : "");
    row.title = service.summary;
    this.#mark(row, service, isOther, now);
  }

  #spark(cell, service) {
    const { trend, traffic } = service;
    const key = `${service.key} ${trend.length} ${trend.at(-1)?.[0]} ${total(traffic)}`;
    // Only one that has changed is worth to see; a flat line is the bar once more.
    cell.firstChild.classList.toggle("flat", trend.length < 2);
    const now = (this.now ?? present()) / 1000;
    if (cell.dataset.key === key && trend.length < 2) return;
    cell.dataset.key = key;
    const { line, area } = sparkline(trend, now, 96, 24);
    cell.firstChild.firstChild.setAttribute("d", area);
    cell.firstChild.lastChild.setAttribute("d", line);
  }

  /** Marks a row that has just changed; a later change begins anew. */
  #mark(row, service, isOther, now) {
    const isMarked = now - service.arrived < MARKED;
    if (isOther || !isMarked) row.classList.remove("changed");
    if (!isMarked || row.dataset.arrived === `${service.arrived}`) return;
    row.dataset.arrived = service.arrived;
    row.classList.remove("changed");
    // Without a layout between the two the animation would go on.
    void row.offsetWidth;
    row.classList.add("changed");
  }
}
