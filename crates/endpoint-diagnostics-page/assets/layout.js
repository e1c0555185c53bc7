// The picture of a Service as places and sizes: pods in lanes of zones ─> slices ─> clients by zone. No document.

import { isEnded, isMissed } from "./model.js";

const LANE = { left: 0, share: 0.44, head: 30, pad: 12, gap: 10 };
const SLICE = { left: 0.56, share: 0.18, height: 46, gap: 8 };
const CLIENT = { left: 0.83, share: 0.17, height: 46, gap: 10 };
/** Pods up to this number have their names next to them. */
const NAMED = 12;
/** Slices beyond this number are drawn as one. */
const SLICES = 16;
/** Zones and clients beyond these numbers are drawn as one. */
const LANES = 24;
const CLIENTS = 24;
/** The distance of dots by the number of pods. */
const PITCHES = [[60, 20], [200, 15], [500, 12], [Infinity, 9.5]];
const ROW = 24;
const NO_ZONE = "";
/** Lanes that are not zones come last. */
const PENDING = "\uffff pending";
const MISSED = "\uffff\uffff missed";
const OTHERS = "\uffff others";
/** The states of an endpoint, the best for clients first. */
const BEST = ["ready", "serving", "notReady"];

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** The pods and other endpoints of a view, each with its place in slices: `{ name, state, node, zone, slices, … }`. */
export function members({ report, slices }) {
  const found = new Map();
  slices.forEach((slice, index) => {
    for (const endpoint of slice.endpoints) {
      const key = endpoint.pod ?? endpoint.addresses[0] ?? "no address";
      const before = found.get(key);
      if (before !== undefined) {
        if (!before.slices.includes(index)) before.slices.push(index);
        // Clients use it if one of its entries allows that.
        if (BEST.indexOf(endpoint.state) < BEST.indexOf(before.state)) before.state = endpoint.state;
        continue;
      }
      const { addresses, state, node = "", zone = "", forZones = [], forNodes = [] } = endpoint;
      found.set(key, {
        name: key, isPod: endpoint.pod !== undefined, addresses, state, node, zone, forZones, forNodes,
        slices: [index], verdict: "ok", reasons: [], missed: false, ended: false,
      });
    }
  });
  for (const pod of report.pods) {
    const member = found.get(pod.name);
    if (member !== undefined) {
      Object.assign(member, { verdict: pod.verdict, reasons: pod.reasons });
      if (member.node === "") member.node = pod.node ?? "";
      continue;
    }
    found.set(pod.name, {
      name: pod.name, isPod: true, addresses: pod.addresses, state: "absent", node: pod.node ?? "", zone: null, forZones: [],
      forNodes: [], slices: [], verdict: pod.verdict, reasons: pod.reasons, missed: isMissed(pod),
      ended: isEnded(pod),
    });
  }
  // A pod that no slice has is in the zone of its node, as far as another endpoint shows it.
  const zones = new Map();
  for (const member of found.values()) if (member.zone !== null && member.node !== "") zones.set(member.node, member.zone);
  for (const member of found.values()) member.zone ??= zones.get(member.node) ?? NO_ZONE;
  return [...found.values()].sort((a, b) => compare(a.zone, b.zone) || compare(a.node, b.node) || compare(a.name, b.name));
}

const laneOf = (member) => (member.missed ? MISSED : member.node === "" && member.slices.length === 0 ? PENDING : member.zone);

/**
 * The layout of a view in a width: `{ width, height, lanes, slices, clients, flows }`. Lanes have nodes, and these dots.
 * A flow goes from a lane to a slice, or from a slice to clients, and has the number of endpoints as `size`.
 */
export function layout(view, width) {
  const all = members(view);
  const named = all.length <= NAMED;
  const pitch = named ? ROW : PITCHES.find(([most]) => all.length <= most)[1];
  const lanes = placeLanes(fewer(group(all, laneOf)), width, pitch, named);
  const slices = placeSlices(view, width);
  const clients = placeClients(view, all, lanes, width);
  const heights = [lanes, slices, clients].map((column) => (column.length === 0 ? 0 : column.at(-1).y + column.at(-1).height));
  const height = Math.max(120, ...heights);
  [lanes, slices, clients].forEach((column, index) => center(column, heights[index], height));
  for (const lane of lanes) for (const node of lane.nodes) for (const dot of node.dots) dot.y += lane.y;
  return { width, height, named, pitch, lanes, slices, clients, flows: flows(all, lanes, slices, clients, named) };
}

