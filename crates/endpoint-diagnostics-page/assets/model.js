// What rows mean: the state of a Service for its clients, filters, order, and sums over all. No document, no clock.

/** Joins the parts of a key. Names have no slash in a cluster; those of files may. */
export const keyOf = (namespace, name) => `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

/** The states of a Service for its clients, the worst first: sign, words, and those that need attention. */
export const STATES = {
  wrong: { sign: "✗", word: "wrong slices", attention: true },
  none: { sign: "●", word: "no ready endpoint", attention: true },
  some: { sign: "◐", word: "some endpoints not ready", attention: true },
  lagging: { sign: "…", word: "catching up", attention: true },
  unknown: { sign: "?", word: "unknown", attention: false },
  ok: { sign: "✓", word: "all endpoints ready", attention: false },
  alias: { sign: "–", word: "no endpoints by design", attention: false },
};
const ORDER = Object.keys(STATES);

/** The words for what the controllers have made of a Service. */
export const VERDICTS = { ok: "in sync", lagging: "lagging", wrong: "wrong", unknown: "unknown" };
export const PRESENCES = {
  ready: "ready",
  serving: "serving, terminating",
  notReady: "not ready",
  absent: "absent",
  notApplicable: "not applicable",
};

export const total = ({ ready, serving, notReady }) => ready + serving + notReady;

/** The pods or other endpoints that clients would expect: none that have ended, or are on their way out. */
export const expected = (row) => Math.max(row.expected, row.traffic.ready);

/** The state of a Service for its clients: a key of STATES. */
export function stateOf(row) {
  if (row.traffic.kind === "ExternalName") return "alias";
  if (row.verdict === "wrong") return "wrong";
  if (row.verdict === "unknown") return "unknown";
  if (isUnreachable(row)) return "none";
  if (row.verdict === "lagging") return "lagging";
  return row.traffic.ready === 0 || row.traffic.ready < expected(row) ? "some" : "ok";
}

/** True if connections have nowhere to go. DNS has no records of endpoints that terminate. */
const isUnreachable = ({ traffic }) => traffic.ready === 0 && (traffic.serving === 0 || traffic.kind === "Headless");

/** The state of a Service by its view. Connections to a cluster IP bypass some slices. */
export function stateOfView({ report, service, slices, traffic: of }) {
  const endpoints = slices.filter((slice) => !slice.bypassed).flatMap((slice) => slice.endpoints);
  const names = (state) => new Set(endpoints.filter((it) => it.state === state).map((it) => it.pod ?? it.addresses[0])).size;
  const traffic = { kind: service.kind, ready: names("ready"), serving: names("serving") };
  return stateOf({ verdict: report.verdict, expected: of?.of ?? 0, traffic });
}

/** Makes a row ready for filters: its key, state, and words in lower case. */
export function prepared(row) {
  row.key = keyOf(row.namespace, row.name);
  row.state = stateOf(row);
  row.rank = ORDER.indexOf(row.state);
  row.words = `${row.namespace}/${row.name} ${row.code} ${row.summary}`.toLowerCase();
  return row;
}

/** The filters by state, each with its words. */
export const SHOWS = {
  all: { word: "All", has: () => true },
  attention: { word: "Need attention", has: (row) => STATES[row.state].attention },
  none: { word: "No ready endpoint", has: (row) => isUnreachable(row) && row.state !== "alias" },
  wrong: { word: "Wrong", has: (row) => row.verdict === "wrong" },
  lagging: { word: "Lagging", has: (row) => row.verdict === "lagging" },
  unknown: { word: "Unknown", has: (row) => row.verdict === "unknown" },
};

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byName = (a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name);

/** The orders of the list. */
export const SORTS = {
  attention: { word: "Needs attention", by: (a, b) => a.rank - b.rank || byName(a, b) },
  name: { word: "Namespace, name", by: byName },
  changed: { word: "Latest change", by: (a, b) => b.changed - a.changed || byName(a, b) },
  size: { word: "Most endpoints", by: (a, b) => total(b.traffic) - total(a.traffic) || byName(a, b) },
};

/** Words of a filter. */
export const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter((word) => word !== "");

/**
 * The rows that a view shows, in order, and the number of rows for each filter by state. `found` has the keys of Services that
 * the program has found for the text, each as `{ text, exact }`: the text becomes `via` of rows that do not have the words
 * themselves. What is exactly the text comes first, because Enter opens the first.
 */
export function select(rows, { namespace, text, code, show, sort }, found = new Map()) {
  const words = wordsOf(text);
  const name = text.trim().toLowerCase();
  const isExact = (row) => row.name.toLowerCase() === name || `${row.namespace}/${row.name}`.toLowerCase() === name ||
    found.get(row.key)?.exact === true;
  const counts = Object.fromEntries(Object.keys(SHOWS).map((name) => [name, 0]));
  const shown = [];
  for (const row of rows) {
    if (namespace !== "" && row.namespace !== namespace) continue;
    if (code !== "" && row.code !== code) continue;
    const has = words.every((word) => row.words.includes(word));
    if (!has && !found.has(row.key)) continue;
    row.via = has ? "" : found.get(row.key).text;
    row.exact = words.length > 0 && isExact(row);
    for (const name in SHOWS) {
      if (!SHOWS[name].has(row)) continue;
      counts[name] += 1;
      if (name === show) shown.push(row);
    }
  }
  const { by } = SORTS[sort] ?? SORTS.attention;
  shown.sort((a, b) => Number(b.exact) - Number(a.exact) || by(a, b));
  return { shown, counts };
}

/** Sums over all rows: states, reasons of Services without a ready endpoint, zones, slices, writers. */
export function sums(rows) {
  const states = Object.fromEntries(ORDER.map((state) => [state, 0]));
  const [reasons, zones, writers] = [new Map(), new Map(), new Map()];
  const sum = { services: 0, kept: 0, ready: 0, endpoints: 0, slices: 0, entries: 0, capacity: 0 };
  const add = (map, key, by = 1) => map.set(key, (map.get(key) ?? 0) + by);
  for (const row of rows) {
    const { traffic } = row;
    sum.services += 1;
    states[row.state] += 1;
    if (SHOWS.none.has(row)) add(reasons, row.code || "no-reason");
    sum.kept += row.kept;
    sum.ready += traffic.ready;
    sum.endpoints += total(traffic);
    sum.slices += traffic.slices;
    sum.entries += traffic.entries;
    sum.capacity += traffic.capacity;
    for (const writer of traffic.writers) add(writers, writer);
    for (const { zone, ready, total: all } of traffic.zones) {
      const found = zones.get(zone) ?? { zone, ready: 0, total: 0 };
      zones.set(zone, { zone, ready: found.ready + ready, total: found.total + all });
    }
  }
  const descending = (map) => [...map].sort((a, b) => b[1] - a[1] || compare(a[0], b[0]));
  return {
    ...sum, states, reasons: descending(reasons), writers: descending(writers),
    zones: [...zones.values()].sort((a, b) => compare(a.zone, b.zone)),
  };
}

/** The lines of the banner: where a disruption is, small zones that are lost, and how many pods stay published. */
export function banner({ disruptions, zones }, kept) {
  const place = (zone) => (zone === null ? "Cluster" : zone === "" ? "Nodes without a zone" : `Zone ${zone}`);
  const isNamed = ({ zone }) => disruptions.some((it) => it.zone === zone);
  const lost = zones.filter((zone) => zone.nodes > 1 && zone.notReady === zone.nodes && !isNamed(zone))
    .map(({ zone, nodes }) => ({ zone, lost: nodes, nodes }));
  const lines = [...disruptions, ...lost].map(({ zone, lost, nodes }) => `${place(zone)}: ${lost} of ${nodes} nodes not ready`);
  if (kept > 0) lines.push(`${kept} ${kept === 1 ? "endpoint stays" : "endpoints stay"} ready as before the disruption`);
  return lines;
}

/** The view of a Service, or one with nothing but an error. The answer may be that of a server between, or empty. */
export function viewOf(text) {
  const refusal = { error: "The server's answer has no report." };
  try {
    const view = JSON.parse(text);
    return view?.report || view?.error ? view : refusal;
  } catch {
    return refusal;
  }
}

/** True for a pod of which the report only says that the Service doesn't select it. */
export const isMissed = (pod) =>
  pod.slices === "absent" && pod.endpoints === "absent" && pod.reasons[0]?.code === "label-differs";

/** True for a pod that has run to its end. */
export const isEnded = (pod) => ["succeeded", "failed"].includes(pod.reasons[0]?.code);

/** True for a pod that accepts no connection, whatever slices that lag say. */
const isDead = (pod) => pod.reasons.some((it) => ["pod-gone", "succeeded", "failed"].includes(it.code));

/** The answer to "does it get traffic, and if not why", in a sentence or two. */
export function headline({ report, service, traffic }) {
  if (service.kind === "ExternalName") return `An alias of ${service.externalName}: clients resolve it by DNS, and no endpoints exist.`;
  const pods = report.pods.filter((pod) => !isMissed(pod));
  const isReady = (pod) => pod.slices === "ready" && !pod.withoutPorts && !isDead(pod);
  const ready = pods.filter(isReady).length;
  const { ready: reached, of, serving, reason } = traffic ?? { ready, of: pods.length, serving: 0 };
  const missed = report.pods.filter(isMissed);
  const first = (found) => {
    const why = found?.reasons.find((it) => it.code === reason?.code) ?? found?.reasons[0];
    return why ? ` ${found.name}: ${why.message}.` : "";
  };
  const others = ready === 0 ? reached : 0;
  const ofOthers = `${others} ${others === 1 ? "endpoint that is not a pod gets" : "endpoints that are not pods get"} traffic.`;
  const isCustom = report.reasons.some((it) => it.code === "no-selector");
  if (pods.length > 0 && isCustom && reached > 0) return `${reached} of ${of} ${of === 1 ? "endpoint gets" : "endpoints get"} traffic.`;
  if (pods.length === 0 || isCustom) {
    if (others > 0) return ofOthers;
    if (serving > 0) return `No endpoint is ready: ${serving} that ${serving === 1 ? "terminates still gets" : "terminate still get"} traffic.`;
    // The first reason may be a note, which the program leaves out of the reason for missing traffic.
    const why = reason?.message ?? report.reasons[0]?.message;
    return `No traffic: ${why ?? "the Service has no endpoints"}.${first(missed[0])}`;
  }
  const all = Math.max(of, ready);
  const waiting = pods.find((pod) => !isReady(pod) && pod.reasons.length > 0 && (!reason || pod.reasons.some((it) => it.code === reason.code)));
  if (ready === 0 && serving > 0) {
    return `No pod is ready: ${serving} that ${serving === 1 ? "is" : "are"} being deleted still ${serving === 1 ? "gets" : "get"} traffic.${first(waiting)}`;
  }
  if (others > 0) return `No pod is ready: ${ofOthers}${first(waiting)}`;
  if (all === 0) return "No traffic: every pod has ended, or is being deleted.";
  if (ready === 0) return `No traffic: none of ${all} ${all === 1 ? "pod" : "pods"} is ready.${first(waiting)}`;
  if (ready === all) return all === 1 ? "The only pod gets traffic." : `All ${all} pods get traffic.`;
  return `${ready} of ${all} pods get traffic.${first(waiting)}`;
}
