/**
 * Light or dark, and whether more contrast is wanted, from the host's own marks. Hosts do not follow `prefers-color-scheme` (JupyterLab has its own theme), so that comes
 * last but one; print is forced light by the style sheet.
 */

export type Theme = "light" | "dark";

/** What of it the system says; asked last, since a host's theme need not follow it. */
const DARK = "(prefers-color-scheme: dark)";
/** Asked beside the host's marks: a reader who wants more contrast everywhere wants it here. */
const MORE = ["(prefers-contrast: more)", "(forced-colors: active)"];

/** How light a computed colour is, 0 to 1; null where it is transparent, or in a notation that is not known here. */
function lightness(colour: string): number | null {
  const [space] = /^(rgb|color\(srgb |oklab|oklch|lab|lch)/.exec(colour) ?? [""];
  const [a, b, c, alpha] = colour.match(/[\d.]+/g)?.map(Number) ?? [];
  if (!space || c === undefined || alpha === 0) return null;
  if (space.startsWith("ok")) return a;
  if (space.startsWith("l")) return a / 100;
  return (0.2126 * a + 0.7152 * b + 0.0722 * c) / (space === "rgb" ? 255 : 1);
}

/** A page exported from JupyterLab has its variables but not its mark. */
function jupyterVariable(body: HTMLElement, view: Window): Theme | null {
  const colour = view.getComputedStyle(body).getPropertyValue("--jp-layout-color0").trim();
  if (!/^#[\da-f]{3,6}$/i.test(colour)) return null;
  const digits = colour.length === 4 ? [...colour.slice(1)].map((c) => c + c) : (colour.slice(1).match(/../g) ?? []);
  const light = lightness(`rgb(${digits.map((c) => Number.parseInt(c, 16))})`);
  return light === null ? null : light < 0.5 ? "dark" : "light";
}

/** The first ground that is painted behind the root. */
function backgroundTheme(root: HTMLElement, view: Window): Theme | null {
  const above = (node: Element): Element | null =>
    node.parentElement ?? (node.getRootNode() as ShadowRoot).host ?? null;
  for (let node = above(root); node; node = above(node)) {
    const light = lightness(view.getComputedStyle(node).backgroundColor);
    if (light !== null) return light < 0.5 ? "dark" : "light";
  }
  return null;
}

function jupyter(body: HTMLElement): Theme | null {
  const mark = body.dataset.jpThemeLight;
  return mark === undefined ? null : mark === "false" ? "dark" : "light";
}

function vscode(body: HTMLElement): Theme | null {
  const kind = body.dataset.vscodeThemeKind ?? "";
  if (kind) return kind.includes("light") ? "light" : "dark";
  const has = (name: string): boolean => body.classList.contains(name);
  // The light high-contrast theme carries the name of the dark one beside its own.
  if (has("vscode-light") || has("vscode-high-contrast-light")) return "light";
  return has("vscode-dark") || has("vscode-high-contrast") ? "dark" : null;
}

function marimo(body: HTMLElement, root: HTMLElement): Theme | null {
  if (body.dataset.theme === "dark" || body.dataset.theme === "light") return body.dataset.theme;
  return body.classList.contains("dark") || root.closest(".dark") ? "dark" : null;
}

export function detectTheme(root: HTMLElement): Theme {
  const doc = root.ownerDocument;
  const view = doc.defaultView;
  const { body } = doc;
  const colab = doc.documentElement.getAttribute("theme");
  const marked =
    jupyter(body) ?? vscode(body) ?? (colab ? (colab === "dark" ? "dark" : "light") : null) ?? marimo(body, root);
  if (marked || !view) return marked ?? "light";
  const painted = jupyterVariable(body, view) ?? backgroundTheme(root, view);
  if (painted) return painted;
  return view.matchMedia?.(DARK).matches ? "dark" : "light";
}

/** Whether the host's theme, or the reader's system, asks for more contrast. */
export function detectContrast(root: HTMLElement): boolean {
  const { body, defaultView: view } = root.ownerDocument;
  const vscodeKind = `${body.dataset.vscodeThemeKind ?? ""} ${body.className}`;
  if (/high[- ]contrast/i.test(body.dataset.jpThemeName ?? "") || vscodeKind.includes("vscode-high-contrast"))
    return true;
  return MORE.some((query) => view?.matchMedia?.(query).matches === true);
}

/** Sets `data-opd-theme` and `data-opd-contrast` on the root and keeps them true until the signal aborts. */
export function followTheme(root: HTMLElement, signal: AbortSignal): void {
  const doc = root.ownerDocument;
  const view = doc.defaultView;
  const apply = (): void => {
    const theme = detectTheme(root);
    if (root.dataset.opdTheme !== theme) root.dataset.opdTheme = theme;
    const contrast = detectContrast(root) ? "more" : "normal";
    if (root.dataset.opdContrast !== contrast) root.dataset.opdContrast = contrast;
  };
  apply();
  const Observer = view?.MutationObserver ?? MutationObserver;
  const observer = new Observer(apply);
  const watched = {
    attributes: true,
    attributeFilter: [
      ...["class", "style", "theme", "data-theme", "data-vscode-theme-kind"],
      ...["data-jp-theme-light", "data-jp-theme-name"],
    ],
  };
  observer.observe(doc.documentElement, watched);
  observer.observe(doc.body, watched);
  for (const query of [DARK, ...MORE]) view?.matchMedia?.(query).addEventListener?.("change", apply, { signal });
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}
