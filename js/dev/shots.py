"""Screenshots of the dev page: `python dev/shots.py OUT [NAME ...]`. Prints what the browser's console says."""
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

HERE = pathlib.Path(__file__).parent
OUT = pathlib.Path(sys.argv[1])
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--allow-file-access-from-files"]
SHOTS = {
    "wide": (1400, 900, "rollout=1&token=8&teacher=Teacher 0.5M"),
    "wide_dark": (1400, 900, "rollout=1&token=8&theme=dark&teacher=Self %2B solution"),
    "context": (1400, 900, "rollout=1&token=8&teacher=Self %2B solution"),
    "kl": (1400, 900, "rollout=1&token=8&signal=reverse_kl"),
    "rank_dark": (1400, 900, "rollout=1&token=8&signal=teacher_rank&theme=dark"),
    "hostile": (1400, 900, "rollout=23&token=9&job=none"),
    "hostile_dark": (1400, 900, "rollout=23&token=3&theme=dark"),
    "lab": (1068, 900, "rollout=1&token=8&pad=0&teacher=Self %2B solution"),
    "mid": (800, 900, "rollout=1&token=8&teacher=Self %2B solution"),
    "mid_dark": (800, 900, "rollout=1&token=8&theme=dark"),
    "narrow": (360, 800, "rollout=1&token=8&pad=0&teacher=Self %2B solution"),
    "narrow_dark": (360, 800, "rollout=1&token=-1&pad=0&theme=dark"),
    "tiny": (320, 800, "rollout=1&token=8&pad=0"),
    "strip": (700, 300, "widget=token_strip&rollout=1&token=8"),
    "list": (360, 500, "widget=rollout_list&rollout=1"),
    "panel": (360, 700, "widget=token_panel&rollout=1&token=8"),
}

OUT.mkdir(parents=True, exist_ok=True)
(HERE / "out").mkdir(exist_ok=True)
css = "../../../opd_widgets/static/explorer.css"
(HERE / "out" / "index.html").write_text(
    f'<!doctype html><html lang="en"><meta charset="utf-8"><link rel="stylesheet" href="{css}"><body><script type="module" src="page.js"></script></body></html>'
)
with sync_playwright() as p:
    browser = p.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=ARGS)
    for name in sys.argv[2:] or SHOTS:
        width, height, query = SHOTS[name]
        page = browser.new_page(viewport={"width": width, "height": height})
        page.on("console", lambda m, name=name: print(name, m.type, m.text))
        page.on("pageerror", lambda e, name=name: print(name, "ERROR", e))
        page.goto(f"{(HERE / 'out' / 'index.html').as_uri()}?{query}")
        page.wait_for_selector(".opd-root")
        page.wait_for_timeout(150)
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            print(name, "overflows:", wide, ">", width)
        page.screenshot(path=OUT / f"{name}.png", full_page=True)
        page.close()
    browser.close()
