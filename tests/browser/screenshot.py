#!/usr/bin/env python3
"""screenshot.py REPORT.html PICTURE.png [WIDTH [HEIGHT [light|dark]]]

A picture of the top of a report, for the documentation. WIDTH is 1200 unless given; without a HEIGHT
the whole page is taken."""
import base64
import pathlib
import sys

import browser


def main(report, picture, width="1200", height="0", scheme="light"):
    program = browser.find_program()
    if program is None:
        sys.exit("screenshot: no Chromium on this machine")
    with browser.Browser(program) as page:
        page.call("Page.enable")
        page.emulate(scheme)
        page.resize(int(width), int(height) or 900)
        page.open(pathlib.Path(report).resolve().as_uri())
        taken = page.call("Page.captureScreenshot", captureBeyondViewport=not int(height))
    pathlib.Path(picture).write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
