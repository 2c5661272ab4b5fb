"""What tests/tools/report_browser_slow_test.sh asks of its pages, in FOLDER: report_browser.py FOLDER [PICTURES]."""

import json
import os
import sys

from browser import Browser

PAGES = ["finished", "refused", "killed", "resumed", "moved", "several", "offload", "empty", "plan", "replayed", "exceeded", "oom", "leak"]
INTERACTIVE_S = 2.0


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def lines_of(path):
    """The whole lines of a log; a killed run's last one may be cut."""
    all_lines = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            try:
                all_lines.append(json.loads(text))
            except ValueError:
                pass
    return all_lines


def values(browser, selector):
    """The exact values of the numbers that an element shows."""
    found = browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector + ' data')})].map((e) => e.value)")
    return [float(value) for value in found if value not in ("null", "undefined", "NaN")]


def check_numbers(browser, log):
    """Numbers on the page are those of the log."""
    lines = lines_of(log)
    browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.wait("[...document.querySelectorAll('details')].every((each) => each.childElementCount > 1)")
    of = lambda event: [line for line in lines if line["event"] == event]
    memory = {(line["used"], line["limit"]) for line in of("memory")}
    rows = browser.evaluate(
        "[...document.querySelectorAll('#memory details tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.querySelector('data')?.value))")
    check(len(rows) > 1, "the table of memory is empty")
    for row in rows:
        check((int(row[2]), int(row[3])) in memory, f"memory {row} is not in the log")
    # A killed run may have told of its last peak in a line of memory only.
    peak = max([line["charged"] for line in of("peak")] + [line["peak"] for line in of("memory")])
    check(float(peak) in values(browser, ".tile"), f"the peak {peak} is not shown")
    last = {line["device"]: line for line in of("peak")}
    held = [value for line in last.values() for value in line["holders"][1::2]]
    shown = values(browser, "#memory .split table")
    check(sorted(map(float, held)) == sorted(shown), f"holders at the peak: {held} in the log, {shown} on the page")
    losses = {line["loss"] for line in of("step")}
    table = browser.evaluate("[...document.querySelectorAll('#curves details')][0].querySelectorAll('tbody tr').length")
    check(table > 1, "the table of losses is empty")
    for value in browser.evaluate("[...document.querySelectorAll('#curves details')[0].querySelectorAll('tbody tr')].map((row) => row.lastChild.querySelector('data').value)"):
        check(float(value) in losses, f"loss {value} is not in the log")
    times = {round(line["time"], 6) for line in lines}
    for value in browser.evaluate("[...document.querySelector('#log table[data-events]').querySelectorAll('tbody tr')].map((row) => row.querySelector('data').value)"):
        check(round(float(value), 6) in times, f"time {value} of an event is not in the log")
    metrics = {line["value"] for line in of("metric")}
    last = of("metric")[-1] if metrics else None
    if last:
        check(browser.evaluate("document.querySelectorAll('#curves').length") == 1, "no curves")


def check_curve(browser, page):
    """Time against budget, with the run's own point on it."""
    check(browser.evaluate("[...document.querySelectorAll('#plan h3')].some((e) => e.textContent === 'Time against budget')"), f"{page} has no curve")
    check(browser.evaluate("[...document.querySelectorAll('#plan .limit-text')].some((e) => e.textContent.startsWith('this '))"), f"{page} has no point on its curve")


def check_refusal(browser, path):
    """Who held what, the request and what helps are the report's."""
    shown = values(browser, "#refusal")
    check(len(shown) > 3, "a refusal without numbers")
    if path:
        report = json.load(open(path, encoding="utf-8"))
        expected = [report["requested"], report["used"], report["limit"], *(holder["bytes"] for holder in report["holders"])]
        check(all(float(each) in shown for each in expected), f"{expected} in the report, {shown} on the page")
        for remedy in report["remedies"]:
            check(remedy["text"] in browser.evaluate("document.getElementById('refusal').textContent"), f"the remedy '{remedy['text']}' is not shown")


def check_replayed(browser, path):
    """The replayed trace's peaks are the command's."""
    result = json.load(open(path, encoding="utf-8"))
    shown = values(browser, ".tile")
    check({float(result["live_peak"]), float(result["mapped_peak"]), float(result["operations"])} <= set(shown), f"{result} but {shown} on the page")
    left, top, width, height = browser.box("#blocks .chart")
    browser.mouse("mouseMoved", left + width * 0.5, top + height * 0.85)
    check("operation" in browser.evaluate("document.querySelector('#blocks .tip').textContent"), "hovering over blocks says nothing")


