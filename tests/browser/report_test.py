#!/usr/bin/env python3
"""Opens the reports of the golden results in a real browser.

    report_test.py --render PROGRAM --golden FOLDER [--screenshots FOLDER]

Ends with 77 (skipped) when there is no Chromium; the reason is printed. --screenshots also leaves
pictures and the printed pages there, for people to look at."""
import argparse
import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import browser

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
CHECKS = (HERE / "page_checks.js").read_text(encoding="utf-8")
NAMES = ("example", "hard", "crashed", "minimal")
LIGHT_ACCENT, DARK_ACCENT = "31,95,191", "120,170,255"
OPTIONS = None


def expected_charts(result):
    """How many charts a result has figures for."""
    rows = result["performance"]
    count = 2 if any(row["qps"] or row["latency_ns"]["p50"] for row in rows) else 0
    count += sum(bool(row["latency_over_time"]) + bool(row["latency_histogram"]) for row in rows)
    for output in result["numeric"]:
        if not output["identical"]:
            count += sum(bool(histogram["counts"]) for histogram in output["histograms"].values())
    return count


def ungrouped(text):
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


class ReportTest(unittest.TestCase):
    """Each test looks at every golden report."""

    maxDiff = 2000
    shown = ""  # the report that is open, for messages

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="assay-report-")
        cls.results = {}
        for name in NAMES:
            source = OPTIONS.golden / f"result-{name}.json"
            cls.results[name] = json.loads(source.read_text(encoding="utf-8"))
            subprocess.run([OPTIONS.render, source, cls.path(name)], check=True)
        cls.browser = browser.Browser(browser.find_program())
        for domain in ("Page", "Runtime", "Log", "Network"):
            cls.browser.call(f"{domain}.enable")

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return pathlib.Path(cls.folder.name) / f"{name}.html"

    def reports(self, width=1200, scheme="light"):
        """Opens one report after another, of this width and colour scheme."""
        for self.shown in NAMES:
            self.browser.emulate(scheme)
            self.browser.resize(width)
            self.browser.open(self.path(self.shown).as_uri())
            self.browser.evaluate(CHECKS)
            yield self.shown, self.results[self.shown]

    def _formatMessage(self, msg, standardMsg):  # pylint: disable=invalid-name
        return super()._formatMessage(f"{self.shown}: {msg or ''}", standardMsg)

    def complaints(self, expression):
        return self.browser.evaluate(f"pageChecks.{expression}")

    def test_nothing_goes_wrong_and_nothing_is_fetched(self):
        for name, _ in self.reports():
            for event in self.browser.events:
                kind, params = event["method"], event["params"]
                self.assertNotIn(kind, ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"),
                                 params)
                if kind == "Log.entryAdded":
                    self.assertNotIn(params["entry"]["level"], ("error", "warning"), params)
                if kind == "Runtime.consoleAPICalled":
                    self.assertNotIn(params["type"], ("error", "warning", "assert"), params)
                if kind == "Network.requestWillBeSent":
                    url = params["request"]["url"]
                    self.assertTrue(url == self.path(name).as_uri() or url.startswith("data:"), url)

    def test_every_chart_is_drawn(self):
        for _, result in self.reports():
            count = self.browser.evaluate("document.querySelectorAll('[data-chart]').length")
            self.assertEqual(count, expected_charts(result))
            self.assertEqual(self.complaints("charts()"), [])

    def test_charts_are_drawn_again_in_the_dark_and_on_paper(self):
        for _, result in self.reports():
            count = expected_charts(result)
            self.assertEqual(self.complaints(f"chartsWithColor('{LIGHT_ACCENT}')"), count)
            self.browser.emulate("dark")
            self.assertEqual(self.complaints("charts()"), [])
            self.assertEqual(self.complaints(f"chartsWithColor('{DARK_ACCENT}')"), count)
            self.browser.evaluate("dispatchEvent(new Event('beforeprint'))")
            self.browser.settle()
            self.assertEqual(self.complaints(f"chartsWithColor('{LIGHT_ACCENT}')"), count)
            self.browser.evaluate("dispatchEvent(new Event('afterprint'))")
            self.browser.settle()
            self.assertEqual(self.complaints(f"chartsWithColor('{DARK_ACCENT}')"), count)

    def assert_holds_text(self, text, result):
        wanted = [result["task"], result["command"], result["verdict"].capitalize(),
                  "Not tested"]
        wanted += result["warnings"] + result["notes"]
        for criterion in result["criteria"]:
            wanted += [criterion["found"], criterion["wanted"], criterion["detail"]]
        for phase in result["phases"]:
            wanted.append(phase["reason"][1:])  # the first letter becomes a capital
        for output in result["numeric"]:
            wanted.append(output["output"])
        for row in result["performance"]:
            wanted += row["reasons"] + row["notes"]
            if row["qps"]:
                wanted.append(f"{row['qps']:,.0f}" if row["qps"] >= 10_000 else f"{row['qps']:.2f}")
        # Digits are grouped when they are drawn.
        shown = ungrouped(text)
        missing = [item for item in wanted if ungrouped(item) not in shown]
        self.assertEqual(missing, [])

    PAGE_TEXT = "document.body.innerText.replaceAll('\\u00a0', ' ')"

    def test_text_of_the_result_is_found(self):
        for _, result in self.reports():
            self.assert_holds_text(self.browser.evaluate(self.PAGE_TEXT), result)

    def test_text_needs_no_script(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.call, "Emulation.setScriptExecutionDisabled", value=False)
        for self.shown in NAMES:
            self.browser.events.clear()
            self.browser.call("Page.navigate", url=self.path(self.shown).as_uri())
            self.browser.wait_for("Page.loadEventFired")
            self.assert_holds_text(self.browser.evaluate(self.PAGE_TEXT), self.results[self.shown])
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('canvas').length"), 0)

    def test_names_with_markup_stay_text(self):
        for _, _ in self.reports():
            self.assertEqual(self.browser.evaluate("document.scripts.length"), 3)

    def test_fits_a_phone(self):
        for width in (360, 768, 960):
            for _, _ in self.reports(width):
                self.assertEqual(self.complaints("overflow()"), [], f"{width} wide")
                self.assertEqual(self.complaints("charts()"), [], f"{width} wide")

    def test_charts_follow_the_window(self):
        for _, _ in self.reports():
            self.browser.resize(400)
            self.browser.settle()
            self.assertEqual(self.complaints("overflow()"), [])
            widest = self.browser.evaluate(
                "Math.max(0, ...[...document.querySelectorAll('.uplot')].map(p => p.offsetWidth))")
            self.assertLessEqual(widest, 400)

    def test_is_readable_to_all(self):
        for scheme in ("light", "dark"):
            for _, _ in self.reports(scheme=scheme):
                self.assertEqual(self.complaints("contrast()"), [], scheme)
                self.assertEqual(self.complaints("structure()"), [])

    def test_prints(self):
        for name, result in self.reports():
            pdf = base64.b64decode(self.browser.call(
                "Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
            self.assertTrue(pdf.startswith(b"%PDF-"))
            self.assertGreater(len(pdf), 20_000 + 1_000 * expected_charts(result))
            if OPTIONS.screenshots:
                (OPTIONS.screenshots / f"{name}.pdf").write_bytes(pdf)

    def test_pointing_at_a_chart_shows_its_figures(self):
        for name, _ in self.reports():
            if name != "example":
                continue
            box = self.browser.evaluate(
                "(() => { const o = document.querySelector('[data-chart=rates] .u-over');"
                "o.scrollIntoView({behavior: 'instant', block: 'center'});"
                "const b = o.getBoundingClientRect();"
                "return [b.left + b.width / 2, b.top + b.height / 2]; })()")
            self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
            self.browser.settle()
            self.assertEqual(self.browser.evaluate(
                "document.querySelector('[data-chart=rates] .tip').innerText.split('\\n')[0]"),
                             "batch 8")

    def test_screenshots(self):
        if not OPTIONS.screenshots:
            self.skipTest("no folder for screenshots was given")
        for width, scheme in ((1200, "light"), (1200, "dark"), (360, "light"), (360, "dark")):
            for name, _ in self.reports(width, scheme):
                picture = self.browser.call("Page.captureScreenshot", captureBeyondViewport=True)
                (OPTIONS.screenshots / f"{name}-{width}-{scheme}.png").write_bytes(
                    base64.b64decode(picture["data"]))


def main():
    global OPTIONS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--render", type=pathlib.Path, required=True)
    parser.add_argument("--golden", type=pathlib.Path, required=True)
    parser.add_argument("--screenshots", type=pathlib.Path)
    OPTIONS, rest = parser.parse_known_args()
    if browser.find_program() is None:
        print("skipped: no Chromium on this machine (apt-get install chromium, or name one in "
              "ASSAY_CHROMIUM)")
        return SKIPPED
    if OPTIONS.screenshots:
        OPTIONS.screenshots.mkdir(parents=True, exist_ok=True)
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
