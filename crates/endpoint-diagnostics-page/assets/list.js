// The list of Services. Of thousands of rows, those that are seen are elements, and the active one, so that
// `aria-activedescendant` always names an element.

import { element, setText, setVerdict } from "./dom.js";

/** Height of a row in pixels; --row in style.css. */
const ROW = 32;
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

  /** `open(key)` is called for the row that the user opens. */
  constructor(grid, body, open) {
    this.#grid = grid;
    this.#body = body;
    this.#open = open;
    grid.addEventListener("scroll", () => this.#schedule(), { passive: true });
    grid.addEventListener("keydown", (event) => this.#key(event));
    grid.addEventListener("focus", () => this.#active === null && this.#move(Math.ceil(grid.scrollTop / ROW)));
    body.addEventListener("click", (event) => {
      const row = event.target.closest("[data-key]");
      if (row === null) return;
      this.activate(row.dataset.key);
      this.#open(row.dataset.key);
    });
    new ResizeObserver(() => this.#schedule()).observe(grid);
  }

  /** The rows to show, in order. The active Service stays active if it is among them. */
  show(rows) {
    this.#rows = rows;
    this.#grid.setAttribute("aria-rowcount", rows.length + 1);
    this.#body.style.height = `${rows.length * ROW}px`;
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
    const top = this.#activeIndex * ROW;
    const height = this.#grid.clientHeight - ROW;
    if (top < this.#grid.scrollTop) this.#grid.scrollTop = top;
    else if (top + ROW > this.#grid.scrollTop + height) this.#grid.scrollTop = top + ROW - height;
    this.#render();
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.#grid.clientHeight / ROW) - 2);
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
    const first = Math.max(0, Math.floor(this.#grid.scrollTop / ROW) - OVERSCAN);
    const last = Math.min(this.#rows.length, first + Math.ceil(this.#grid.clientHeight / ROW) + 2 * OVERSCAN);
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
    const row = element("div", { role: "row", class: "row" });
    for (let column = 1; column <= 7; column++) {
      row.append(element("span", { role: "gridcell", "aria-colindex": column }));
    }
    for (const cell of [...row.children].slice(3, 6)) cell.classList.add("number");
    this.#body.append(row);
    return row;
  }

  #fill(row, index, now) {
    const service = this.#rows[index];
    const isOther = row.dataset.key !== service.key;
    row.id = `row-${index}`;
    row.dataset.key = service.key;
    row.setAttribute("aria-rowindex", index + 2);
    row.setAttribute("aria-selected", index === this.#activeIndex);
    row.style.transform = `translateY(${index * ROW}px)`;
    const [verdict, ...cells] = row.children;
    setVerdict(verdict, service.verdict);
    const { pods, ready, inSlices, inEndpoints } = service.counts;
    const texts = [service.namespace, service.name, `${ready} / ${pods}`, `${inSlices}`, `${inEndpoints}`, service.summary];
    texts.forEach((text, column) => setText(cells[column], text));
    cells[2].classList.toggle("few", ready < pods || service.readyEndpoints === 0);
    row.title = service.summary;
    this.#mark(row, service, isOther, now);
  }

  /** Marks a row that has just changed; a later change begins anew. */
  #mark(row, service, isOther, now) {
    const isMarked = now - service.changed < MARKED;
    if (isOther || !isMarked) row.classList.remove("changed");
    if (!isMarked || row.dataset.changed === `${service.changed}`) return;
    row.dataset.changed = service.changed;
    row.classList.remove("changed");
    // Without a layout between the two the animation would go on.
    void row.offsetWidth;
    row.classList.add("changed");
  }
}
