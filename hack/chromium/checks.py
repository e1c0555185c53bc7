#!/usr/bin/env python3
"""checks: the page of `explain --serve` in headless Chromium. hack/browser runs it.

Usage: checks.py PROGRAM CHROMIUM [CHECK...]

Without names, all checks run. KUBEBUILDER_ASSETS names the folder with etcd and kube-apiserver for the check on them.
"""

import json
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

from devtools import Browser, Failure
from objects import HOSTILE, hostile, items, many, node, pod, service
from servers import Page, RealCluster, Simulation, assets, free_ports

HERE = Path(__file__).resolve().parent
SERVICES = 5000
# Elements of rows that may exist at a time, for a grid of up to forty rows.
ROWS = 70

ROW = """(name) => [...document.querySelectorAll("#rows .row")]
    .map((row) => [...row.children].map((cell) => cell.textContent)).find((cells) => cells[2] === name)"""
LIVE = "() => document.getElementById('connection').dataset.state === 'live'"
ACTIVE = """() => {
    const id = document.getElementById("services").getAttribute("aria-activedescendant");
    return id && document.getElementById(id)?.dataset.key;
}"""
FOCUS = "() => document.activeElement.id"


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found!r} instead of {expected!r}")


def expect_no_complaints(browser):
    complaints = browser.complaints()
    if complaints:
        raise Failure("the browser complains: " + "; ".join(complaints))


class Files:
    """A page about a dump."""

    def __init__(self, program, dump, *words):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(dump, file)
            file.flush()
            self.page = Page(program, "-f", file.name, *words)
        self.url, self.link, self.close = self.page.url, self.page.link, self.page.close


# ---- checks ----


def changes_on(cluster, program, browser):
    """A pod becomes ready, and the row and the report change. Returns milliseconds of several changes."""
    cluster.create("/api/v1/nodes", node("node-1"))
    cluster.create("/api/v1/namespaces/default/services", service("web"))
    web = pod("web-0", {"app": "web"}, "10.1.0.1", False)
    # The status is another request.
    status = web.pop("status")
    cluster.create("/api/v1/namespaces/default/pods", web)
    cluster.patch("/api/v1/namespaces/default/pods/web-0/status", {"status": status})
    with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
        browser.open(page.link("default/web"))
        browser.wait("the list is live", LIVE)
        milliseconds = []
        for is_ready in [True, False, True, False, True]:
            ready, presence = ("1 / 1", "ready") if is_ready else ("0 / 1", "not ready")
            start = time.time()
            cluster.set_ready("web-0", is_ready)
            seen = browser.wait(
                f"the row has {ready}, and the pod of the report is {presence}",
                f"""(ready, presence) => {{
                    const row = ({ROW})("web");
                    const cells = [...document.querySelectorAll("#report table:first-of-type tbody tr:first-child > *")];
                    return row?.[3] === ready && cells[3]?.textContent === presence && Date.now();
                }}""", ready, presence)
            milliseconds.append(round(seen - start * 1000))
        # What is new in the cluster, and what is gone.
        cluster.create("/api/v1/namespaces/default/services", service("another"))
        browser.wait("a new Service is in the list", f"() => ({ROW})('another')")
        cluster.delete("/api/v1/namespaces/default/services/another")
        browser.wait("a deleted Service leaves the list", f"() => !({ROW})('another')")
        expect_no_complaints(browser)
        expect("exit code after SIGINT", page.interrupt(), 0)
    # Generous: the batch period of controllers and a slow machine are in it.
    if min(milliseconds) >= 1000:
        raise Failure(f"the row changes after {milliseconds} ms")
    return f"{sorted(milliseconds)[len(milliseconds) // 2]} ms from the request to the row (of {milliseconds})"


def live(program, browser):
    """A change of a pod is seen within a second, on `simulate --serve`."""
    with closing(Simulation(program)) as cluster:
        return changes_on(cluster, program, browser)