function center(column, used, height) {
  for (const box of column) box.y += (height - used) / 2;
}

function group(list, keyOf) {
  const groups = new Map();
  for (const item of list) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return [...groups].sort((a, b) => compare(a[0], b[0]));
}

/** The zones that have lanes of their own, and one for the others. */
function fewer(groups) {
  const isZone = ([key]) => key !== MISSED && key !== PENDING;
  const zones = groups.filter(isZone);
  if (zones.length <= LANES) return groups;
  const rest = zones.slice(LANES - 1).flatMap(([, members]) => members);
  return [...zones.slice(0, LANES - 1), [OTHERS, rest], ...groups.filter((it) => !isZone(it))];
}

function placeLanes(groups, width, pitch, named) {
  const inner = Math.round(width * LANE.share);
  let y = 0;
  return groups.map(([key, members], index) => {
    const title = key === MISSED ? "missed by the selector" : key === PENDING ? "not on a node" : key === OTHERS ? "other zones" : key === NO_ZONE ? "no zone" : `zone ${key}`;
    const zone = key === MISSED || key === PENDING ? null : key;
    const lane = { key, zone, title, hue: zone === null ? null : index, x: 0, y, width: inner, members, nodes: [], height: 0 };
    lane.height = LANE.head + placeNodes(lane, pitch, named) + LANE.pad;
    y += lane.height + LANE.gap;
    return lane;
  });
}

/** Places the dots of a lane, relative to its top, and returns the height that they take. */
function placeNodes(lane, pitch, named) {
  const [left, right] = [LANE.pad, lane.width - LANE.pad];
  let [x, y] = [left, LANE.head];
  for (const [name, members] of group(lane.members, (member) => member.node)) {
    const node = { name, x: left, y, dots: [] };
    if (named) {
      // A row for each pod, whose dot is at the edge.
      for (const member of members) {
        node.dots.push({ member, x: right - 4, y: y + pitch / 2 });
        y += pitch;
      }
    } else {
      if (x > left) x += pitch / 2;
      for (const member of members) {
        if (x + pitch > right) [x, y] = [left, y + pitch];
        node.dots.push({ member, x: x + pitch / 2, y: y + pitch / 2 });
        x += pitch;
      }
    }
    lane.nodes.push(node);
  }
  return (named ? y : y + pitch) - LANE.head;
}

function placeSlices({ slices, capacity }, width) {
  const [x, own] = [Math.round(width * SLICE.left), Math.round(width * SLICE.share)];
  const shown = slices.length > SLICES ? slices.slice(0, SLICES - 1) : slices;
  const box = (found, indices) => {
    const endpoints = found.flatMap((slice) => slice.endpoints);
    const count = (state) => endpoints.filter((endpoint) => endpoint.state === state).length;
    return {
      indices, slices: found, x, y: 0, width: own, height: SLICE.height, used: endpoints.length, capacity: capacity * found.length,
      ready: count("ready"), serving: count("serving"), notReady: count("notReady"),
    };
  };
  const boxes = shown.map((slice, index) => box([slice], [index]));
  if (shown.length < slices.length) {
    const rest = slices.slice(shown.length);
    boxes.push(box(rest, rest.map((_, index) => shown.length + index)));
  }
  boxes.forEach((it, index) => (it.y = index * (SLICE.height + SLICE.gap)));
  return boxes;
}

/**
 * The clients, as kube-proxy divides endpoints among them: it uses those that are ready, else those that still serve; hints
 * count if every ready endpoint has some, and for a zone that is named by one.
 */