def check_leak(browser, path):
    leak = [line for line in lines_of(path) if line["event"] == "failed"][-1]["leak"]
    browser.evaluate("document.querySelectorAll('#leak details').forEach((each) => { each.open = true; })")
    browser.wait("document.querySelector('#leak details').childElementCount > 1")
    check(set(map(float, leak["history"])) <= set(values(browser, "#leak")), f"{leak} is not what is shown")


def check_hands(browser):
    """Zoom, hover, keyboard and dark mode."""
    left, top, width, height = browser.box("#memory .chart")
    window = "document.querySelectorAll('#memory .window').length"
    browser.mouse("mouseMoved", left + width * 0.5, top + height * 0.5)
    tip = browser.evaluate("(() => { const t = document.querySelector('#memory .tip'); return t.hidden ? '' : t.textContent; })()")
    check(" of " in tip, f"hovering shows '{tip}'")
    before = browser.evaluate("document.querySelector('#memory h3').textContent")
    check("at the peak" not in before, "the table does not follow the cursor")
    check(browser.evaluate(window) == 0, "a part is chosen before anybody chose")
    browser.drag(left + width * 0.3, top + height * 0.5, left + width * 0.6, top + height * 0.5)
    check(browser.evaluate(window) == 1, "dragging does not zoom")
    browser.evaluate("document.querySelector('#memory .chart').focus()")
    browser.key("0")
    check(browser.evaluate(window) == 0, "0 does not show the whole run")
    browser.key("p")
    check("peak" in browser.evaluate("document.getElementById('status').textContent"), "P does not go to the peak")
    browser.key("Home")
    first = browser.evaluate("document.querySelector('#memory .tip').textContent")
    browser.key("ArrowRight")
    second = browser.evaluate("document.querySelector('#memory .tip').textContent")
    check(first != second, f"the arrow keys do not move: {first}")
    browser.key("+")
    check(browser.evaluate(window) == 1, "+ does not zoom")
    browser.key("Escape")
    left, top, width, height = browser.box("#plan .chart")
    browser.mouse("mouseMoved", left + width * 0.5, top + height * 0.8)
    tip = browser.evaluate("document.querySelector('#plan .tip').textContent")
    check("predicted" in tip, f"hovering over the plan shows '{tip}'")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.evaluate(colour)
    browser.dark(True)
    browser.wait("document.documentElement.dataset.theme === 'dark'")
    check(browser.evaluate(colour) != light, "dark mode has the colours of light mode")
    browser.evaluate("document.getElementById('theme').click()")
    check(browser.evaluate(colour) == light, "the button does not switch back")
    browser.dark(False)


def check_reader(browser, page):
    """Every chart has a name and a table; every section a heading."""
    nameless = browser.evaluate("[...document.querySelectorAll('.chart, svg[role=img], button, select, input')].filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).length")
    check(nameless == 0, f"{page}: {nameless} things have no name for a screen reader")
    check(browser.evaluate("[...document.querySelectorAll('section')].every((e) => e.querySelector('h1, h2'))"), f"{page}: a section without a heading")


