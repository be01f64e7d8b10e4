"""A hundred views opened and closed leave nothing behind: by what was made, and by the browser's own counters."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from tests.browser.jupyter import watch_errors

ROUNDS = 100
# What V8 keeps of its own accord, over a hundred rounds: compiled code and the like. One leaked view is some 200 KB.
SLACK_BYTES = 1_000_000
SLACK_NODES = 20
SLACK_LISTENERS = 5

# Before anything else runs: every timer, frame and observer of the page is counted while it is open.
COUNTS = """(() => {
  const open = { timers: new Set(), frames: new Set(), observers: new Set() };
  window.opdOpen = () => Object.fromEntries(Object.entries(open).map(([name, set]) => [name, set.size]));
  const once = (set, start, stop) => {
    const [set_, clear_] = [window[start].bind(window), window[stop].bind(window)];
    window[start] = (run, ...rest) => {
      const id = set_((...given) => { set.delete(id); run(...given); }, ...rest);
      set.add(id);
      return id;
    };
    window[stop] = (id) => { set.delete(id); clear_(id); };
  };
  once(open.timers, "setTimeout", "clearTimeout");
  once(open.frames, "requestAnimationFrame", "cancelAnimationFrame");
  const [repeat, end] = [window.setInterval.bind(window), window.clearInterval.bind(window)];
  window.setInterval = (...given) => { const id = repeat(...given); open.timers.add(id); return id; };
  window.clearInterval = (id) => { open.timers.delete(id); end(id); };
  for (const name of ["MutationObserver", "ResizeObserver", "IntersectionObserver"]) {
    window[name] = class extends window[name] {
      observe(...given) { open.observers.add(this); super.observe(...given); }
      disconnect() { open.observers.delete(this); super.disconnect(); }
    };
  }
})();"""
# A host as small as can be: one model for all views, as in a notebook, and its listeners counted.
HOST = """async () => {
  const { state } = JSON.parse(document.getElementById("opd-state").textContent);
  const text = JSON.parse(document.getElementById("opd-bundle").textContent);
  const revive = (value) => {
    if (Array.isArray(value)) return value.map(revive);
    if (typeof value !== "object" || value === null) return value;
    if (typeof value.$buffer !== "string") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
    }
    return new DataView(Uint8Array.from(atob(value.$buffer), (c) => c.charCodeAt(0)).buffer);
  };
  const values = revive(state);
  values.job = { ...values.job, state: "idle" };  // with its controls for scoring
  const listeners = new Map();
  const model = {
    get: (name) => values[name],
    set(name, value) {
      values[name] = value;
      for (const listener of [...(listeners.get(`change:${name}`) ?? [])]) listener();
    },
    on: (event, listener) => listeners.set(event, (listeners.get(event) ?? new Set()).add(listener)),
    off: (event, listener) => listeners.get(event)?.delete(listener),
    save_changes() {},
    send() {},
  };
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  URL.revokeObjectURL(url);
  const frames = (n) => new Promise((done) => {
    const next = () => (n-- > 0 ? requestAnimationFrame(next) : done());
    next();
  });
  const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  window.opdRounds = async (count) => {
    for (let i = 0; i < count; i++) {
      const el = document.body.appendChild(document.createElement("div"));
      const life = new AbortController();
      const end = await widget.render({ model, el, signal: life.signal, host: {}, experimental: {} });
      const strip = el.querySelector(".opd-strip");
      await frames(2);
      for (const key of ["2", "j", "n", "?", "s", "1", "k"]) press(strip, key);
      const field = el.querySelector("textarea.opd-context-text");
      field.focus();
      field.value = `edit ${i}`;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await frames(1);
      if (i % 2) life.abort();  // either of the two ways in which a host ends a view
      else await end();
      el.remove();
    }
    await frames(2);
    document.activeElement?.blur();
    return [...listeners.values()].reduce((sum, set) => sum + set.size, 0);
  };
}"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    lab = opd.demo(questions=3, rollouts=3)
    explorer = opd.Explorer(lab.rollouts, lab.student, lab.teachers, teacher="Self-1C")
    return opd.write_page(explorer, tmp_path_factory.mktemp("leaks") / "page.html")


def counted(page, cdp):
    """Return the browser's counters after collecting what is not reachable."""
    page.wait_for_timeout(400)  # longer than any pause of a view: a pending timer would hold it
    for _ in range(3):
        cdp.send("HeapProfiler.collectGarbage")
    found = cdp.send("Memory.getDOMCounters")
    return {**found, "heap": cdp.send("Runtime.getHeapUsage")["usedSize"], **page.evaluate("() => window.opdOpen()")}


def test_a_hundred_views_leave_nothing(page, exported):
    errors = watch_errors(page)
    page.add_init_script(COUNTS)
    page.goto(exported.as_uri())
    page.locator(".opd-explorer .opd-strip .opd-cell").first.wait_for()
    page.evaluate(HOST)
    cdp = page.context.new_cdp_session(page)
    cdp.send("HeapProfiler.enable")
    assert page.evaluate("(n) => window.opdRounds(n)", 10) == 0  # what is made once is there now
    before = counted(page, cdp)
    assert page.evaluate("(n) => window.opdRounds(n)", ROUNDS) == 0
    after = counted(page, cdp)
    grown = {name: after[name] - before[name] for name in before}
    print(f"before {before}, grown {grown}")  # noqa: T201 - the figures, shown by pytest -s
    assert max(grown[name] for name in ("documents", "timers", "frames", "observers")) <= 0, grown
    assert grown["nodes"] <= SLACK_NODES, grown
    assert grown["jsEventListeners"] <= SLACK_LISTENERS, grown
    assert grown["heap"] <= SLACK_BYTES, grown
    assert errors == []