function placeClients({ service }, all, lanes, width) {
  const present = all.filter((member) => member.slices.length > 0);
  const ready = present.filter((member) => member.state === "ready");
  const usable = new Set(ready.length > 0 ? ready : present.filter((member) => member.state === "serving"));
  const hinted = new Set([...usable].flatMap((member) => member.forZones));
  const isHinted = hinted.size > 0 && [...usable].every((member) => member.forZones.length > 0);
  const [x, own] = [Math.round(width * CLIENT.left), Math.round(width * CLIENT.share) - 1];
  const box = (zone, note, has) => ({ zone, note, has, count: [...usable].filter(has).length, x, y: 0, width: own, height: CLIENT.height });
  let boxes;
  if (isHinted) {
    const zones = [...new Set([...hinted, ...lanes.map((lane) => lane.zone).filter((zone) => zone && zone !== OTHERS)])].sort(compare);
    const shown = zones.length > CLIENTS ? zones.slice(0, CLIENTS - 1) : zones;
    boxes = shown.map((zone) => (hinted.has(zone)
      ? box(zone, "", (member) => usable.has(member) && member.forZones.includes(zone))
      : box(zone, "no hints", (member) => usable.has(member))));
    const rest = new Set(zones.slice(shown.length));
    const hasAll = [...rest].some((zone) => !hinted.has(zone));
    const isForRest = (member) => usable.has(member) && (hasAll || member.forZones.some((zone) => rest.has(zone)));
    if (rest.size > 0) boxes.push(box("others", `${rest.size} zones`, isForRest));
  } else {
    const note = hinted.size > 0 ? "not every one has a hint" : service.internalLocal ? "those on their own node" : "";
    boxes = [box(null, note, (member) => usable.has(member))];
  }
  boxes.forEach((it, index) => {
    it.y = index * (CLIENT.height + CLIENT.gap);
    const lane = lanes.find((lane) => lane.zone === it.zone);
    it.hue = lane === undefined ? null : lane.hue;
  });
  return boxes;
}

/** Flows with their ends: those of a box share its edge by their sizes. */
function flows(all, lanes, slices, clients, named) {
  const sliceOf = (index) => slices.find((box) => box.indices.includes(index));
  const found = new Map();
  const add = (key, flow) => {
    const before = found.get(key);
    if (before === undefined) found.set(key, { ...flow, size: 1 });
    else before.size += 1;
  };
  for (const lane of lanes) {
    for (const dot of lane.nodes.flatMap((node) => node.dots)) {
      const { member } = dot;
      for (const slice of new Set(member.slices.map(sliceOf))) {
        const at = slices.indexOf(slice);
        const own = named ? `${member.name} ` : "";
        add(`${own}${lane.key} ${at} ${member.state}`, {
          from: lane, to: slice, lane, slice, state: member.state, dot: named ? dot : null, side: "in",
        });
        for (const client of clients.filter((box) => box.has(member))) {
          add(`${lane.key} ${at} out ${client.zone}`, { from: slice, to: client, lane, slice, client, state: member.state, dot: null, side: "out" });
        }
      }
    }
  }
  const list = [...found.values()];
  // In the order of the other ends, so that flows of a box do not cross.
  const place = (flow) => [flow.to.y, flow.dot?.y ?? flow.from.y, flow.lane.y];
  list.sort((a, b) => place(a).reduce((found, y, index) => found || y - place(b)[index], 0));
  for (const lane of lanes) share(list.filter((flow) => flow.from === lane && flow.dot === null), lane, "start");
  for (const slice of slices) {
    share(list.filter((flow) => flow.to === slice), slice, "end");
    share(list.filter((flow) => flow.from === slice), slice, "start");
  }
  for (const client of clients) share(list.filter((flow) => flow.to === client), client, "end");
  for (const flow of list) {
    if (flow.dot !== null) flow.start = { x: flow.dot.x + 4, y: flow.dot.y, size: 2 };
  }
  return list;
}

/** Divides the edge of a box among flows, in proportion to their sizes, and at least a pixel each. */
function share(list, box, end) {
  const sum = list.reduce((sum, flow) => sum + flow.size, 0);
  const room = box.height - 8;
  let y = box.y + 4;
  for (const flow of list) {
    const size = (room * flow.size) / sum;
    flow[end] = { x: end === "start" ? box.x + box.width : box.x, y: y + size / 2, size: Math.max(1, Math.min(size, 4 + flow.size * 2)) };
    y += size;
  }
}

/** The path of a flow: a band from one edge to another. */
export function band({ start, end }) {
  const middle = (start.x + end.x) / 2;
  const [a, b] = [start.size / 2, end.size / 2];
  const at = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
  const curve = (x1, y1, x2, y2) => `C${at(middle, y1)} ${at(middle, y2)} ${at(x2, y2)}`;
  return `M${at(start.x, start.y - a)}${curve(start.x, start.y - a, end.x, end.y - b)}L${at(end.x, end.y + b)}${curve(end.x, end.y + b, start.x, start.y + a)}Z`;
}

/** The sums of a lane, in the words of the picture. */
export function laneSums(lane) {
  const count = (state) => lane.members.filter((member) => member.state === state && !member.ended).length;
  return { ready: count("ready"), serving: count("serving"), notReady: count("notReady"), absent: count("absent") };
}
