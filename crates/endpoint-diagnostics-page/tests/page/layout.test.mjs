import assert from "node:assert/strict";
import { test } from "node:test";

import { band, laneSums, layout, members } from "../../assets/layout.js";

const ZONES = ["a", "b", "c"];

/** A view of so many pods in three zones, in slices of a hundred. `change(endpoint, index)` changes them. */
function view(number, change = () => {}) {
  const endpoints = Array.from({ length: number }, (_, index) => {
    const zone = ZONES[index % 3];
    const made = { addresses: [`10.0.${index >> 8}.${index & 255}`], state: "ready", pod: `web-${index}`, node: `node-${zone}${index % 7}`, zone, forZones: [zone] };
    change(made, index);
    return made;
  });
  const slices = [];
  for (let at = 0; at < number; at += 100) slices.push({ name: `web-${at}`, endpoints: endpoints.slice(at, at + 100) });
  const pods = endpoints.map((it) => ({ name: it.pod, node: it.node, addresses: it.addresses, slices: it.state, endpoints: it.state, verdict: "ok", reasons: [] }));
  return { report: { pods }, slices, capacity: 100, service: { kind: "ClusterIP" } };
}

const dots = (plan) => plan.lanes.flatMap((lane) => lane.nodes.flatMap((node) => node.dots));
const uses = (plan) => Object.fromEntries(plan.clients.map((client) => [client.zone, client.count]));

test("every endpoint is drawn once, in its lane, whatever their number", () => {
  for (const number of [0, 1, 7, 24, 25, 200, 1000, 3000]) {
    const plan = layout(view(number), 860);
    assert.equal(dots(plan).length, number);
    const places = new Set(dots(plan).map(({ x, y }) => `${x} ${y}`));
    assert.equal(places.size, number, "none above another");
    for (const lane of plan.lanes) {
      for (const { x, y } of lane.nodes.flatMap((node) => node.dots)) {
        assert.ok(x > lane.x && x < lane.x + lane.width && y > lane.y + 20 && y < lane.y + lane.height, `${number}: ${x} ${y}`);
      }
    }
    for (const box of [...plan.lanes, ...plan.slices, ...plan.clients]) {
      assert.ok(box.y >= 0 && box.y + box.height <= plan.height + 0.01 && box.x + box.width <= plan.width, `${number}`);
    }
  }
});

test("flows carry every endpoint to its slice, and every usable one on", () => {
  const plan = layout(view(1000, (endpoint, index) => index % 10 === 0 && (endpoint.state = "notReady")), 860);
  const size = (side) => plan.flows.filter((flow) => flow.side === side).reduce((sum, flow) => sum + flow.size, 0);
  assert.deepEqual([size("in"), size("out")], [1000, 900]);
  assert.ok(plan.flows.length < 200, "few shapes");
  for (const flow of plan.flows) assert.match(band(flow), /^M[\d.,]+C[\d., ]+L[\d.,]+C[\d., ]+Z$/);
});

test("clients use endpoints as kube-proxy does", () => {
  assert.deepEqual(uses(layout(view(9), 860)), { a: 3, b: 3, c: 3 });
  assert.deepEqual(uses(layout(view(9, (it) => delete it.forZones), 860)), { null: 9 });
  const incomplete = layout(view(9, (it, index) => index === 0 && delete it.forZones), 860);
  assert.deepEqual(uses(incomplete), { null: 9 });
  assert.equal(incomplete.clients[0].note, "not every one has a hint");
  const oneZone = layout(view(9, (it) => (it.forZones = ["a"])), 860);
  assert.deepEqual(uses(oneZone), { a: 9, b: 9, c: 9 });
  assert.deepEqual(oneZone.clients.map((client) => client.note), ["", "no hints", "no hints"]);
  assert.deepEqual(uses(layout(view(3, (it, index) => (it.state = index === 0 ? "serving" : "notReady")), 860)),
    { a: 1, b: 1, c: 1 }, "terminating ones, if no other is left");
});

test("pods that no slice has are where their nodes are", () => {
  const found = view(6);
  const reasons = [{ code: "label-differs", message: "" }];
  const absent = { slices: "absent", endpoints: "absent", addresses: [], verdict: "wrong", reasons: [] };
  found.report.pods.push({ ...absent, name: "lost", node: "node-a0" }, { ...absent, name: "waits", node: null },
    { ...absent, name: "card-0", node: "node-b1", verdict: "ok", reasons });
  const plan = layout(found, 860);
  const laneOf = (name) => plan.lanes.find((lane) => lane.members.some((member) => member.name === name)).title;
  assert.deepEqual(["lost", "waits", "card-0"].map(laneOf), ["zone a", "not on a node", "missed by the selector"]);
  assert.equal(plan.lanes.at(-1).title, "missed by the selector");
});

test("an endpoint of two families is one, in two slices", () => {
  const found = view(2);
  found.slices.push({ name: "web-v6", endpoints: found.slices[0].endpoints.map((it) => ({ ...it, addresses: ["2001:db8::1"] })) });
  assert.deepEqual(members(found).map((member) => member.slices), [[0, 1], [0, 1]]);
});

test("many slices share a box", () => {
  const plan = layout(view(3000), 860);
  assert.equal(plan.slices.length, 16);
  assert.equal(plan.slices.at(-1).slices.length, 15);
  assert.equal(plan.slices.reduce((sum, box) => sum + box.used, 0), 3000);
});

test("zones without end are drawn as few, and soon", () => {
  const zones = (index) => [...Array(8).keys()].map((number) => `client-${index}-${number}`);
  const plan = layout(view(1000, (it, index) => Object.assign(it, { zone: `zone-${index}`, forZones: zones(index) })), 860);
  assert.deepEqual([plan.lanes.length, plan.clients.length], [24, 24]);
  assert.equal(plan.lanes.at(-1).title, "other zones");
  assert.equal(plan.lanes.reduce((sum, lane) => sum + lane.members.length, 0), 1000, "every endpoint is in a lane");
  assert.ok(plan.clients.at(-1).count > 900, "clients of the other zones use the other endpoints");
});

test("clients of zones without hints use every endpoint, also those that are drawn as one", () => {
  const zone = (index) => `zone-${String(index % 30).padStart(2, "0")}`;
  const plan = layout(view(60, (it, index) => Object.assign(it, { zone: zone(index), forZones: [`zone-0${index % 10}`] })), 860);
  assert.ok(plan.clients.every((client) => !client.zone.includes("\uffff")), "no lane of others");
  assert.equal(plan.clients.at(-1).count, 60);
});

test("an endpoint that is in slices twice has the best state, and one that has ended counts no more", () => {
  const found = view(1, (it) => (it.state = "notReady"));
  found.slices.push({ name: "again", endpoints: [{ ...found.slices[0].endpoints[0], state: "ready" }] });
  found.report.pods.push({ name: "job", node: "node-a0", slices: "absent", endpoints: "absent", addresses: [], verdict: "ok",
    reasons: [{ code: "succeeded", message: "" }] });
  assert.deepEqual(members(found).map(({ name, state, ended }) => [name, state, ended]),
    [["job", "absent", true], [found.slices[0].endpoints[0].pod, "ready", false]]);
  const sums = layout(found, 860).lanes.map(laneSums);
  assert.deepEqual(sums.map(({ ready, absent }) => [ready, absent]), [[1, 0]]);
});

test("an endpoint without an address is drawn too", () => {
  assert.equal(members(view(1, (it) => Object.assign(it, { pod: undefined, addresses: [] })))[0].name, "no address");
});
