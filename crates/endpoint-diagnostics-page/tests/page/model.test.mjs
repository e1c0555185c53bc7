import assert from "node:assert/strict";
import { test } from "node:test";

import { banner, headline, keyOf, prepared, select, stateOf, stateOfView, sums, viewOf } from "../../assets/model.js";

/** A row with so many pods, of which so many are ready. */
function row(name, ready, pods, more = {}) {
  const { kind = "ClusterIP", zones = [], serving = 0, ...rest } = more;
  return prepared({
    namespace: "shop", name, verdict: "ok", code: "", summary: "", changed: 0, trend: [], expected: pods, kept: 0,
    traffic: { kind, ready, serving, notReady: pods - ready, zones, slices: 1, entries: pods, capacity: 100, writers: ["a"] }, ...rest,
  });
}

const all = { namespace: "", text: "", code: "", show: "all", sort: "attention" };
const names = (rows) => rows.map((row) => row.name).join(" ");

test("the state says whether clients reach a Service, not whether controllers did their work", () => {
  assert.equal(stateOf(row("web", 2, 2)), "ok");
  assert.equal(stateOf(row("web", 1, 2)), "some");
  assert.equal(stateOf(row("web", 0, 2)), "none");
  assert.equal(stateOf(row("web", 0, 0)), "none");
  assert.equal(stateOf(row("web", 0, 0, { kind: "ExternalName" })), "alias");
  assert.equal(stateOf(row("web", 2, 2, { verdict: "wrong" })), "wrong");
  assert.equal(stateOf(row("web", 0, 2, { verdict: "lagging" })), "none");
  assert.equal(stateOf(row("web", 1, 2, { verdict: "lagging" })), "lagging");
  assert.equal(stateOf(row("web", 0, 0, { verdict: "unknown" })), "unknown");
});

test("pods that are being deleted need no attention while others are ready, and serve if none is", () => {
  assert.equal(stateOf(row("web", 2, 2, { serving: 1 })), "ok");
  assert.equal(stateOf(row("web", 0, 1, { serving: 1 })), "some");
  assert.equal(stateOf(row("web", 0, 0, { serving: 1 })), "some");
  assert.equal(stateOf(row("web", 0, 0, { serving: 1, kind: "Headless" })), "none");
  assert.equal(names(select([row("web", 0, 1, { serving: 1 }), row("db", 0, 1)], { ...all, show: "none" }).shown), "db");
});

test("what needs attention comes first", () => {
  const rows = [row("fine", 1, 1), row("part", 1, 2), row("empty", 0, 0), row("broken", 1, 1, { verdict: "wrong" })];
  assert.equal(names(select(rows, all).shown), "broken empty part fine");
  assert.equal(names(select(rows, { ...all, sort: "name" }).shown), "broken empty fine part");
  assert.equal(names(select(rows, { ...all, sort: "size" }).shown), "part broken fine empty");
});

test("filters count what they would show", () => {
  const rows = [row("web", 1, 1), row("web-admin", 0, 0, { code: "selects-no-pods" }), row("db", 0, 1, { code: "readiness-probe" })];
  const { shown, counts } = select(rows, { ...all, show: "none" });
  assert.equal(names(shown), "db web-admin");
  assert.deepEqual(counts, { all: 3, attention: 2, none: 2, wrong: 0, lagging: 0, unknown: 0 });
  assert.equal(names(select(rows, { ...all, text: "we" }).shown), "web-admin web");
  assert.equal(names(select(rows, { ...all, text: "SHOP/ admin" }).shown), "web-admin");
  assert.equal(names(select(rows, { ...all, text: "probe" }).shown), "db", "by its reason");
  assert.equal(names(select(rows, { ...all, code: "selects-no-pods" }).shown), "web-admin");
  assert.equal(names(select(rows, { ...all, namespace: "other" }).shown), "");
});

