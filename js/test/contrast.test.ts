import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { contrast, parseHex, toHex } from "../src/core/colour";
import { INKS, MORE } from "../src/core/contrast";
import { markPairs, paletteCss, textPairs } from "../src/core/palette";
import { detectContrast, followTheme } from "../src/host/theme";

const THEMES = ["light", "dark"] as const;
const PAGE = { light: parseHex("#ffffff"), dark: parseHex("#000000") };

describe("with more contrast", () => {
  it.each(THEMES)("text on every step of the %s scale keeps 7:1", (theme) => {
    for (const [ink, field] of textPairs(`${theme}-more`)) {
      expect(contrast(ink, field), `${toHex(ink)} on ${toHex(field)}`).toBeGreaterThanOrEqual(7);
    }
  });

  it.each(THEMES)("marks of the %s scale keep 4.5:1 to the page and 3:1 to their own field", (theme) => {
    markPairs(`${theme}-more`).forEach(([mark, ground], i) => {
      const least = i % 2 === 0 ? 4.5 : 3;
      expect(contrast(mark, ground), `${toHex(mark)} on ${toHex(ground)}`).toBeGreaterThanOrEqual(least);
    });
  });

  it.each(THEMES)("inks of the %s theme keep 7:1 on every ground, lines 3:1", (theme) => {
    const inks = MORE[theme];
    for (const ground of [PAGE[theme], ...INKS.grounds.map((name) => inks[name])]) {
      for (const name of INKS.text)
        expect(contrast(inks[name], ground), `${name} on ${toHex(ground)}`).toBeGreaterThanOrEqual(7);
      for (const name of INKS.lines)
        expect(contrast(inks[name], ground), `${name} on ${toHex(ground)}`).toBeGreaterThanOrEqual(3);
    }
  });

  it("every colour that base.css sets for the dark theme has one", () => {
    const css = readFileSync("src/styles/base.css", "utf8");
    const dark = css.match(/\[data-opd-theme="dark"\] \{([^}]*)\}/)?.[1] ?? "";
    const named = [...dark.matchAll(/--opd-([\w-]+):/g)].map((found) => found[1]);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !(name in MORE.dark && name in MORE.light))).toEqual([]);
    const made = paletteCss();
    for (const name of named)
      expect(made).toContain(`--opd-${name}:${toHex(MORE.dark[name as keyof typeof MORE.dark])}`);
  });

  it("the dark one is not printed", () => {
    expect(paletteCss()).toContain('@media not print{.opd-root[data-opd-contrast="more"][data-opd-theme="dark"]');
  });
});

describe("marks of more contrast", () => {
  const root = (): HTMLElement => document.body.appendChild(document.createElement("div"));

  afterEach(() => {
    vi.restoreAllMocks();
    document.body.replaceChildren();
    for (const { name } of [...document.body.attributes]) document.body.removeAttribute(name);
  });

  it("are the names of JupyterLab's themes and VS Code's kinds and classes", () => {
    const node = root();
    const { body } = document;
    expect(detectContrast(node)).toBe(false);
    for (const [name, more] of [
      ["JupyterLab Dark", false],
      ["JupyterLab Dark High Contrast", true],
      ["JupyterLab Light High Contrast", true],
    ] as const) {
      body.dataset.jpThemeName = name;
      expect(detectContrast(node), name).toBe(more);
    }
    delete body.dataset.jpThemeName;
    for (const [kind, more] of [
      ["vscode-dark", false],
      ["vscode-light", false],
      ["vscode-high-contrast", true],
      ["vscode-high-contrast-light", true],
    ] as const) {
      body.dataset.vscodeThemeKind = kind;
      expect(detectContrast(node), kind).toBe(more);
      delete body.dataset.vscodeThemeKind;
      body.className = kind;
      expect(detectContrast(node), `class ${kind}`).toBe(more);
      body.className = "";
    }
  });

  it.each(["(prefers-contrast: more)", "(forced-colors: active)"])("are the system's: %s", (asked) => {
    const node = root();
    const media = vi.spyOn(window, "matchMedia");
    media.mockImplementation(
      (query) => ({ matches: query === asked, addEventListener: () => {} }) as unknown as MediaQueryList,
    );
    expect(detectContrast(node)).toBe(true);
    media.mockImplementation(() => ({ matches: false, addEventListener: () => {} }) as unknown as MediaQueryList);
    expect(detectContrast(node)).toBe(false);
  });

  it("are followed until the signal aborts", async () => {
    const node = root();
    const life = new AbortController();
    document.body.dataset.jpThemeName = "JupyterLab Dark";
    followTheme(node, life.signal);
    expect(node.dataset.opdContrast).toBe("normal");
    document.body.dataset.jpThemeName = "JupyterLab Dark High Contrast";
    await vi.waitFor(() => expect(node.dataset.opdContrast).toBe("more"));
    life.abort();
    document.body.dataset.jpThemeName = "JupyterLab Dark";
    await new Promise((done) => setTimeout(done, 20));
    expect(node.dataset.opdContrast).toBe("more");
  });
});
