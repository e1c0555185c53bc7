"""The picture of a Service, and what it is made of."""

from contextlib import closing

from playwright.sync_api import expect as see

from list_checks import zones
from objects import later
from screenshots import settled, shop
from servers import Failure
from support import Files, expect, expect_no_complaints, go, opened

# How long a view takes to draw, and the frames while a pointer wanders over its pods.
DRAW = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const picture = document.querySelector(".picture");
    const dots = [...picture.querySelectorAll("svg .dot[data-name]")];
    const frames = [];
    let last = await frame();
    for (let index = 0; index < dots.length; index += Math.ceil(dots.length / 60)) {
        dots[index].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
        const now = await frame();
        frames.push(now - last);
        last = now;
    }
    frames.sort((a, b) => a - b);
    return { dots: dots.length, flows: picture.querySelectorAll(".flow").length, p95: frames[Math.floor(frames.length * 0.95)] };
}"""


def thousand(program, context):
    """1,000 endpoints of a Service are drawn, each once, and followed by the pointer without delay."""
    with closing(Files(program, settled(program, [*zones(1000), later()]))) as page:
        tab = opened(context, page.link("default/big"))
        see(tab.locator(".headline")).to_contain_text("980 of 1000 pods get traffic.")
        drawn = tab.evaluate(DRAW)
        expect("dots", drawn["dots"], 1000)
        see(tab.locator(".picture .slice")).to_have_count(10)
        see(tab.locator(".picture .client")).to_have_count(3)
        again = tab.evaluate("""async () => {
            const { Picture } = await import("./picture.js");
            const answer = await fetch("api/services/default/big/view", { headers: { Authorization: `Bearer ${sessionStorage.getItem("token")}` } });
            const view = await answer.json();
            const picture = new Picture(() => {});
            document.querySelector("#report").append(picture.node);
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            const start = performance.now();
            picture.show(view);
            picture.node.getBoundingClientRect();
            const took = performance.now() - start;
            picture.node.remove();
            return took;
        }""")
        expect_no_complaints(tab)
        if again > 1000:
            raise Failure(f"the picture takes {again:.0f} ms")
        return f"drawn in {again:.0f} ms with {drawn['flows']} flows; 95 % of frames within {drawn['p95']:.0f} ms"


def picture(program, context):
    """The picture says who uses which endpoint, and what is wrong stands out from what is desired."""
    with closing(Files(program, settled(program, shop(), lost="orders"))) as page:
        tab = opened(context, page.link("shop/checkout"))
        states = "() => Object.fromEntries([...document.querySelectorAll('#report .dot[data-name]')].map((dot) => [dot.dataset.name, dot.dataset.state]))"
        see(tab.locator(".headline")).to_contain_text("pods get traffic")
        found = tab.evaluate(states)
        if "notReady" not in found.values() or "ready" not in found.values():
            raise Failure(f"states: {found}")
        table = tab.get_by_role("table", name="Endpoints by zone")
        expect("rows of the table for screen readers", table.get_by_role("row").count(), 4)
        name = next(name for name, state in found.items() if state == "ready")
        tab.locator(f"#report .dot[data-name='{name}']").hover()
        see(tab.locator(".inspector")).to_contain_text(f"{name} · 10.244.")
        dimmed = tab.evaluate("() => [document.querySelectorAll('.flow.dim').length, document.querySelectorAll('.flow').length]")
        if not 0 < dimmed[0] < dimmed[1]:
            raise Failure(f"flows that do not carry it: {dimmed}")
        tab.locator(f"#report .dot[data-name='{name}']").click()
        see(tab.locator("tr.chosen")).to_contain_text(name)
        go(tab, page.link("shop/orders"))
        see(tab.locator(".differences")).to_contain_text("ready")
        see(tab.locator(".differences td.desired").first).to_be_visible()
        see(tab.locator("#report .dot[data-verdict=wrong]").first).to_be_visible()
        go(tab, page.link("shop/cart"))
        see(tab.locator("#report")).to_contain_text("missed by the selector")
        expect_no_complaints(tab)
