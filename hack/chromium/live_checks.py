"""The page on a cluster that changes."""

import json
import time
from contextlib import closing

from playwright.sync_api import expect as see

from objects import items, many, node, pod, service
from servers import Failure, Page, Program, RealCluster, Simulation, assets, free_ports
from support import Files, expect, expect_no_complaints, go, opened, row, shown, until

CORE = "/api/v1/namespaces/default"
# The time of the page's own clock at which a row first had a text.
WHEN = """([name, text]) => {
    const row = [...document.querySelectorAll("#rows .row")].find((row) => row.querySelector("b").textContent === name);
    return row?.textContent.includes(text) && Date.now();
}"""


def start_pod(cluster, name, labels, ip, is_ready=True, on="node-1"):
    """Creates a pod, and its status, which is another request."""
    made = pod(name, labels, ip, is_ready, node=on)
    status = made.pop("status")
    cluster.create(f"{CORE}/pods", made)
    cluster.patch(f"{CORE}/pods/{name}/status", {"status": status})


def changes_on(cluster, program, context):
    """A pod becomes ready, and the row, the report and the timeline change. Returns milliseconds of several changes."""
    cluster.create("/api/v1/nodes", node("node-1"))
    cluster.create(f"{CORE}/services", service("web"))
    start_pod(cluster, "web-0", {"app": "web"}, "10.1.0.1", False)
    with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
        tab = opened(context, page.link("default/web"))
        see(tab.locator("#connection")).to_have_attribute("data-state", "live")
        milliseconds = []
        for is_ready in [True, False, True, False, True]:
            start = time.time()
            cluster.set_ready("web-0", is_ready)
            seen = until(tab, "the row", WHEN, ["web", "1 of 1" if is_ready else "0 of 1"])
            milliseconds.append(round(seen - start * 1000))
            see(tab.locator(".headline")).to_contain_text("The only pod gets traffic." if is_ready else "No traffic")
        happened = tab.locator(".timeline")
        see(happened).to_contain_text("web-0 became not ready")
        see(happened).to_contain_text("after the change")
        # What is new in the cluster, and what is gone.
        cluster.create(f"{CORE}/services", service("another"))
        see(row(tab, "another")).to_be_visible()
        cluster.delete(f"{CORE}/services/another")
        see(row(tab, "another")).to_have_count(0)
        expect_no_complaints(tab)
        expect("exit code after SIGINT", page.interrupt(), 0)
    # Generous: the batch period of controllers and a slow machine are in it.
    if min(milliseconds) >= 1000:
        raise Failure(f"the row changes after {milliseconds} ms")
    return f"{sorted(milliseconds)[len(milliseconds) // 2]} ms from the request to the row (of {milliseconds})"


def live(program, context):
    """A change of a pod is seen within a second, on `simulate --serve`."""
    with closing(Simulation(program)) as cluster:
        return changes_on(cluster, program, context)


def real(program, context):
    """The same on kube-apiserver."""
    folder = assets()
    if folder is None:
        return "NOT DONE: KUBEBUILDER_ASSETS names no servers"
    with closing(RealCluster(program, folder)) as cluster:
        outcome = changes_on(cluster, program, context)
        restarted(cluster, program, context)
        return outcome


def restarted(cluster, program, context):
    """Controllers that were started again go on, and the page shows that they have changed nothing."""
    with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
        tab = opened(context, page.link("default/web"))
        see(row(tab, "web")).to_contain_text("1 of 1")
        happened = tab.locator(".timeline").inner_text
        before = happened()
        cluster.restart_controllers()
        cluster.create(f"{CORE}/services", service("later"))
        see(row(tab, "later")).to_contain_text("in sync")
        expect("what happened to web", happened(), before)
        cluster.set_ready("web-0", False)
        see(row(tab, "web")).to_contain_text("0 of 1")
        # No kubelet ends it here.
        cluster.set_ready("web-0", True)
        see(row(tab, "web")).to_contain_text("1 of 1")
        cluster.terminate("web-0")
        see(tab.locator(".dot[data-name=web-0]")).to_have_attribute("data-state", "serving")
        see(tab.locator(".headline")).to_contain_text("1 that is being deleted still gets traffic")
        cluster.end("web-0")
        see(tab.locator(".timeline")).to_contain_text("web-0 was deleted")
        expect_no_complaints(tab)


