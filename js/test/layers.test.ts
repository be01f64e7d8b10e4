import { describe, expect, it } from "vitest";

/** Vite reads the sources; the test needs no file system. */
const sources = (import.meta as unknown as { glob(pattern: string, options: object): Record<string, string> }).glob(
  "../src/**/*.ts",
  {
    query: "?raw",
    import: "default",
    eager: true,
  },
);

/** What a folder may import; "type" where only types. */
const MAY: Record<string, Record<string, "all" | "type">> = {
  core: { core: "all" },
  model: { core: "all", model: "all" },
  view: { core: "all", view: "all", model: "type" },
  host: { host: "all" },
  widgets: { core: "all", model: "all", view: "all", host: "all", widgets: "all" },
};

describe("layers", () => {
  for (const [path, text] of Object.entries(sources)) {
    const folder = path.split("/")[2];
    it(`${path.slice(7)} imports only what it may, and is short`, () => {
      for (const [, kind, target] of text.matchAll(/^(?:import|export) (type )?[^;]*?from "(\.[^"]+)";/gm)) {
        const to = target.startsWith("./") ? folder : target.split("/")[1];
        const allowed = MAY[folder][to];
        expect(allowed === "all" || (allowed === "type" && kind !== undefined), `${folder} -> ${target}`).toBe(true);
      }
      expect(text.split("\n").length).toBeLessThanOrEqual(400);
      if (folder === "core" || folder === "model") expect(text).not.toMatch(/\bdocument\.|HTMLElement/);
      expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write/);
    });
  }

  it("finds the sources", () => expect(Object.keys(sources).length).toBeGreaterThan(40));
});
