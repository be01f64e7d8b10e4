/**
 * The host of an exported page. Built to static_page.js, a classic script (IIFE) that serves every widget: it imports the widget's
 * own bundle from a Blob, so a page holds exactly the code a notebook runs. Works from file://, in `iframe sandbox="allow-scripts"`
 * and without a network. What Python writes, in this order, with `embed(x) = json.dumps(x).replace("<", "\\u003c")`:
 *
 *   <!doctype html>
 *   <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
 *   <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src HASH blob:; style-src HASH HASH; base-uri 'none'; form-action 'none'">
 *   <title>{html.escape(title)}</title>
 *   <style>body{margin:0;padding:16px}</style>
 *   <style>{explorer.css}</style></head>
 *   <body data-theme="light"><main><h1 class="opd-announce">{html.escape(title)}</h1><div id="opd-mount"></div></main>
 *   <noscript>This page needs JavaScript.</noscript>
 *   <script type="application/json" id="opd-state">{embed({"widget": "explorer", "state": {...}})}</script>
 *   <script type="application/json" id="opd-bundle">{embed(text of explorer.js)}</script>
 *   <script>{text of static_page.js}</script>
 *   </body></html>
 *
 * `state` holds the traits (scores, live, job, rollout, token, teacher, signal); every binary value in it is {"$buffer": "<base64>"}.
 * `job` is {"state": "none", ...}, which hides the scoring controls. `embed` keeps "</script" out of both JSON blocks; style sheets and
 * static_page.js hold no "</".
 */
import { revive, staticModel } from "./static_model";

interface Page {
  widget: string;
  state: Record<string, unknown>;
}

interface Definition {
  initialize?(props: object): unknown;
  render?(props: object): unknown;
}

const read = (id: string): unknown => JSON.parse(document.getElementById(id)?.textContent ?? "null");

async function load(text: string): Promise<Definition> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    const module = (await import(/* @vite-ignore */ url)) as {
      default: Definition | (() => Definition | Promise<Definition>);
    };
    return typeof module.default === "function" ? await module.default() : module.default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function start(): Promise<void> {
  const el = document.getElementById("opd-mount") ?? document.body.appendChild(document.createElement("div"));
  try {
    const page = read("opd-state") as Page;
    const model = staticModel(revive(page.state) as Record<string, unknown>);
    const { signal } = new AbortController();
    const widget = await load(read("opd-bundle") as string);
    await widget.initialize?.({ model, signal, experimental: {} });
    await widget.render?.({ model, el, signal, host: {}, experimental: {} });
    // Alone on its page, the keys are the widget's from the start.
    const [keys] = [".opd-tree", ".opd-strip", ".opd-aligned", ".opd-list"].flatMap(
      (name) => el.querySelector<HTMLElement>(name) ?? [],
    );
    keys?.focus({ preventScroll: true });
  } catch (error) {
    el.textContent = `This page could not be shown: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  }
}

void start();
