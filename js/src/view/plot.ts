/** A profile as SVG: four paths, however long the rollout; colours come from the style sheet. */
import type { Profile } from "../core/profile";
import { setAttribute, svg } from "./dom";

export interface Plot {
  node: SVGElement;
  draw(profile: Profile, height: number, signed: boolean): void;
}

export function plot(root: Node, name: string): Plot {
  const path = (part: string): SVGElement => svg(root, "path", { class: `opd-plot-${part}` });
  const parts = {
    gap: path("gap"),
    base: path("base"),
    above: path("above"),
    below: path("below"),
    infinite: path("infinite"),
  };
  const node = svg(
    root,
    "svg",
    { class: `opd-plot ${name}`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    ...Object.values(parts),
  );
  let drawn: Profile | null = null;
  return {
    node,
    draw(profile, height, signed) {
      if (profile === drawn) return;
      drawn = profile;
      setAttribute(node, "viewBox", `0 0 ${profile.width} ${height}`);
      setAttribute(node, "data-signed", String(signed));
      for (const part of ["gap", "base", "above", "below", "infinite"] as const)
        setAttribute(parts[part], "d", profile[part]);
    },
  };
}
