"""The list: thousands of Services, keys, filters, and finding."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from playwright.sync_api import expect as see

from objects import HOSTILE, hostile, many, node, pod, ready, service
from servers import Failure, Page, Simulation
from support import Files, expect, expect_no_complaints, go, opened, row, shown, until, written

SERVICES = 5000
# Elements of rows that may exist at a time, for a grid of up to forty rows.
ROWS = 70
ACTIVE = """() => {
    const id = document.getElementById("services").getAttribute("aria-activedescendant");
    return id && document.getElementById(id)?.dataset.key;
}"""
FOCUS = "() => document.activeElement.id"
COUNT = "() => document.getElementById('services').getAttribute('aria-rowcount') - 1"
SCROLL = """async () => {
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
    const text = [...grid.querySelectorAll(".body .row")].map((row) => row.querySelector("b").textContent).sort().at(-1);
    frames.sort((a, b) => a - b);
    return { most, gaps, text, p95: frames[Math.floor(frames.length * 0.95)],
             tasks: tasks.length, longest: Math.max(0, ...tasks.map((task) => task.duration)) };
}"""


def many_services(program, context):
    """Of 5,000 Services those that are seen have elements, wherever the list is scrolled."""
    with closing(Files(program, many(SERVICES))) as page:
        start = time.monotonic()
        tab = opened(context, page.link())
        until(tab, "the number of rows", f"() => ({COUNT})() === {SERVICES}")
        loaded = time.monotonic() - start
        tab.select_option("#sort", "name")
        scrolled = tab.evaluate(SCROLL)
        expect("frames without rows", scrolled["gaps"], 0)
        if not 10 <= scrolled["most"] <= ROWS:
            raise Failure(f"{scrolled['most']} rows are elements")
        # Sorted by namespace, then name: the last is the last of team-9.
        expect("the last row", scrolled["text"], f"service-{SERVICES - 1:05}")
        filtered = tab.evaluate("""async () => {
            const words = document.getElementById("words");
            const start = performance.now();
            words.value = "team-3/ 0123";
            words.dispatchEvent(new InputEvent("input", { bubbles: true }));
            await new Promise(requestAnimationFrame);
            return performance.now() - start;
        }""")
        expect("filtered Services", shown(tab), 2)
        # By what the list does not have.
        start = time.monotonic()
        tab.fill("#words", "service-04321-0")
        see(row(tab, "service-04321")).to_contain_text("pod service-04321-0")
        found = time.monotonic() - start
        expect_no_complaints(tab)
        return (f"loaded in {loaded * 1000:.0f} ms; scrolling: {scrolled['most']} rows at most, 95 % of frames within "
                f"{scrolled['p95']:.0f} ms, {scrolled['tasks']} long tasks (up to {scrolled['longest']:.0f} ms); "
                f"filtered in {filtered:.0f} ms; a pod found in {found * 1000:.0f} ms")


def churn(program, context):
    """While pods of 5,000 Services change all the time, the list stays in order and can be scrolled."""
    pods = 500
    with written(ready(SERVICES)) as file, closing(Simulation(program, "-f", file)) as cluster, \
            closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
        tab = opened(context, page.link())
        until(tab, "the number of rows", f"() => ({COUNT})() === {SERVICES}")
        see(tab.locator("[data-count=attention]")).to_have_text("0")
        tab.select_option("#sort", "name")

        def change():
            start = time.monotonic()
            for index in range(pods):
                cluster.set_ready(f"service-{index * (SERVICES // pods):05}-0", False)
            return pods / (time.monotonic() - start)

        with ThreadPoolExecutor() as executor:
            changed = executor.submit(change)
            scrolled = tab.evaluate(SCROLL)
            rate = changed.result()
        expect("frames without rows", scrolled["gaps"], 0)
        expect("the last row", scrolled["text"], f"service-{SERVICES - 1:05}")
        # All have arrived, and nothing else has.
        see(tab.locator("[data-count=attention]")).to_have_text(str(pods))
        tab.select_option("#sort", "attention")
        tab.evaluate("() => document.getElementById('services').scrollTo(0, 0)")
        see(row(tab, "service-00000")).to_contain_text("0 of 1")
        expect_no_complaints(tab)
        return f"{rate:.0f} changes a second; 95 % of frames within {scrolled['p95']:.0f} ms, {scrolled['tasks']} long tasks"


def keyboard(program, context):
    """Every action has a key, and the focus goes where the user looks."""
    with closing(Files(program, many(50))) as page:
        tab = opened(context, f"{page.link()}".replace("#", "#?sort=name&"))
        see(row(tab, "service-00000")).to_be_visible()
        press = tab.keyboard.press
        press("/")
        expect("focus after /", tab.evaluate(FOCUS), "words")
        tab.keyboard.type("team-1/")
        until(tab, "the number of rows", f"() => ({COUNT})() === 5")
        press("ArrowDown")
        expect("focus after the filter", tab.evaluate(FOCUS), "services")
        expect("first row", tab.evaluate(ACTIVE), "team-1/service-00001")
        press("ArrowDown")
        expect("arrow down", tab.evaluate(ACTIVE), "team-1/service-00011")
        press("End")
        expect("end", tab.evaluate(ACTIVE), "team-1/service-00041")
        press("ArrowDown")
        expect("arrow down at the end", tab.evaluate(ACTIVE), "team-1/service-00041")
        press("Home")
        press("Enter")
        expect("focus in the report", tab.evaluate(FOCUS), "detail-title")
        if not tab.url.split("#")[1].startswith("team-1/service-00001"):
            raise Failure(f"the address is {tab.url}")
        see(tab.locator("#report tr[data-pod=service-00001-0]")).to_be_visible()
        # Pods are reached by Tab, and marked in the picture.
        tab.locator("#report tr[data-pod] button").first.focus()
        see(tab.locator(".inspector")).to_contain_text("service-00001-0 · 10.0.0.1 · node-1 · zone a")
        press("Escape")
        expect("focus after Escape", tab.evaluate(FOCUS), "services")
        expect("active row after Escape", tab.evaluate(ACTIVE), "team-1/service-00001")
        see(tab.locator("#detail")).to_be_hidden()
        press("/")
        press("Escape")
        until(tab, "the number of rows", f"() => ({COUNT})() === 50")
        press("Escape")
        press("End")
        expect("end of all", tab.evaluate(ACTIVE), "team-9/service-00049")
        in_view = """() => {
            const grid = document.getElementById("services").getBoundingClientRect();
            const row = document.querySelector("[aria-selected=true]").getBoundingClientRect();
            return row.top >= grid.top + 40 && row.bottom <= grid.bottom || `${row.top} to ${row.bottom} in ${grid.top} to ${grid.bottom}`;
        }"""
        expect("the active row is in view", tab.evaluate(in_view), True)
        press("PageUp")
        press("PageUp")
        expect("the active row is in view after PageUp", tab.evaluate(in_view), True)
        tab.go_back()
        expect_no_complaints(tab)


def filters(program, context):
    """The filters count and select, each view has an address, and links lead to a Service."""
    with closing(Files(program, many(50))) as page:
        tab = opened(context, page.link("team-9/service-00019"))
        see(tab.locator("#report")).to_contain_text("service-00019-0")
        until(tab, "the row of the link is active", f"() => ({ACTIVE})() === 'team-9/service-00019'")
        counts = tab.evaluate("() => Object.fromEntries([...document.querySelectorAll('[data-count]')].map((n) => [n.dataset.count, +n.textContent]))")
        expect("counts", counts, {"all": 50, "attention": 10, "none": 10, "wrong": 5, "lagging": 0, "unknown": 0})
        for name, number in counts.items():
            tab.locator(f"#shows label:has([value={name}])").click()
            until(tab, "the number of rows", f"() => ({COUNT})() === {number}")
            see(tab.locator("#nothing")).to_be_visible(visible=number == 0)
        tab.locator("#shows label:has([value=none])").click()
        tab.get_by_role("button", name="Close").click()
        tab.select_option("#namespace", "team-8")
        until(tab, "the number of rows", f"() => ({COUNT})() === 5")
        address = tab.url
        tab.locator("#overview").get_by_role("button", name="not-ready").click()
        see(tab.locator("#code-word")).to_have_text("not-ready")
        # The same address shows the same again.
        token = page.page.token
        go(tab, f"{address}&token={token}")
        expect("Services of the address", shown(tab), 5)
        empty = "() => /null|undefined|NaN|object Object/.exec(document.body.innerText)?.[0] ?? ''"
        expect("values that are none", tab.evaluate(empty), "")
        go(tab, page.link("team-9/nothing"))
        see(tab.locator("#report")).to_have_text("There is no Service team-9/nothing.")


def hostile_names(program, context):
    """Markup in names, labels and conditions is text, everywhere."""
    with closing(Files(program, hostile())) as page:
        tab = opened(context, page.link())
        see(row(tab, HOSTILE)).to_be_visible()
        tab.keyboard.press("/")
        tab.keyboard.press("ArrowDown")
        tab.keyboard.press("Enter")
        report = tab.locator("#report")
        for part in (f"{HOSTILE}-0", "<u>other</u>", "<s>slice</s>", "<i>node</i>", "<em>port</em>", "<script>alert(1)</script>"):
            see(report).to_contain_text(part)
        see(tab.locator("#detail-title")).to_have_text(f"<b>shop</b>/{HOSTILE}")
        made = "() => document.querySelectorAll('main :is(img, script, u, s, em, object, iframe)').length"
        expect("elements made of data", tab.evaluate(made), 0)
        tab.fill("#words", "<img")
        see(row(tab, HOSTILE)).to_be_visible()
        tab.get_by_role("link", name="Changes").click()
        tab.get_by_label("at", exact=True).fill("2026-01-01 00:00")
        tab.get_by_role("button", name="Show", exact=True).click()
        see(tab.locator("#changes-sum")).to_contain_text("change")
        expect("elements made of data", tab.evaluate(made), 0)
        command = tab.evaluate("""async () => (await import("./command.js")).commands("<b>shop</b>", "a'; reboot '")[0].text""")
        expect("a command", command, r"kubectl endpoints explain 'a'\''; reboot '\''' -n '<b>shop</b>'")
        expect_no_complaints(tab)


def zones(pods):
    """A Service with so many pods in three zones, as dumps have it before any controller."""
    made = service("big", namespace="default", ipFamilies=["IPv4"], clusterIP="10.96.0.1", clusterIPs=["10.96.0.1"],
                   trafficDistribution="PreferSameZone")
    found = [node(f"node-{zone}{index}", zone) for zone in "abc" for index in range(10)] + [made]
    for index in range(pods):
        found.append(pod(f"big-{index:04}", {"app": "big"}, f"10.1.{index >> 8}.{index & 255}", index % 50 != 7,
                         node=f"node-{'abc'[index % 3]}{index // 3 % 10}"))
    return found