test("what the program has found is shown with what was found", () => {
  const rows = [row("web", 1, 1), row("db", 1, 1)];
  const found = new Map([[keyOf("shop", "db"), { text: "pod db-0 10.244.3.8", exact: true }]]);
  const { shown } = select(rows, { ...all, text: "10.244.3.8" }, found);
  assert.deepEqual(shown.map((it) => [it.name, it.via]), [["db", "pod db-0 10.244.3.8"]]);
});

test("what is exactly the text comes first, whatever needs attention", () => {
  const rows = () => [row("webhook", 0, 1), row("web", 1, 1), row("my-web", 0, 1)];
  assert.equal(names(select(rows(), { ...all, text: "web" }).shown), "web my-web webhook");
  assert.equal(names(select(rows(), { ...all, text: "shop/web " }).shown), "web webhook");
  const via = (name, exact) => [keyOf("shop", name), { text: `pod of ${name}`, exact }];
  const found = new Map([via("webhook", false), via("web", true)]);
  assert.equal(names(select(rows(), { ...all, text: "10.244.3.8" }, found).shown), "web webhook");
});

test("sums are over all Services", () => {
  const zones = [{ zone: "a", ready: 1, total: 2 }, { zone: "b", ready: 2, total: 2 }];
  const sum = sums([row("web", 3, 4, { zones }), row("api", 3, 4, { zones }), row("db", 0, 0, { code: "selects-no-pods" })]);
  assert.deepEqual(sum.zones, [{ zone: "a", ready: 2, total: 4 }, { zone: "b", ready: 4, total: 4 }]);
  assert.deepEqual(sum.reasons, [["selects-no-pods", 1]]);
  assert.deepEqual([sum.services, sum.ready, sum.endpoints, sum.slices, sum.states.some, sum.states.none], [3, 6, 8, 3, 2, 1]);
});

test("the banner says where a disruption is, and what it leaves published", () => {
  const nodes = (zone, lost, all) => ({ zone, lost, nodes: all });
  const zone = (name, notReady, all) => ({ zone: name, notReady, nodes: all });
  assert.deepEqual(banner({ disruptions: [], zones: [zone("a", 1, 1), zone("b", 1, 2), zone("c", 0, 0)] }, 0), []);
  assert.deepEqual(banner({ disruptions: [], zones: [zone("a", 2, 2)] }, 2),
    ["Zone a: 2 of 2 nodes not ready", "2 endpoints stay ready as before the disruption"]);
  const disruptions = [nodes(null, 7, 12), nodes("", 3, 4), nodes("b", 4, 4)];
  assert.deepEqual(banner({ disruptions, zones: [zone("b", 4, 4)] }, 1), [
    "Cluster: 7 of 12 nodes not ready", "Nodes without a zone: 3 of 4 nodes not ready", "Zone b: 4 of 4 nodes not ready",
    "1 endpoint stays ready as before the disruption"]);
});

function view(pods, more = {}) {
  return { report: { pods, reasons: [], slices: [], ...more }, service: { kind: "ClusterIP", externalName: "db.example", ...more.service } };
}
const pod = (name, slices, code, message) =>
  ({ name, slices, endpoints: slices, verdict: "ok", reasons: code ? [{ code, message }] : [] });