def real(program, browser):
    """The same on kube-apiserver."""
    folder = assets()
    if folder is None:
        return "NOT DONE: KUBEBUILDER_ASSETS names no servers"
    with closing(RealCluster(program, folder)) as cluster:
        return changes_on(cluster, program, browser)


def many_services(program, browser):
    """Of 5,000 Services those that are seen have elements, wherever the list is scrolled."""
    with closing(Files(program, many(SERVICES))) as page:
        start = time.monotonic()
        browser.open(page.link())
        browser.wait("the count is shown", "(n) => document.querySelector('[data-count=all]').textContent === n", f"{SERVICES}")
        loaded = time.monotonic() - start
        scrolled = browser.run("""async (rows) => {
            const grid = document.getElementById("services");
            const tasks = [];
            new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: "longtask" });
            const frame = () => new Promise(requestAnimationFrame);
            const frames = [];
            let most = 0, gaps = 0, last = await frame();
            const steps = 120, end = grid.scrollHeight - grid.clientHeight;
            for (let step = 0; step <= steps; step++) {
                grid.scrollTop = end * step / steps;
                await frame();
                const now = await frame();
                frames.push((now - last) / 2);
                last = now;
                const drawn = grid.querySelectorAll(".body .row");
                most = Math.max(most, drawn.length);
                // A row where there should be one: in the middle of the grid.
                const box = grid.getBoundingClientRect();
                if (!document.elementFromPoint(box.left + 50, box.top + box.height / 2)?.closest(".body .row")) gaps += 1;
            }
            const text = [...grid.querySelectorAll(".body .row")].map((row) => row.children[2].textContent).sort().at(-1);
            frames.sort((a, b) => a - b);
            return { most, gaps, text, p95: frames[Math.floor(frames.length * 0.95)],
                     tasks: tasks.length, longest: Math.max(0, ...tasks.map((task) => task.duration)) };
        }""")
        expect("frames without rows", scrolled["gaps"], 0)
        if not 10 <= scrolled["most"] <= ROWS:
            raise Failure(f"{scrolled['most']} rows are elements")
        # Sorted by namespace, then name: the last is the last of team-9.
        expect("the last row", scrolled["text"], f"service-{SERVICES - 1:05}")
        filtered = browser.run("""async () => {
            const words = document.getElementById("words");
            const start = performance.now();
            words.value = "team-3/ 0123";
            words.dispatchEvent(new InputEvent("input", { bubbles: true }));
            await new Promise(requestAnimationFrame);
            return [performance.now() - start, document.querySelector("[data-count=all]").textContent,
                    document.getElementById("services").getAttribute("aria-rowcount")];
        }""")
        expect("filtered Services", filtered[1:], ["2", "3"])
        expect_no_complaints(browser)
        return (f"loaded in {loaded * 1000:.0f} ms; scrolling: {scrolled['most']} rows at most, 95 % of frames within "
                f"{scrolled['p95']:.0f} ms, {scrolled['tasks']} long tasks (up to {scrolled['longest']:.0f} ms); "
                f"filtered in {filtered[0]:.0f} ms")