def story(program, context):
    """The story of hack/demo: Services without pods, pods that come, fail and go, custom Endpoints, more than a slice holds."""
    with closing(Simulation(program)) as cluster:
        zones = {"ash": "east", "birch": "middle", "cedar": "west"}
        for name, zone in zones.items():
            cluster.create("/api/v1/nodes", node(name, zone))
        cluster.create(f"{CORE}/services", service("web"))
        with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
            tab = opened(context, page.link("default/web"))
            headline, happened, dots = tab.locator(".headline"), tab.locator(".timeline"), tab.locator("#report .picture > .scroller .dot")
            see(headline).to_contain_text("No traffic: no pod in namespace default")
            for index, on in enumerate(zones):
                start_pod(cluster, f"web-{index}", {"app": "web"}, f"10.1.0.{index + 1}", on=on)
            see(headline).to_contain_text("All 3 pods get traffic.")
            for zone in zones.values():
                see(tab.locator(".lane .title", has_text=f"zone {zone}")).to_be_visible()
            see(happened).to_contain_text("has a ready endpoint")
            cluster.set_ready("web-1", False)
            see(headline).to_contain_text("2 of 3 pods get traffic.")
            see(tab.locator(".dot[data-name=web-1]")).to_have_attribute("data-state", "notReady")
            cluster.delete(f"{CORE}/pods/web-2")
            see(happened).to_contain_text("web-2 was deleted")
            cluster.set_ready("web-1", True)
            see(headline).to_contain_text("All 2 pods get traffic.")
            # A Service without a selector: its user writes the Endpoints, and they are mirrored.
            archive = service("archive")
            del archive["spec"]["selector"]
            cluster.create(f"{CORE}/services", archive)
            subsets = [{"addresses": [{"ip": "192.0.2.20"}], "ports": [{"name": "http", "port": 8443}]}]
            cluster.create(f"{CORE}/endpoints", {
                "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "archive"}, "subsets": subsets})
            see(row(tab, "archive")).to_contain_text("1 of 1")
            for index in range(3, 121):
                start_pod(cluster, f"web-{index}", {"app": "web"}, f"10.1.1.{index}", on=list(zones)[index % 3])
            see(headline).to_contain_text("All 120 pods get traffic.")
            see(dots).to_have_count(120)
            see(tab.locator(".picture .slice")).to_have_count(2)
            # What happened to all, in one place.
            tab.get_by_role("link", name="Changes").click()
            tab.get_by_role("button", name="last minute").click()
            see(tab.locator("#happened")).to_contain_text("default/web")
            see(tab.locator("#changes-sum")).to_contain_text("changes,")
            expect_no_complaints(tab)
            return f"{tab.locator('#happened li').count()} entries shown of the last minute"


def partition(program, context):
    """A zone whose nodes fail is named, and so is a control plane that is away."""
    with closing(Simulation(program)) as cluster:
        cluster.create(f"{CORE}/services", service("web"))
        for index, zone in enumerate("aaaaabb"):
            cluster.create("/api/v1/nodes", node(f"node-{index}", zone))
            start_pod(cluster, f"web-{index}", {"app": "web"}, f"10.1.0.{index + 1}", on=f"node-{index}")
        with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
            tab = opened(context, page.link())
            see(row(tab, "web")).to_contain_text("7 of 7")
            see(tab.locator("#banner")).to_be_hidden()
            failed = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
            for index in (5, 6):
                cluster.patch(f"/api/v1/nodes/node-{index}/status", failed)
                cluster.set_ready(f"web-{index}", False)
            see(tab.locator("#banner")).to_have_text("Zone b: 2 of 2 nodes not ready")
            see(row(tab, "web")).to_contain_text("5 of 7")
            see(tab.locator(".zones li", has_text="b")).to_contain_text("2 of 2 nodes down")
            expect_no_complaints(tab)
            cluster.server.close()
            see(tab.locator("#connection")).to_have_attribute("data-state", "stale")
            see(tab.locator("#connection")).to_contain_text("Cannot watch")
            see(row(tab, "web")).to_contain_text("5 of 7")


def reconnect(program, context):
    """A page whose program is gone or was started again says so, and the new address has the new state."""
    (port,) = free_ports(1)
    listen = f"--listen=127.0.0.1:{port}"
    with closing(Files(program, many(10), listen)) as page:
        tab = opened(context, page.link())
        expect("rows", shown(tab), 10)
    state = tab.locator("#connection")
    see(state).to_have_attribute("data-state", "lost")
    expect("rows stay", shown(tab), 10)
    with closing(Files(program, items([service("after", ipFamilies=["IPv4"])]), listen)) as page:
        see(state).to_have_attribute("data-state", "refused")
        # The token may be written instead of opened.
        tab.get_by_label("enter a token").fill(page.page.token)
        tab.get_by_role("button", name="Continue").click()
        see(row(tab, "after")).to_be_visible()
        see(state).to_have_attribute("data-state", "fixed")


def shared(program, context):
    """The page for the users of a cluster asks for a token, and the API server decides about it."""
    folder = assets()
    if folder is None:
        return "NOT DONE: KUBEBUILDER_ASSETS names no servers"
    with closing(RealCluster(program, folder)) as cluster:
        cluster.create(f"{CORE}/services", service("web"))
        (port,) = free_ports(1)
        words = ["-A", f"--kubeconfig={cluster.kubeconfig}", "--shared", f"--listen=127.0.0.1:{port}"]
        with closing(Program([program, "explain", "--serve", *words])) as page:
            address = page.line()
            expect("the address", address, f"https://127.0.0.1:{port}/endpoints/")
            other = context.browser.new_context(ignore_https_errors=True)
            tab = other.new_page()
            tab.goto(address)
            for token in ("of nobody", cluster.token):
                see(tab.locator("#connection")).to_have_attribute("data-state", "refused")
                tab.get_by_label("enter a token").fill(token)
                with tab.expect_navigation():
                    tab.get_by_role("button", name="Continue").click()
            see(tab.locator("#connection")).to_have_attribute("data-state", "live")
            see(row(tab, "web")).to_be_visible()
            tab.goto(f"{address}#default/web")
            see(tab.locator(".headline")).to_contain_text("No traffic")
            other.close()
            expect("exit code after SIGINT", page.interrupt(), 0)


def walk(program, context):
    """Three questions of an incident, each from a cold page."""
    took = {}
    with closing(Simulation(program)) as cluster:
        cluster.create("/api/v1/nodes", node("node-1"))
        # The name of one is the beginning of another's, which needs attention too.
        for name, app in [("web", "website"), ("api", "api"), ("db", "db"), ("webhook", "webhook")]:
            cluster.create(f"{CORE}/services", service(name, {"app": app}))
        start_pod(cluster, "api-0", {"app": "api"}, "10.244.3.8")
        start_pod(cluster, "web-0", {"app": "webiste"}, "10.244.3.9")
        with closing(Page(program, "-A", f"--kubeconfig={cluster.kubeconfig}")) as page:
            tab = opened(context, page.link())
            see(row(tab, "api")).to_contain_text("1 of 1")
            # The simulated kubelet may have given it another one.
            address = cluster.request("GET", f"{CORE}/pods/api-0")["status"]["podIP"]
            cluster.set_ready("api-0", False)
            at = tab.evaluate("() => new Date().toTimeString().slice(0, 5)")
            see(row(tab, "api")).to_contain_text("0 of 1")

            def ask(question, text, answer, contains):
                start = time.monotonic()
                go(tab, page.link())
                tab.keyboard.press("/")
                tab.keyboard.type(text)
                see(tab.locator(answer[0])).to_contain_text(answer[1])
                tab.keyboard.press("Enter")
                see(tab.locator(contains[0])).to_contain_text(contains[1])
                took[question] = time.monotonic() - start

            ask("why does web get no traffic", "web", ("#rows", "web"), (".headline", "the selector wants app=website, and the pod has app=webiste"))
            ask(f"which Service has {address}", address, ("#rows", f"pod api-0 {address}"), ("#detail-title", "default/api"))
            ask(f"what happened at {at}", at, ("#matches", "What happened at"), ("#happened", "api-0 became not ready"))
            expect_no_complaints(tab)
    if max(took.values()) > 20:
        raise Failure(json.dumps(took))
    return ", ".join(f"{question}: {seconds:.1f} s" for question, seconds in took.items())
