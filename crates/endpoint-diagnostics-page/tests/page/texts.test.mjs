import assert from "node:assert/strict";
import { test } from "node:test";

import { commands, quoted } from "../../assets/command.js";
import { format, parse, withoutToken } from "../../assets/route.js";
import { bars, buckets, sparkline } from "../../assets/spark.js";
import { age, clock, duration, span } from "../../assets/time.js";

test("an address leads back to its view", () => {
  for (const fragment of ["#", "#shop/web", "#?show=none&namespace=shop&text=10.0.0.1", "#shop/web?sort=name", "#/changes?from=-60",
    "#a%2Fb/%3Cimg%3E?text=a%26b%3Dc"]) {
    assert.deepEqual(parse(format(parse(fragment))), parse(fragment), fragment);
  }
  assert.equal(format(parse("#shop/web")), "#shop/web");
  assert.deepEqual(parse("#shop/web").service, { namespace: "shop", name: "web" });
});

test("an address of nothing is the list", () => {
  for (const fragment of ["", "#", "#shop", "#shop/", "#/web", "#a/b/c", "#%", "#../x", "#./x", "#x/%2e%2e", "#?show=constructor&sort=__proto__&other=1"]) {
    const { page, service, show, sort } = parse(fragment);
    assert.deepEqual({ page, service, show, sort }, { page: "services", service: null, show: "all", sort: "attention" }, fragment);
  }
});

test("the token is not part of the view", () => {
  assert.deepEqual(withoutToken("#token=0a1b"), { token: "0a1b", fragment: "" });
  assert.deepEqual(withoutToken("#shop/web&token=0a1b"), { token: "0a1b", fragment: "#shop/web" });
  assert.deepEqual(withoutToken("#shop/web?show=none&token=0a1b"), { token: "0a1b", fragment: "#shop/web?show=none" });
  assert.deepEqual(withoutToken("#shop/web"), { token: null, fragment: "#shop/web" });
});

test("times are read as people write them", () => {
  const now = new Date(2026, 10, 27, 15, 0, 0).getTime();
  const shown = (text) => {
    const found = span(text, now);
    return found && `${new Date(found.from).getDate()} ${clock(found.from)}-${clock(found.to)}`;
  };
  assert.equal(shown("14:03"), "27 14:03:00-14:03:59");
  assert.equal(shown("14:03:20"), "27 14:03:10-14:03:30");
  assert.equal(shown("2026-02-31 14:03"), null);
  assert.equal(shown("2026-99-99 14:03"), null);
  assert.equal(shown("15:01"), "26 15:01:00-15:01:59", "not yet today");
  assert.equal(shown("2026-11-02 9:05"), "2 09:05:00-09:05:59");
  for (const text of ["", "14", "24:00", "14:60", "10.244.3.8", "web", "1:2:3"]) assert.equal(shown(text), null, text);
});

test("ages and durations are short", () => {
  const ages = [0, 59_999, 60_000, 3_600_000, 172_800_000].map((span) => age(1_000_000, 1_000_000 + span));
  assert.deepEqual(ages, ["0 s", "59 s", "1 min", "1 h", "2 d"]);
  assert.equal(age(0, 1000), "");
  assert.equal(age(2000, 1000), "0 s", "clocks differ");
  assert.deepEqual([34, 1234, 12_345, 180_000].map(duration), ["34 ms", "1.2 s", "12 s", "3 min"]);
});

test("names are words of a shell, whatever they are", () => {
  assert.equal(quoted("web-1.shop"), "web-1.shop");
  assert.equal(quoted("$(reboot)"), "'$(reboot)'");
  assert.equal(quoted("it's"), String.raw`'it'\''s'`);
  assert.equal(quoted("--help"), "'--help'");
  assert.equal(quoted(""), "''");
  assert.equal(commands("shop", "web")[0].text, "kubectl endpoints explain web -n shop");
  assert.deepEqual(commands("shop", "web", ["--context=prod", "--as=a b"]).map(({ text }) => text.replace(/.* --context/, "--context")),
    Array(3).fill("--context=prod '--as=a b'"), "each of the same cluster");
  assert.deepEqual(commands("shop", "web", ["-f", "dump.yaml"]).map(({ text }) => text), ["kubectl endpoints explain web -n shop -f dump.yaml"]);
  for (const { text } of commands("a;b", "`c`")) assert.ok(!text.replaceAll(/'[^']*'/g, "").match(/[;`]/), text);
});

test("charts stay within their boxes", () => {
  const { line, area } = sparkline([[0, 1, 2], [800, 2, 2], [890, 0, 2]], 900, 90, 24);
  assert.equal(line, "M0.0,12.0H80.0V2.0H89.0V22.0H90");
  assert.ok(area.startsWith(line));
  assert.deepEqual(sparkline([], 0, 1, 1), { line: "", area: "" });
  assert.equal(bars([0, 2, 1], 3, 30, 21), "M10.0,21v-20.0h9.0v20.0zM20.0,21v-10.0h9.0v10.0z");
  assert.deepEqual(buckets([0, 5, 9, 10, -1], 0, 10, 2), [1, 2]);
});