def keyboard(program, browser):
    """Every action has a key, and the focus goes where the user looks."""
    with closing(Files(program, many(50))) as page:
        browser.open(page.link())
        browser.wait("rows", f"() => ({ROW})('service-00000')")
        browser.key("/")
        expect("focus after /", browser.run(FOCUS), "words")
        browser.type("team-1")
        expect("the filter has no /", browser.run("() => document.getElementById('words').value"), "team-1")
        browser.wait("five Services", "() => document.getElementById('services').getAttribute('aria-rowcount') === '6'")
        browser.key("ArrowDown")
        expect("focus after the filter", browser.run(FOCUS), "services")
        expect("first row", browser.run(ACTIVE), "team-1/service-00001")
        browser.key("ArrowDown")
        expect("arrow down", browser.run(ACTIVE), "team-1/service-00011")
        browser.key("End")
        expect("end", browser.run(ACTIVE), "team-1/service-00041")
        browser.key("ArrowDown")
        expect("arrow down at the end", browser.run(ACTIVE), "team-1/service-00041")
        browser.key("Home")
        browser.key("Enter")
        expect("focus in the report", browser.run(FOCUS), "detail-title")
        expect("address", browser.run("() => location.hash"), "#team-1/service-00001")
        browser.wait("the report", "() => document.querySelector('#report table')?.textContent.includes('service-00001-0')")
        browser.key("Escape")
        expect("focus after Escape", browser.run(FOCUS), "services")
        expect("address after Escape", browser.run("() => location.hash"), "")
        expect("active row after Escape", browser.run(ACTIVE), "team-1/service-00001")
        expect("the report is closed", browser.run("() => document.getElementById('detail').hidden"), True)
        browser.key("/")
        browser.key("Escape")
        browser.wait("Escape empties the filter", "() => document.getElementById('services').getAttribute('aria-rowcount') === '51'")
        browser.key("Escape")
        browser.key("End")
        expect("end of all", browser.run(ACTIVE), "team-9/service-00049")
        in_view = """() => {
            const grid = document.getElementById("services").getBoundingClientRect();
            const row = document.querySelector("[aria-selected=true]").getBoundingClientRect();
            return row.top >= grid.top + 32 && row.bottom <= grid.bottom || `${row.top} to ${row.bottom} in ${grid.top} to ${grid.bottom}`;
        }"""
        expect("the active row is in view", browser.run(in_view), True)
        browser.key("PageUp")
        browser.key("PageUp")
        expect("the active row is in view after PageUp", browser.run(in_view), True)
        expect_no_complaints(browser)


def verdicts(program, browser):
    """The filters by verdict count and select, and links lead to a Service."""
    with closing(Files(program, many(50))) as page:
        browser.open(page.link("team-9/service-00019"))
        browser.wait("the report of the link", "() => document.getElementById('report').textContent.includes('service-00019-0')")
        expect("the row of the link is active", browser.run(ACTIVE), "team-9/service-00019")
        counts = browser.run("() => Object.fromEntries([...document.querySelectorAll('[data-count]')].map((n) => [n.dataset.count, +n.textContent]))")
        expect("all Services have one verdict", counts["ok"] + counts["wrong"] + counts["lagging"] + counts["unknown"], 50)
        expect("Services without a ready endpoint", counts["unready"], 10)
        expect("wrong Services", counts["wrong"], 5)
        for name, number in counts.items():
            browser.run("(name) => document.querySelector(`[value=${name}]`).click()", name)
            browser.wait(f"{number} rows are {name}", """(rows, isEmpty) =>
                document.getElementById("services").getAttribute("aria-rowcount") === rows
                && document.getElementById("nothing").hidden !== isEmpty""", f"{number + 1}", number == 0)
        empty = "() => /null|undefined|NaN|object Object/.exec(document.body.innerText)?.[0] ?? ''"
        expect("values that are none", browser.run(empty), "")
        browser.open(page.link("team-9/nothing"))
        browser.wait("a Service that doesn't exist", "() => document.getElementById('report').textContent === 'There is no Service team-9/nothing.'")


