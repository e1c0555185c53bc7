#!/usr/bin/env python3
"""checks: the page of `explain --serve` in headless Chromium, driven by Playwright. hack/chromium/browser runs it.

Usage: checks.py PROGRAM CHROMIUM [CHECK...]

Without names, all checks run. KUBEBUILDER_ASSETS names the folder with etcd and kube-apiserver for the check on them.
"""

import sys
import time

from playwright.sync_api import Error
from playwright.sync_api import expect as see

from live_checks import live, partition, real, reconnect, shared, story, walk
from list_checks import churn, filters, hostile_names, keyboard, many_services
from picture_checks import picture, thousand
from rules_checks import accessibility, contrast, policy, sizes
from servers import LIMIT, Failure
from support import browser

CHECKS = [
    live, real, story, partition, walk, reconnect, shared, many_services, churn, keyboard, filters, hostile_names, picture, thousand, contrast,
    accessibility, sizes, policy,
]


def main():
    program, chromium, *names = sys.argv[1:]
    chosen = [check for check in CHECKS if not names or check.__name__ in names]
    failures = 0
    see.set_options(timeout=LIMIT * 1000)
    with browser(chromium) as started:
        for check in chosen:
            start = time.monotonic()
            context = started.new_context(viewport={"width": 1280, "height": 800})
            context.set_default_timeout(LIMIT * 1000)
            try:
                outcome = check(program, context) or "as it should be"
            except (Failure, AssertionError, Error, OSError) as failure:
                outcome = f"FAILED: {failure}"
                failures += 1
            finally:
                context.close()
            print(f"{check.__name__}: {outcome} ({time.monotonic() - start:.1f} s)", flush=True)
    sys.exit(1 if failures or not chosen else 0)


if __name__ == "__main__":
    main()
