"""A page of headless Chromium, driven by the DevTools protocol over two pipes, with Python's own library alone."""

import base64
import fcntl
import json
import os
import re
import select
import subprocess
import tempfile
import time

FLAGS = [
    "--headless",
    "--remote-debugging-pipe",
    # Root can't have a sandbox, and the pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--force-color-profile=srgb",
    "about:blank",
]
# For anything that should take a fraction of a second: a slow machine is no failure.
LIMIT = 30
KEYS = {
    "ArrowDown": 40, "ArrowUp": 38, "End": 35, "Enter": 13, "Escape": 27, "Home": 36, "PageDown": 34, "PageUp": 33,
    "Tab": 9, "/": 191, " ": 32,
}


class Failure(Exception):
    """A check that failed, or a page that doesn't do what it is told."""


class Browser:
    """A browser with one page."""

    def __init__(self, program):
        to_browser, from_us = os.pipe()
        to_us, from_browser = os.pipe()
        # The browser reads commands from 3 and writes answers to 4.
        reads, writes = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_browser, from_browser))
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.log = tempfile.TemporaryFile()
        script = f'exec "$0" "$@" 3<&{reads} 4>&{writes}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, program, *FLAGS, f"--user-data-dir={self.profile.name}"],
            pass_fds=(reads, writes), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
        )
        for fd in (to_browser, from_browser, reads, writes):
            os.close(fd)
        self.write, self.read = from_us, to_us
        self.buffer, self.events, self.number, self.session = b"", [], 0, None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility", "DOM"):
            self.send(f"{domain}.enable")

    def close(self):
        # It ends its other processes, which would still write to the profile.
        self.session = None
        try:
            self.send("Browser.close")
            self.process.wait(LIMIT)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.profile.cleanup()

    def send(self, method, **params):
        """Sends a command and returns its result."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        deadline = time.monotonic() + 2 * LIMIT
        while True:
            message = self._message(deadline)
            if message is None:
                raise Failure(f"{method}: no answer from the browser: {self._last_words()}")
            if message.get("id") == self.number:
                if "error" in message:
                    raise Failure(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def _message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, deadline - time.monotonic()))[0]:
                return None
            chunk = os.read(self.read, 1 << 20)
            if not chunk:
                return None
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _last_words(self):
        self.log.seek(0)
        return self.log.read()[-2000:].decode(errors="replace")

    def run(self, script, *arguments):
        """The value of a JavaScript function of these arguments, which may be a promise."""
        listed = ", ".join(json.dumps(argument) for argument in arguments)
        answer = self.send("Runtime.evaluate", expression=f"({script})({listed})", awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, what, script, *arguments):
        """Waits until a function is true, looking at every frame, and returns its value."""
        listed = ", ".join(json.dumps(argument) for argument in arguments)
        poll = f"""() => new Promise((resolve, reject) => {{
            const end = performance.now() + {LIMIT * 1000};
            const look = () => {{
                const found = ({script})({listed});
                if (found) resolve(found);
                else if (performance.now() > end) resolve(null);
                else requestAnimationFrame(look);
            }};
            look();
        }})"""
        found = self.run(poll)
        if not found:
            raise Failure(f"not within {LIMIT} s: {what}")
        return found

    def open(self, url):
        """Opens an address in place of the page, and waits until its scripts have run, which take a token out of it."""
        # Another fragment alone would not load the page again.
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=url)
        shown = re.sub("&?token=[0-9a-f]+$", "", url)
        self.wait("the page is loaded", "(url) => location.href === url && document.readyState === 'complete'", shown)

    def key(self, key):
        """Presses and releases a key."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        params = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        if text:
            params["text"] = text
        self.send("Input.dispatchKeyEvent", type="keyDown", **params)
        self.send("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def media(self, **features):
        """Sets what the page learns of the user's wishes, such as prefers_color_scheme="dark"."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=listed)

    def size(self, width, height, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def picture(self):
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def complaints(self):
        """Errors that the browser has reported since the page was opened: of scripts, requests and the policy."""
        self.run("() => null")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(" ".join(str(value.get("value")) for value in params["args"]))
        return found
