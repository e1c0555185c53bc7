// Draws the layout of a Service as SVG. What it shows is also in a table for screen readers, and in the table of pods.

import { count, element, setText, svg } from "./dom.js";
import { band, laneSums, layout } from "./layout.js";
import { PRESENCES } from "./model.js";

/** The narrowest drawing; a narrower page scrolls it. */
const NARROWEST = 620;
const HUES = 6;

export class Picture {
  #figure;
  #view = null;
  #plan = null;
  #dots = new Map();
  #flows = [];
  #inspector;
  #pinned = null;
  #width = 0;
  #select;

  /** `select(name)` is called for the pod that the user chooses. */
  constructor(select) {
    this.#select = select;
    this.#inspector = element("p", { class: "inspector" });
    this.#figure = element("figure", { class: "picture", "aria-label": "Pods, slices and clients" });
    new ResizeObserver(([entry]) => this.#resized(entry.contentRect.width)).observe(this.#figure);
  }

  get node() {
    return this.#figure;
  }

  show(view) {
    this.#view = view;
    this.#draw();
  }

  /** Marks a pod; null marks none. */
  mark(name) {
    const dot = name === null ? null : this.#dots.get(name) ?? null;
    for (const [key, { node }] of this.#dots) node.classList.toggle("marked", dot !== null && key === name);
    for (const { node, flow } of this.#flows) {
      node.classList.toggle("dim", dot !== null && !this.#carries(flow, dot));
    }
    setText(this.#inspector, dot === null ? this.#summary() : described(dot.member, this.#view.slices));
  }

  #carries(flow, { member, lane }) {
    if (flow.lane !== lane || !flow.slice.indices.some((index) => member.slices.includes(index))) return false;
    if (flow.dot !== null) return flow.dot.member === member;
    return flow.side === "in" ? flow.state === member.state : flow.client.has(member);
  }

  #resized(width) {
    if (Math.abs(width - this.#width) < 1) return;
    this.#width = width;
    if (this.#view !== null) this.#draw();
  }

  #draw() {
    if (this.#width === 0) return;
    const plan = layout(this.#view, Math.max(NARROWEST, Math.floor(this.#width)));
    this.#plan = plan;
    this.#dots = new Map();
    this.#flows = plan.flows.map((flow) => ({ flow, node: svg("path", { d: band(flow), class: flowClass(flow) }) }));
    const drawing = svg("svg", { width: plan.width, height: plan.height, viewBox: `0 0 ${plan.width} ${plan.height}`, "aria-hidden": "true" },
      svg("g", { class: "boxes" }, plan.lanes.map((lane) => this.#lane(lane))),
      svg("g", { class: "flows" }, this.#flows.map(({ node }) => node)),
      svg("g", {}, plan.lanes.flatMap((lane) => lane.nodes.flatMap((node) => node.dots.map((dot) => this.#dot(dot, lane))))),
      svg("g", {}, plan.slices.map((box) => sliceBox(box))),
      svg("g", {}, plan.clients.map((box) => clientBox(box))));
    drawing.addEventListener("pointerover", (event) => this.mark(nameAt(event) ?? this.#pinned));
    drawing.addEventListener("pointerleave", () => this.mark(this.#pinned));
    drawing.addEventListener("click", (event) => {
      this.#pinned = nameAt(event);
      this.mark(this.#pinned);
      if (this.#pinned !== null) this.#select(this.#pinned);
    });
    const heads = element("div", { class: "columns", "aria-hidden": "true" },
      ["Pods, by zone and node", "EndpointSlices", "Clients"].map((text) => element("span", {}, text)));
    // What scrolls sideways does so by keys, too.
    const keys = plan.width > this.#width ? { tabindex: "0", role: "group", "aria-label": "Pods, slices and clients" } : {};
    const scroller = element("div", { class: "scroller", ...keys }, heads, drawing);
    const old = this.#figure.querySelector(".scroller");
    const [left, had] = [old?.scrollLeft ?? 0, old !== null && document.activeElement === old];
    heads.style.width = `${plan.width}px`;
    this.#figure.replaceChildren(scroller, legend(), this.#inspector, table(plan));
    scroller.scrollLeft = left;
    if (had) scroller.focus({ preventScroll: true });
    if (this.#pinned !== null && !this.#dots.has(this.#pinned)) this.#pinned = null;
    this.mark(this.#pinned);
  }

  #lane(lane) {
    const { ready, serving, notReady, absent } = laneSums(lane);
    const sum = lane.zone === null ? count(absent, "pod") : `${ready} of ${ready + serving + notReady + absent} ready`;
    const named = this.#plan.named;
    const nodes = named ? lane.nodes.flatMap((node) => node.dots.map(({ member, y }) => [
      svg("text", { x: lane.x + 12, y: y + 4, class: "name" }, clipped(member.name, 34)),
      svg("text", { x: lane.x + lane.width - 28, y: y + 4, class: "soft", "text-anchor": "end" }, clipped(member.node, 16)),
    ]).flat()) : [];
    const hue = lane.hue === null ? "none" : lane.hue % HUES;
    return svg("g", { class: "lane", "data-hue": hue },
      svg("rect", { x: lane.x + 0.5, y: lane.y + 0.5, width: lane.width - 1, height: lane.height - 1, rx: 8 }),
      svg("rect", { class: "edge", x: lane.x, y: lane.y + 8, width: 3, height: lane.height - 16, rx: 1.5 }),
      svg("text", { x: lane.x + 12, y: lane.y + 20, class: "title" }, clipped(lane.title, 28)),
      svg("text", { x: lane.x + lane.width - 12, y: lane.y + 20, class: "soft", "text-anchor": "end" },
        `${count(new Set(lane.nodes.map((node) => node.name)).size, "node")} · ${sum}`), nodes);
  }

  #dot({ member, x, y }, lane) {
    const size = Math.min(7, this.#plan.pitch / 2 - 1.5);
    const node = svg("path", {
      d: shape(member, x, y, size), class: "dot", "data-state": member.missed || member.ended ? "missed" : member.state,
      "data-verdict": member.verdict, "data-name": member.name,
    });
    this.#dots.set(member.name, { node, member, lane });
    return node;
  }

  #summary() {
    const { lanes, slices, clients } = this.#plan;
    const members = lanes.flatMap((lane) => lane.members).filter((member) => !member.missed && !member.ended);
    const ready = members.filter((member) => member.state === "ready").length;
    const hints = clients.some((client) => client.zone !== null);
    const boxes = slices.reduce((sum, box) => sum + box.slices.length, 0);
    if (clients.every((client) => client.count === 0)) return "Clients find no endpoint.";
    return `${ready} of ${count(members.length, "endpoint")} ready, in ${count(boxes, "slice")}. ` +
      (hints ? "Clients use the endpoints that hints give to their zone." : clients.length > 0 && clients[0].note !== ""
        ? `Clients use every ready endpoint: ${clients[0].note}.` : "There are no hints: clients use every ready endpoint.");
  }
}

const nameAt = (event) => event.target.closest("[data-name]")?.dataset.name ?? null;
const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Shapes differ by state too: a disc, a diamond for serving, a ring for not ready, a cross for absent. */
function shape({ state, missed, isPod }, x, y, r) {
  const at = (dx, dy) => `${(x + dx).toFixed(1)},${(y + dy).toFixed(1)}`;
  if (missed || state === "absent") return `M${at(-r, -r)}L${at(r, r)}M${at(-r, r)}L${at(r, -r)}`;
  if (state === "serving") return `M${at(0, -r)}L${at(r, 0)}L${at(0, r)}L${at(-r, 0)}Z`;
  if (!isPod) return `M${at(-r, -r)}H${(x + r).toFixed(1)}V${(y + r).toFixed(1)}H${(x - r).toFixed(1)}Z`;
  return `M${at(-r, 0)}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`;
}

function flowClass(flow) {
  const hue = flow.lane.hue === null ? "none" : flow.lane.hue % HUES;
  const cross = flow.side === "out" && flow.client.zone !== null && flow.client.zone !== flow.lane.zone;
  return `flow ${flow.side} ${flow.state} hue-${hue}${cross ? " cross" : ""}`;
}

function sliceBox(box) {
  const { x, y, width, height, slices, used, capacity, ready, serving } = box;
  const name = slices.length === 1 ? slices[0].name : `${slices.length} more slices`;
  const inner = width - 20;
  const part = (number) => (inner * number) / Math.max(capacity, 1);
  const bar = (start, number, state) => svg("rect", {
    class: `fill ${state}`, x: x + 10 + part(start), y: y + height - 13, width: Math.max(0, part(number)), height: 5,
  });
  return svg("g", { class: "slice" },
    svg("title", {}, `${slices.map((slice) => slice.name).join(", ")}: ${used} of ${capacity}`),
    svg("rect", { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1, rx: 6 }),
    svg("text", { x: x + 10, y: y + 18, class: "name" }, tail(name, Math.floor((width - 76) / 6.8))),
    svg("text", { x: x + width - 10, y: y + 18, class: "soft", "text-anchor": "end" }, `${used}/${capacity}`),
    svg("rect", { class: "fill room", x: x + 10, y: y + height - 13, width: inner, height: 5, rx: 2.5 }),
    bar(0, ready, "ready"), bar(ready, serving, "serving"), bar(ready + serving, used - ready - serving, "notReady"));
}

/** The end of the name of a slice is what tells it from others. */
const tail = (text, most) => (text.length > most ? `…${text.slice(1 - most)}` : text);

function clientBox({ x, y, width, height, zone, count: number, note, hue }) {
  const title = zone === null ? "all clients" : `in zone ${zone}`;
  return svg("g", { class: "client", "data-hue": hue === null ? "none" : hue % HUES },
    svg("rect", { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1, rx: 6 }),
    svg("rect", { class: "edge", x: x + width - 3, y: y + 8, width: 3, height: height - 16, rx: 1.5 }),
    svg("text", { x: x + 10, y: y + 19, class: "title" }, clipped(title, Math.floor((width - 16) / 7))),
    svg("text", { x: x + 10, y: y + 36, class: "soft" }, clipped(`use ${number}${note && zone !== null ? `, ${note}` : ""}`, Math.floor((width - 16) / 6))));
}

function legend() {
  const item = (state, text, member = {}) => element("span", {},
    svg("svg", { width: 14, height: 14, "aria-hidden": "true" },
      svg("path", { class: "dot", "data-state": state, d: shape({ state, isPod: true, ...member }, 7, 7, 5) })), text);
  return element("p", { class: "legend", "aria-hidden": "true" },
    item("ready", "ready"), item("serving", "terminating, serves"), item("notReady", "not ready"),
    item("absent", "in no slice"), item("missed", "not selected, or ended", { missed: true }));
}

/** The place of a pod, in words. */
function described(member, slices) {
  const parts = [member.name, ...member.addresses, member.node, member.zone && `zone ${member.zone}`,
    member.missed ? "not selected" : member.ended ? "ended" : member.state === "absent" ? "in no slice" : PRESENCES[member.state]];
  if (member.slices.length > 0) parts.push(member.slices.map((index) => slices[index].name).join(", "));
  if (member.forZones.length > 0) parts.push(`for clients in ${member.forZones.join(", ")}`);
  const reason = member.reasons[0]?.message;
  return parts.filter(Boolean).join(" · ") + (reason ? ` · ${reason}` : "");
}

/** The picture as a table, for those who do not see it. */
function table({ lanes, clients }) {
  const heads = ["Zone", "Nodes", "Ready", "Serving", "Not ready", "In no slice", "Clients"];
  const made = element("table", {}, element("caption", {}, "Endpoints by zone"),
    element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))));
  const body = element("tbody");
  for (const lane of lanes) {
    const { ready, serving, notReady, absent } = laneSums(lane);
    const users = clients.filter((client) => lane.members.some(client.has)).map(({ zone }) => zone ?? "everywhere");
    body.append(element("tr", {}, element("th", { scope: "row" }, lane.title),
      [lane.nodes.length, ready, serving, notReady, absent].map((number) => element("td", {}, `${number}`)),
      element("td", {}, users.join(", ") || "none")));
  }
  made.append(body);
  // A table takes the width of its cells, whatever is said of it.
  return element("div", { class: "unseen" }, made);
}