def stretched(value, key=None):
    """All texts of a page's data much longer, without a place to break; states and kinds of events stay."""
    if isinstance(value, dict):
        return {name + ("_" + "n" * 200 if key in ("options", "at_peak") else ""): stretched(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [stretched(each, key) for each in value]
    if isinstance(value, str) and key not in ("state", "event"):
        return value + "W" * 300
    return value


def write_stretched(path, to):
    """The page with all of its names stretched."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin = text.index('id="data">') + len('id="data">')
    end = text.index("</script>", begin)
    data = json.dumps(stretched(json.loads(text[begin:end]))).replace("<", "\\u003c")
    with open(to, "w", encoding="utf-8") as file:
        file.write(text[:begin] + data + text[end:])


def check_phone(browser, page):
    """Nothing is wider than a phone, whatever is open or pointed at."""
    width = 390
    browser.size(width, 800)
    wide = lambda: browser.evaluate("document.documentElement.scrollWidth")
    check(wide() <= width, f"{page} is {wide()} pixels wide on a phone")
    browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.wait("[...document.querySelectorAll('details')].every((each) => each.childElementCount > 1)")
    browser.wait("document.documentElement.dataset.complete === 'true'")
    check(wide() <= width, f"{page} is {wide()} pixels wide on a phone when its tables are open")
    # What cannot be reached is cut off too: texts of a chart, and what sticks out on the left.
    browser.wait("[...document.querySelectorAll('.chart')].every((each) => !each.clientWidth || each.querySelector('svg'))")
    outside = browser.evaluate(
        "[...document.querySelectorAll('main *')].filter((e) => { if (e.closest('.scroll, .stages, .hidden, clipPath, pattern, defs')) return false;"
        f" if (e.closest('svg') && e.tagName !== 'text') return false; const b = e.getBoundingClientRect(); return b.width > 0 && (b.left < -0.5 || b.right > {width} + 0.5); }})"
        ".map((e) => (e.closest('section')?.id || '') + ': ' + e.tagName + ' ' + e.textContent.slice(0, 40))")
    check(not outside, f"{page}: cut off on a phone: {outside[:5]}")
    for share in (0.02, 0.5, 0.98):
        tips = browser.evaluate(
            "[...document.querySelectorAll('.chart')].filter((e) => e.clientWidth && !e.querySelector('.tip:not([hidden])')).map((e) => { const b = e.getBoundingClientRect();"
            f" const at = {{ clientX: b.left + b.width * {share}, clientY: b.top + b.height / 2, bubbles: true }};"
            " e.dispatchEvent(new PointerEvent('pointermove', at)); const t = e.querySelector('.tip'); const s = t.getBoundingClientRect(); const wide = document.documentElement.scrollWidth;"
            " e.dispatchEvent(new PointerEvent('pointerleave', at)); return [wide, s.left, s.right, t.textContent.length, s.width]; })")
        for tip_wide, left, right, length, tip_width in tips:
            check(tip_wide <= width and left >= 0 and right <= width, f"{page}: what is shown beside the cursor goes from {left} to {right}, the page is {tip_wide} wide")
            check(length < 30 or tip_width > 120, f"{page}: {length} letters beside the cursor are squeezed into {tip_width} pixels")


def main():
    folder = sys.argv[1]
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    with Browser() as browser:
        for page in PAGES:
            address = f"file://{folder}/{page}.html"
            browser.size(1200, 900)
            browser.requests.clear()
            browser.open(address)
            check(not browser.problems, f"{page}: {browser.problems}")
            check(browser.requests == [address], f"{page} asks for {browser.requests}")
            check_reader(browser, page)
            if pictures:
                browser.picture(os.path.join(pictures, page + ".png"), selector="body")
            if page in ("finished", "killed", "moved") or (page == "offload" and os.path.exists(os.path.join(folder, "offload.jsonl"))):
                check_numbers(browser, os.path.join(folder, page + ".jsonl"))
            if page in ("finished", "plan"):
                check_curve(browser, page)
            if page in ("exceeded", "oom"):
                check_refusal(browser, os.path.join(folder, "oom.json") if page == "oom" else None)
            if page == "replayed":
                check_replayed(browser, os.path.join(folder, "replayed.json"))
            if page == "leak":
                check_leak(browser, os.path.join(folder, "leak.jsonl"))
            if page in ("finished", "moved"):
                check_hands(browser)
            check_phone(browser, page)
            browser.pdf(os.path.join(folder, page + ".pdf"))
            check(os.path.getsize(os.path.join(folder, page + ".pdf")) > 3000, f"{page} does not print")
            check(not browser.problems, f"{page}: {browser.problems}")
            write_stretched(os.path.join(folder, page + ".html"), os.path.join(folder, page + "-stretched.html"))
            browser.open(f"file://{folder}/{page}-stretched.html")
            check(not browser.problems, f"{page} with long names: {browser.problems}")
            check_phone(browser, page + " with long names")
        browser.size(1200, 900)
        # The first page of a browser is slow, and another program may come between: the best of three.
        first, whole = min((browser.open(f"file://{folder}/long.html") for _ in range(3)), key=lambda each: each[1])
        check(not browser.problems, f"long: {browser.problems}")
        check(whole < INTERACTIVE_S, f"100,000 steps are shown after {first:.2f} s, all of them after {whole:.2f} s")
        print(f"100,000 steps: the first screen after {first:.2f} s, all of it after {whole:.2f} s")
    print(f"{len(PAGES)} pages, no errors")


main()