test("the headline answers the first question", () => {
  assert.equal(headline(view([pod("a", "ready"), pod("b", "ready")])), "All 2 pods get traffic.");
  assert.equal(headline(view([pod("a", "ready")])), "The only pod gets traffic.");
  assert.equal(headline(view([pod("a", "ready"), pod("b", "notReady", "x", "its probe fails")])), "1 of 2 pods get traffic. b: its probe fails.");
  assert.equal(headline(view([pod("b", "notReady", "x", "its probe fails")])), "No traffic: none of 1 pod is ready. b: its probe fails.");
  const missed = pod("c", "absent", "label-differs", "the pod has app=card");
  assert.equal(headline(view([missed], { reasons: [{ message: "no pod has app=cart" }] })), "No traffic: no pod has app=cart. c: the pod has app=card.");
  const failed = pod("d", "absent", "failed", "it has failed");
  const going = pod("e", "serving", "terminating", "it is being deleted");
  const traffic = (ready, of, serving, code) => ({ traffic: { ready, of, serving, reason: code ? { code } : undefined } });
  assert.equal(headline({ ...view([]), ...traffic(2, 2, 0) }), "2 endpoints that are not pods get traffic.");
  const custom = view([pod("a", "ready")], { reasons: [{ code: "no-selector", message: "it has no selector" }] });
  assert.equal(headline({ ...custom, ...traffic(3, 3, 0) }), "3 of 3 endpoints get traffic.");
  assert.equal(headline({ ...custom, ...traffic(0, 0, 0) }), "No traffic: it has no selector.");
  assert.equal(headline({ ...view([], custom.report), ...traffic(0, 2, 1) }), "No endpoint is ready: 1 that terminates still gets traffic.");
  assert.equal(headline({ ...view([pod("a", "ready"), failed]), ...traffic(1, 1, 0) }), "The only pod gets traffic.");
  assert.equal(headline({ ...view([going]), ...traffic(0, 0, 1) }), "No pod is ready: 1 that is being deleted still gets traffic. e: it is being deleted.");
  assert.equal(headline({ ...view([failed]), ...traffic(0, 0, 0) }), "No traffic: every pod has ended, or is being deleted.");
  assert.equal(headline({ ...view([failed, pod("b", "notReady", "x", "its probe fails")]), ...traffic(0, 1, 0, "x") }),
    "No traffic: none of 1 pod is ready. b: its probe fails.");
  const gone = pod("f", "ready", "pod-gone", "it does not exist");
  assert.equal(headline({ ...view([gone]), ...traffic(0, 0, 0) }), "No traffic: every pod has ended, or is being deleted.");
  assert.match(headline(view([], { service: { kind: "ExternalName" } })), /^An alias of db\.example/);
});

test("the headline has the reason for missing traffic, not a note about the Service", () => {
  const reason = { code: "selects-no-pods", message: "no pod has app=cart" };
  const reasons = [{ code: "hints-ignored", message: "trafficDistribution: Nearby is unknown" }, reason];
  const traffic = { ready: 0, of: 0, serving: 0, reason };
  assert.equal(headline({ ...view([], { reasons }), traffic }), "No traffic: no pod has app=cart.");
});

test("an answer without a report is an error", () => {
  assert.deepEqual(viewOf('{"report":{}}'), { report: {} });
  assert.deepEqual(viewOf('{"error":"There is no Service shop/x."}'), { error: "There is no Service shop/x." });
  for (const text of ["", "null", "[]", "<html>"]) assert.match(viewOf(text).error, /no report/, text);
});

test("keys of hostile names are one", () => {
  assert.equal(keyOf("a/b", "c"), "a%2Fb/c");
  assert.notEqual(keyOf("a/b", "c"), keyOf("a", "b/c"));
});

test("behind a cluster IP, a pod without a port gets no traffic", () => {
  const unresolved = { ...pod("a", "ready", "port-unresolved", "it has no port http"), withoutPorts: true };
  const of = (bypassed) => ({
    ...view([unresolved], { verdict: "ok", slices: [{ ready: 1 }] }),
    slices: [{ ports: [], bypassed, endpoints: [{ state: "ready", pod: "a", addresses: ["10.1.0.1"] }] }],
    traffic: { ready: 0, of: 1, serving: 0, reason: { code: "port-unresolved" } },
  });
  assert.equal(stateOfView(of(true)), "none");
  assert.equal(headline(of(true)), "No traffic: none of 1 pod is ready. a: it has no port http.");
  assert.equal(stateOfView(of(undefined)), "ok", "headless");
});
