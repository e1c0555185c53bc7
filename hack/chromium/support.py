"""What checks and screenshots share: the browser, pages about files, and words about what is wrong."""

import json
import re
import tempfile
from contextlib import contextmanager

from playwright.sync_api import sync_playwright

from servers import LIMIT, Failure, Page

# A row of the list, by the name of its Service.
ROW = "#rows .row:has(b:text-is({}))"


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found!r} instead of {expected!r}")


@contextmanager
def written(dump):
    """The name of a file with a dump."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(dump, file)
        file.flush()
        yield file.name


class Files:
    """A page about a dump."""

    def __init__(self, program, dump, *words):
        with written(dump) as file:
            self.page = Page(program, "-f", file, *words)
        self.url, self.link, self.close = self.page.url, self.page.link, self.page.close


@contextmanager
def browser(chromium):
    """A browser that is installed: none is fetched."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium)
        try:
            yield started
        finally:
            started.close()


def opened(context, url):
    """A tab at an address, whose complaints are kept: errors of scripts, of requests and of the policy."""
    tab = context.new_page()
    tab.complaints = []
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.on("console", lambda message: message.type in ("error", "warning") and tab.complaints.append(message.text))
    go(tab, url)
    return tab


def go(tab, url):
    """Opens an address anew, also if only its fragment is another, and waits until the list is there."""
    tab.goto("about:blank")
    tab.complaints.clear()
    tab.goto(url)
    until(tab, "the list", "() => document.getElementById('connection').dataset.state !== 'connecting'")
    if "token=" in tab.url:
        raise Failure(f"the token stays in the address: {re.sub('token=.*', 'token=…', tab.url)}")


def until(tab, what, script, argument=None):
    """Waits until a function of the page is true, looking at every frame, and returns its value. Playwright's own way evaluates
    text in the page, which the policy forbids."""
    poll = f"""(argument) => new Promise((resolve) => {{
        const end = performance.now() + {LIMIT * 1000};
        const look = () => {{
            const found = ({script})(argument);
            if (found || performance.now() > end) resolve(found);
            else requestAnimationFrame(look);
        }};
        look();
    }})"""
    found = tab.evaluate(poll, argument)
    if not found:
        raise Failure(f"not within {LIMIT} s: {what}")
    return found


def expect_no_complaints(tab):
    if tab.complaints:
        raise Failure("the browser complains: " + "; ".join(tab.complaints))


def row(tab, name):
    """The row of a Service."""
    return tab.locator(ROW.format(json.dumps(name)))


def shown(tab):
    """The number of Services that the list has."""
    return int(tab.get_attribute("#services", "aria-rowcount")) - 1