def contrast(program, browser):
    """Texts, borders and the focus can be seen, dark and light."""
    figures = []
    papers = set()
    script = (HERE / "contrast.js").read_text().split("\n", 1)[1].rstrip().rstrip(";")
    with closing(Files(program, many(50))) as page:
        for scheme in ("light", "dark"):
            browser.media(prefers_color_scheme=scheme)
            browser.open(page.link("team-9/service-00019"))
            browser.wait("the report", "() => document.querySelector('#report table') !== null")
            browser.key("Escape")
            browser.key("Enter")
            # All four verdicts, whatever those of this dump are.
            browser.run("""() => ["ok", "wrong", "lagging", "unknown"].forEach((verdict, index) => {
                document.querySelectorAll("#rows .row .verdict")[index].dataset.verdict = verdict;
            })""")
            browser.key("/")
            judged = browser.run(script)
            if judged["found"]:
                raise Failure(f"{scheme}: " + "; ".join(judged["found"]))
            figures.append(f"{scheme}: at least {judged['lowest']:.1f} of {judged['texts']} texts")
            papers.add(judged["paper"])
        expect("backgrounds of both", len(papers), 2)
        browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        still = """() => {
            const row = document.querySelector("#rows .row");
            row.classList.add("changed");
            return row.getAnimations().length;
        }"""
        expect("animations for users who want none", browser.run(still), 0)
        browser.media(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
        expect("animations for others", browser.run(still), 1)
    return "; ".join(figures)


def accessibility(program, browser):
    """The accessibility tree has roles, names and places of what is on the page."""
    with closing(Files(program, many(50))) as page:
        browser.open(page.link("team-9/service-00019"))
        browser.wait("the report", "() => document.querySelector('#report table') !== null")
        nodes = [
            (node["role"]["value"], node.get("name", {}).get("value", ""), {p["name"]: p["value"].get("value") for p in node.get("properties", [])})
            for node in browser.send("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]
        ]
        for role, name in [
            ("heading", "Endpoints of Services"), ("grid", "Services"), ("search", "Services"), ("region", "Services"),
            ("radio", None), ("columnheader", "Reason"), ("heading", "team-9/service-00019"),
            ("region", "team-9/service-00019"), ("table", None), ("rowheader", "service-00019-0"), ("button", None),
            ("status", ""), ("main", ""), ("banner", ""),
        ]:
            if not any(role == found[0] and name in (None, found[1]) for found in nodes):
                raise Failure(f"the tree has no {role} named {name!r}")
        for role, name, _ in nodes:
            if role in ("button", "grid", "heading", "radio", "region", "table") and not name.strip():
                raise Failure(f"a {role} has no name")
        searchbox = next(name for role, name, _ in nodes if role == "searchbox")
        expect("the name of the filter", searchbox.split()[0], "Filter")
        places = browser.run("""() => {
            const grid = document.getElementById("services");
            const rows = [...grid.querySelectorAll(".body .row")];
            return {
                count: grid.getAttribute("aria-rowcount"),
                active: document.getElementById(grid.getAttribute("aria-activedescendant"))?.dataset.key,
                wrong: rows.filter((row) => +row.getAttribute("aria-rowindex") !== Math.round(new DOMMatrix(row.style.transform).f / 32) + 2).length,
                selected: rows.filter((row) => row.getAttribute("aria-selected") === "true").map((row) => row.dataset.key),
                cells: rows.every((row) => [...row.children].every((cell) => cell.getAttribute("role") === "gridcell")),
            };
        }""")
        expect("places", places, {"count": "51", "active": "team-9/service-00019", "wrong": 0,
                                  "selected": ["team-9/service-00019"], "cells": True})
        # Results of the filter are told, after a moment, once.
        browser.key("/")
        browser.run("""() => {
            window.told = [];
            const node = document.getElementById("announcer");
            new MutationObserver(() => window.told.push(node.textContent)).observe(node, { childList: true, characterData: true, subtree: true });
        }""")
        browser.type("team-3")
        browser.wait("the number of results is told", "() => window.told.length > 0")
        expect("told", browser.run("() => window.told"), ["5 Services"])


def hostile_names(program, browser):
    """Markup in names, labels and conditions is text."""
    with closing(Files(program, hostile())) as page:
        browser.open(page.link())
        browser.wait("the row", f"(name) => ({ROW})(name)", HOSTILE)
        browser.key("/")
        browser.key("ArrowDown")
        browser.key("Enter")
        text = browser.wait("the report", "(name) => { const text = document.getElementById('report').textContent; return text.includes(name) && text; }", f"{HOSTILE}-0")
        for part in ("<u>other</u>", "<s>slice</s>", "<i>node</i>"):
            if part not in text:
                raise Failure(f"the report lacks {part}: {text}")
        made = browser.run("() => document.querySelectorAll('main :is(img, script, u, s, i, em)').length + document.querySelectorAll('#rows b, #report b').length")
        expect("elements made of data", made, 0)
        expect("title", browser.run("() => document.getElementById('detail-title').textContent"), f"<b>shop</b>/{HOSTILE}")
        expect_no_complaints(browser)


def policy(program, browser):
    """The policy forbids what the page doesn't need, and other names of this machine are refused."""
    with closing(Files(program, many(1))) as page:
        browser.open(page.link())
        browser.wait("rows", f"() => ({ROW})('service-00000')")
        expect_no_complaints(browser)
        violations = browser.run("""async () => {
            const found = [];
            document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
            const script = document.createElement("script");
            try { script.textContent = "window.ran = true"; document.body.append(script); } catch {}
            try { document.getElementById("report").innerHTML = "<p>markup</p>"; } catch {}
            document.body.append(Object.assign(new Image(), { src: "http://127.0.0.1:1/" }));
            await fetch("http://127.0.0.1:1/").catch(() => {});
            await new Promise((resolve) => setTimeout(resolve, 50));
            return [window.ran === undefined, document.getElementById("report").textContent, [...new Set(found)].sort()];
        }""")
        expect("violations", violations[:2], [True, ""])
        for directive in ("connect-src", "img-src", "require-trusted-types-for"):
            if directive not in violations[2]:
                raise Failure(f"nothing is refused by {directive}: {violations[2]}")
        for what, headers, code in [("another Host", {"Host": "evil.example"}, 403), ("no token", {}, 401)]:
            request = urllib.request.Request(f"{page.url}api/services", headers=headers)
            try:
                urllib.request.urlopen(request, timeout=10)
            except urllib.error.HTTPError as error:
                expect(f"answer to a request with {what}", error.code, code)
            else:
                raise Failure(f"a request with {what} is answered")
        expect("the address has no token", browser.run("() => location.hash"), "")


def reconnect(program, browser):
    """A page whose program is gone or was started again says so, and the new address has the new state."""
    (port,) = free_ports(1)
    listen = f"--listen=127.0.0.1:{port}"
    with closing(Files(program, many(10), listen)) as page:
        browser.open(page.link())
        browser.wait("the count", "() => document.querySelector('[data-count=all]').textContent === '10'")
    browser.wait("the loss is shown", "() => document.getElementById('connection').dataset.state === 'lost'")
    expect("rows stay", browser.run("() => document.querySelector('[data-count=all]').textContent"), "10")
    with closing(Files(program, items([service("after", ipFamilies=["IPv4"])]), listen)) as page:
        browser.wait("the refusal is shown", "() => document.getElementById('connection').dataset.state === 'refused'")
        browser.open(page.link())
        browser.wait("the new state", f"() => document.querySelector('[data-count=all]').textContent === '1' && ({ROW})('after')")
        browser.wait("the connection", "() => document.getElementById('connection').dataset.state === 'fixed'")


CHECKS = [live, real, many_services, keyboard, verdicts, contrast, accessibility, hostile_names, policy, reconnect]


def main():
    program, chromium, *names = sys.argv[1:]
    chosen = [check for check in CHECKS if not names or check.__name__ in names]
    failures = 0
    for check in chosen:
        start = time.monotonic()
        browser = Browser(chromium)
        browser.size(1280, 800)
        try:
            outcome = check(program, browser) or "as it should be"
        except Failure as failure:
            outcome = f"FAILED: {failure}"
            failures += 1
        finally:
            browser.close()
        print(f"{check.__name__}: {outcome} ({time.monotonic() - start:.1f} s)", flush=True)
    sys.exit(1 if failures or not chosen else 0)


if __name__ == "__main__":
    main()
