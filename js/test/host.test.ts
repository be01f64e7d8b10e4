import { afterEach, describe, expect, it, vi } from "vitest";
import { revive, staticModel } from "../src/host/static_model";
import { detectTheme, followTheme } from "../src/host/theme";

const root = (): HTMLElement => document.body.appendChild(document.createElement("div"));

afterEach(() => {
  document.body.replaceChildren();
  for (const node of [document.body, document.documentElement]) {
    for (const { name } of [...node.attributes]) node.removeAttribute(name);
  }
});

describe("theme", () => {
  it("asks JupyterLab before VS Code, Colab and marimo, and the page's ground last", () => {
    const node = root();
    document.body.style.backgroundColor = "rgb(17, 17, 17)";
    expect(detectTheme(node)).toBe("dark");
    document.body.dataset.theme = "light";
    expect(detectTheme(node)).toBe("light");
    document.documentElement.setAttribute("theme", "dark");
    expect(detectTheme(node)).toBe("dark");
    document.body.dataset.vscodeThemeKind = "vscode-light";
    expect(detectTheme(node)).toBe("light");
    document.body.dataset.jpThemeLight = "false";
    expect(detectTheme(node)).toBe("dark");
  });

  it("reads every notation that a browser gives a colour in, and passes over what it does not know", () => {
    const node = root();
    const ground = vi.spyOn(window, "getComputedStyle");
    const on = (colour: string, behind = ""): string => {
      const style = (of: Element): object => ({ backgroundColor: of === document.body ? colour : behind });
      ground.mockImplementation((of) => ({ ...style(of), getPropertyValue: () => "" }) as never);
      return detectTheme(node);
    };
    for (const white of ["rgb(255, 255, 255)", "oklch(1 0 0)", "oklab(0.9 0 0)", "lab(100 0 0)", "color(srgb 1 1 1)"])
      expect(on(white), white).toBe("light");
    for (const black of ["rgba(0, 0, 0, 0.9)", "oklch(0.2 0.1 250)", "lch(10 0 0)", "color(srgb 0.1 0.1 0.1 / 0.9)"])
      expect(on(black), black).toBe("dark");
    for (const none of ["rgba(0, 0, 0, 0)", "color(srgb 0 0 0 / 0)", "color(display-p3 0 0 0)"])
      expect([on(none, "rgb(255, 255, 255)"), on(none, "rgb(0, 0, 0)")], none).toEqual(["light", "dark"]);
    ground.mockRestore();
  });

  it("knows high contrast in VS Code, both ways", () => {
    const node = root();
    document.body.dataset.vscodeThemeKind = "vscode-high-contrast";
    expect(detectTheme(node)).toBe("dark");
    document.body.dataset.vscodeThemeKind = "vscode-high-contrast-light";
    expect(detectTheme(node)).toBe("light");
  });

  it("knows VS Code by its classes where it does not say its kind", () => {
    const node = root();
    for (const [names, theme] of [
      ["vscode-dark", "dark"],
      ["vscode-light", "light"],
      ["vscode-high-contrast", "dark"],
      ["vscode-high-contrast-light vscode-high-contrast", "light"],
    ]) {
      document.body.className = names;
      expect(detectTheme(node), names).toBe(theme);
    }
  });

  it("knows marimo's wrapper around a view, and Colab's page both ways", () => {
    const node = root();
    const wrapper = document.body.appendChild(document.createElement("div"));
    wrapper.append(node);
    wrapper.className = "dark";
    expect(detectTheme(node)).toBe("dark");
    document.documentElement.setAttribute("theme", "light");
    expect(detectTheme(node)).toBe("light");
  });

  it("follows a change until the signal aborts", async () => {
    const node = root();
    const life = new AbortController();
    document.body.dataset.jpThemeLight = "true";
    followTheme(node, life.signal);
    expect(node.dataset.opdTheme).toBe("light");
    document.body.dataset.jpThemeLight = "false";
    await vi.waitFor(() => expect(node.dataset.opdTheme).toBe("dark"));
    life.abort();
    document.body.dataset.jpThemeLight = "true";
    await new Promise((done) => setTimeout(done, 20));
    expect(node.dataset.opdTheme).toBe("dark");
  });
});

describe("static host", () => {
  it("tells of changes, and stops when asked", () => {
    const model = staticModel({ token: 1 });
    const heard = vi.fn();
    model.on("change:token", heard);
    model.set("token", 2);
    model.set("token", 2);
    expect(heard).toHaveBeenCalledTimes(1);
    expect(model.get("token")).toBe(2);
    model.off("change:token", heard);
    model.set("token", 3);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it("revives buffers at any depth, with what JSON cannot say", () => {
    const bytes = new Uint8Array(new Float32Array([Number.NEGATIVE_INFINITY, 1]).buffer);
    const packed = btoa(String.fromCharCode(...bytes));
    const made = revive({ a: [{ values: { $buffer: packed } }], n: null, s: "x" }) as {
      a: { values: DataView }[];
      s: string;
    };
    expect(made.a[0].values.getFloat32(0, true)).toBe(Number.NEGATIVE_INFINITY);
    expect(made.s).toBe("x");
  });
});
