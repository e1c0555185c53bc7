"""What holds for every page: contrast, the accessibility tree, sizes, and the policy."""

import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect as see

from objects import many
from screenshots import settled, shop
from servers import Failure
from support import Files, expect, expect_no_complaints, go, opened, row, until

CONTRAST = (Path(__file__).resolve().parent / "contrast.js").read_text().split("\n", 1)[1].rstrip().rstrip(";")
VIEWS = {"the list": "", "a Service": "shop/checkout", "what happened": "/changes?from=-3600"}


def views(tab, page):
    """Each view of the page, one after the other."""
    for name, address in VIEWS.items():
        go(tab, page.link(address))
        if address.startswith("shop"):
            see(tab.locator("#report table").first).to_be_visible()
        yield name


def contrast(program, context):
    """Texts, borders and the focus can be seen, dark and light, whatever the system has."""
    figures, papers = [], set()
    with closing(Files(program, settled(program, shop(), lost="orders"))) as page:
        tab = opened(context, page.link())
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            for name in views(tab, page):
                tab.locator("#words").focus()
                judged = tab.evaluate(CONTRAST)
                if judged["found"]:
                    raise Failure(f"{name}, {scheme}: " + "; ".join(judged["found"][:8]))
                figures.append(judged["lowest"])
                papers.add(judged["paper"])
        expect("backgrounds of both", len(papers), 2)
        # The choice of the user is kept.
        tab.emulate_media(color_scheme="light")
        for _ in range(2):
            tab.locator("#theme").click()
        see(tab.locator("#theme-word")).to_have_text("dark")
        go(tab, page.link())
        see(tab.locator("#theme-word")).to_have_text("dark")
        tab.locator("#theme").click()
        still = """() => {
            const row = document.querySelector("#rows .row");
            row.classList.add("changed");
            return row.getAnimations().length;
        }"""
        tab.emulate_media(reduced_motion="reduce")
        expect("animations for users who want none", tab.evaluate(still), 0)
        tab.emulate_media(reduced_motion="no-preference")
        expect("animations for others", tab.evaluate(still), 1)
    return f"at least {min(figures):.1f}"


def accessibility(program, context):
    """The rules of axe-core (WCAG 2.2 A and AA), and a tree with roles, names and places of what is on the page."""
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    checked = 0
    with closing(Files(program, settled(program, shop(), lost="orders"))) as page:
        tab = opened(context, page.link())
        for width, height in [(360, 740), (1280, 800)]:
            tab.set_viewport_size({"width": width, "height": height})
            for name in views(tab, page):
                found = Axe().run(tab, options=rules).response
                checked += len(found["passes"])
                if found["violations"]:
                    raise Failure(f"{name} at {width}: " + "; ".join(
                        f"{it['id']}: {it['nodes'][0]['html'][:160]}" for it in found["violations"]))
        go(tab, page.link("shop/checkout"))
        see(tab.locator("#report table").first).to_be_visible()
        for role, name in [
            ("heading", "Endpoints"), ("grid", "Services"), ("search", "Services"), ("searchbox", "Find Services"),
            ("region", "shop/checkout"), ("heading", "shop/checkout"), ("radio", "Need attention"), ("combobox", "Namespace"),
            ("columnheader", "Why"), ("table", "Endpoints by zone"), ("rowheader", "checkout-0"), ("button", "Close"),
            ("figure", "Pods, slices and clients"), ("main", None), ("banner", None), ("navigation", "Views"),
        ]:
            if tab.get_by_role(role, name=name).count() == 0:
                raise Failure(f"the tree has no {role} named {name!r}")
        see(row(tab, "orders")).to_contain_text("wrong slices: ")
        places = tab.evaluate("""() => {
            const grid = document.getElementById("services");
            const rows = [...grid.querySelectorAll(".body .row")];
            return {
                active: document.getElementById(grid.getAttribute("aria-activedescendant"))?.dataset.key,
                wrong: rows.filter((row) => +row.getAttribute("aria-rowindex") !== Math.round(new DOMMatrix(row.style.transform).f / 40) + 2).length,
                selected: rows.filter((row) => row.getAttribute("aria-selected") === "true").map((row) => row.dataset.key),
                cells: rows.every((row) => [...row.children].every((cell) => cell.getAttribute("role") === "gridcell")),
            };
        }""")
        expect("places", places, {"active": "shop/checkout", "wrong": 0, "selected": ["shop/checkout"], "cells": True})
        # Results of the filter are told, after a moment, once.
        tab.evaluate("""() => {
            window.told = [];
            const node = document.getElementById("announcer");
            new MutationObserver(() => window.told.push(node.textContent)).observe(node, { childList: true, characterData: true, subtree: true });
        }""")
        tab.locator("#words").press_sequentially("monitoring/")
        until(tab, "the number of results is told", "() => window.told.length > 0")
        expect("told", tab.evaluate("() => window.told"), ["3 Services"])
    return f"{checked} rules of axe-core passed, over {len(VIEWS)} views, on a phone and on a desktop"


def sizes(program, context):
    """A phone, 200 % zoom, and a large screen: nothing is cut off or scrolls sideways."""
    with closing(Files(program, settled(program, shop()))) as page:
        tab = opened(context, page.link())
        # A desktop of 1280 by 800 at 200 % is as 640 by 400.
        for width, height in [(360, 740), (640, 400), (1024, 768), (1920, 1080)]:
            tab.set_viewport_size({"width": width, "height": height})
            go(tab, page.link())
            see(row(tab, "cart").locator(".why")).to_be_visible()
            for name in views(tab, page):
                wide = tab.evaluate("() => document.documentElement.scrollWidth")
                if wide > width:
                    raise Failure(f"{name} at {width}: {wide} pixels wide")
                outside = tab.evaluate("""() => [...document.querySelectorAll("header *, #filters *, .headline, .tools *")]
                    .filter((node) => node.checkVisibility() && !node.closest(".unseen, option, select, #connection") && node.getBoundingClientRect().right > innerWidth + 1)
                    .map((node) => node.outerHTML.slice(0, 80))""")
                if outside:
                    raise Failure(f"{name} at {width}: {outside[:3]}")


def policy(program, context):
    """The policy forbids what the page doesn't need, other names of this machine are refused, and nothing else is asked."""
    with closing(Files(program, many(1))) as page:
        asked = []
        context.on("request", lambda request: asked.append(request.url))
        tab = opened(context, page.link())
        see(row(tab, "service-00000")).to_be_visible()
        expect_no_complaints(tab)
        others = [url for url in asked if not url.startswith(page.url) and url != "about:blank"]
        expect("requests to others", others, [])
        violations = tab.evaluate("""async () => {
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
            for path in ("services", "search?q=web", "timeline", "services/team-0/service-00000/view"):
                request = urllib.request.Request(f"{page.url}api/{path}", headers=headers)
                try:
                    urllib.request.urlopen(request, timeout=10)
                except urllib.error.HTTPError as error:
                    expect(f"answer to a request with {what}", error.code, code)
                else:
                    raise Failure(f"a request with {what} is answered")
