import assert from "node:assert/strict";
import { test } from "node:test";

// What the feed takes from a browser.
globalThis.location = { hash: "", pathname: "/" };
globalThis.document = { hidden: false, addEventListener() {} };
const { Feed } = await import("../../assets/feed.js");

const list = () => Response.json({ cursor: "7-1", services: [], overview: {}, source: {} });
const full = (seconds) => new Response("Too many clients.", { status: 503, headers: seconds ? { "retry-after": seconds } : {} });

/** A feed whose requests are answered in turn, with timers that the test ends: `{ asked, next }`. */
function feed(answers) {
  const [asked, states, timers] = [[], [], new Map()];
  let number = 0;
  globalThis.setTimeout = (run, delay) => {
    timers.set((number += 1), { run, delay });
    return number;
  };
  globalThis.clearTimeout = (timer) => timers.delete(timer);
  globalThis.fetch = async (path) => {
    asked.push(path.split("?")[0]);
    return answers.shift() ?? new Promise(() => {});
  };
  new Feed({ replace() {}, change() {}, overview() {}, source() {}, connection: (state) => states.push(state) });
  /** Ends the wait for the next try, once the answers before have been read: its length. */
  const next = async (state) => {
    for (let turn = 0; turn < 1_000 && states.at(-1) !== state; turn += 1) await new Promise(setImmediate);
    assert.deepEqual([states.at(-1), timers.size], [state, 1]);
    const [[timer, { run, delay }]] = timers;
    timers.delete(timer);
    states.push("trying");
    run();
    return delay;
  };
  return { asked, next };
}

test("a page too many waits as long as the program says, and reads no list again", async () => {
  const { asked, next } = feed([list(), full("7"), full("9")]);
  assert.equal(await next("full"), 7_000);
  assert.equal(await next("full"), 9_000);
  assert.deepEqual(asked, ["api/services", "api/events", "api/events", "api/events"]);
});

test("a server between that is not ready says nothing about pages", async () => {
  const { asked, next } = feed([list(), full()]);
  assert.equal(await next("lost"), 500);
  assert.deepEqual(asked, ["api/services", "api/events", "api/services"]);
});

test("a page without a list tries again soon", async () => {
  const { asked, next } = feed([full("7"), list()]);
  assert.equal(await next("lost"), 500);
  assert.deepEqual(asked, ["api/services", "api/services"]);
});
