// The cluster at a glance: cards above the list.

import { button, count, element, svg } from "./dom.js";
import { STATES } from "./model.js";
import { bars } from "./spark.js";
import { age, present } from "./time.js";

/** Buckets of writes that are drawn, and the seconds of one: as the program keeps them. */
const BUCKETS = 90;
const SECONDS = 10;
const FEW = 4;
/** Zones that are shown. */
const ZONES = 6;

/** Fills the cards from the sums over all rows. `filter(change)` changes the filter of the list. */
export function showOverview(node, sum, overview, filter) {
  node.replaceChildren(services(sum, filter), reasons(sum, filter), zones(sum, overview), slices(sum), writes(overview, sum));
  // On a phone the cards scroll sideways, also by keys.
  if (node.scrollWidth > node.clientWidth) node.tabIndex = 0;
  else node.removeAttribute("tabindex");
}

function card(title, figure, ...children) {
  return element("section", { class: "card" }, element("h3", {}, title), element("p", { class: "figure" }, figure), ...children);
}

function services(sum, filter) {
  const stack = element("span", { class: "stack", "aria-hidden": "true" });
  const legend = element("ul", { class: "facts" });
  for (const [state, { sign, word }] of Object.entries(STATES)) {
    const number = sum.states[state];
    if (number === 0) continue;
    const part = element("i", { "data-state": state });
    part.style.flexGrow = number;
    stack.append(part);
    legend.append(element("li", {}, element("span", { class: "sign", "data-state": state, "aria-hidden": "true" }, sign),
      element("span", {}, word), element("b", {}, number.toLocaleString("en"))));
  }
  const attention = ["wrong", "none", "some", "lagging"].reduce((all, state) => all + sum.states[state], 0);
  return card("Services", sum.services.toLocaleString("en"), stack, legend,
    attention > 0 ? button(`Show the ${count(attention, "Service")} that ${attention === 1 ? "needs" : "need"} attention`,
      () => filter({ show: "attention" }), { class: "link" }) : null);
}

function reasons({ reasons: found, states, services: all }, filter) {
  const number = found.reduce((sum, [, services]) => sum + services, 0);
  const list = element("ul", { class: "facts" }, found.slice(0, FEW).map(([code, services]) => element("li", {},
    button(code, () => filter({ show: "none", code: code === "no-reason" ? "" : code }), { class: "link" }),
    element("b", {}, services.toLocaleString("en")))));
  if (found.length > FEW) {
    const rest = found.slice(FEW).reduce((sum, [, services]) => sum + services, 0);
    list.append(element("li", {}, element("span", { class: "soft" }, "other reasons"), element("b", {}, rest.toLocaleString("en"))));
  }
  const of = all - states.alias;
  return card("Without a ready endpoint", element("span", { class: number > 0 ? "bad" : "" }, number.toLocaleString("en")),
    number > 0 ? list : element("p", { class: "soft" }, of === 0 ? "No Service has endpoints." : `All ${of.toLocaleString("en")} Services can be reached.`));
}

function zones({ zones: found, ready, endpoints }, overview) {
  const most = Math.max(1, ...found.map((zone) => zone.total));
  const list = element("ul", { class: "zones" });
  const names = [...new Set([...found, ...overview.zones].map(({ zone }) => zone))].sort();
  for (const name of names.slice(0, ZONES)) {
    const zone = found.find((it) => it.zone === name) ?? { ready: 0, total: 0 };
    const nodes = overview.zones.find((it) => it.zone === name);
    const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("i", { class: "ready" }), element("i", { class: "notReady" }));
    bar.firstChild.style.width = `${(100 * zone.ready) / most}%`;
    bar.lastChild.style.width = `${(100 * (zone.total - zone.ready)) / most}%`;
    const down = nodes?.notReady > 0;
    list.append(element("li", {}, element("span", {}, name === "" ? "no zone" : name), bar,
      element("b", {}, zone.total.toLocaleString("en")),
      element("span", { class: down ? "bad" : "soft" }, nodes === undefined ? "" : down ? `${nodes.notReady} of ${count(nodes.nodes, "node")} down` : count(nodes.nodes, "node"))));
  }
  if (names.length > ZONES) list.append(element("li", { class: "soft" }, `${count(names.length - ZONES, "more zone")}`));
  return card("Ready endpoints by zone", `${ready.toLocaleString("en")} of ${endpoints.toLocaleString("en")}`, list);
}

function slices({ slices: number, entries, capacity, writers }) {
  const fill = capacity === 0 ? 0 : Math.round((100 * entries) / capacity);
  const meter = element("span", { class: "meter wide", "aria-hidden": "true" }, element("i", { class: "plain" }));
  meter.firstChild.style.width = `${fill}%`;
  const list = element("ul", { class: "facts" }, writers.slice(0, 3).map(([writer, services]) => element("li", {},
    element("span", {}, `last written by ${writer}`), element("b", {}, services.toLocaleString("en")))));
  return card("EndpointSlices", number.toLocaleString("en"), meter,
    element("p", { class: "soft" }, `${fill} % full: ${entries.toLocaleString("en")} of ${capacity.toLocaleString("en")} endpoints`), list);
}

function writes({ writes: { counts }, leaders, kubernetes, program, watched }, sum) {
  const recent = counts.slice(-7, -1);
  const rate = recent.reduce((all, number) => all + number, 0) / (SECONDS * Math.max(1, recent.length));
  const chart = svg("svg", { class: "bars", viewBox: "0 0 180 28", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { d: bars(counts, BUCKETS, 180, 28) }));
  const list = element("ul", { class: "facts" });
  const fact = (what, value, bad = false) => list.append(element("li", {}, element("span", { class: "soft" }, what),
    element("span", { class: bad ? "bad value" : "value", title: value }, value)));
  for (const { lease, holder, current } of leaders) {
    fact(lease, holder === null ? "no holder" : current ? holder : `${holder}, expired`, holder !== null && !current);
  }
  if (kubernetes) fact("Kubernetes", kubernetes);
  if (program) fact("this page", program);
  if (sum.services > 0 && watched) fact("watching for", age(watched, present()) || "0 s");
  return card("Writes a second", rate.toFixed(rate < 10 ? 1 : 0), chart, list);
}
