/**
 * Gradients as arrows: for three tokens in the plane of the simplex, where the angle seen is the true one; for two tokens on a line. The
 * student's distribution is the point they start from. Arrows are directions: all have one length.
 */
import { isolated } from "../../core/plain_text";
import { CORNERS, direction, HEIGHT, type Point, project, type Triple } from "../../core/simplex";
import { maker, setAttribute, setText, svg } from "../dom";
import type { AlignmentState } from "./state";

const SIDE = 140;
/** Room for an arrow and its sign where the student stands in a corner. */
const MARGIN = 44;
/** Of an arrow, in sides of the triangle. */
const REACH = 0.22;

interface Arrow {
  name: string;
  /** Shown at its tip: the key that selects the teacher. */
  sign: string;
  kind: "ideal" | "selected" | "other";
  /** Of the selected teacher: whether it points along the ideal gradient. */
  side: "" | " opd-s-along" | " opd-s-against";
  values: number[];
}

function arrows(state: AlignmentState, support: readonly number[], row: number): Arrow[] {
  const { data, places, teacher } = state;
  const cosine = data.node("alignment", row, teacher);
  const side = cosine > 0 ? " opd-s-along" : cosine < 0 ? " opd-s-against" : "";
  const theirs = places.teachers.map(({ name }, t): Arrow => {
    const values = support.map((c) => data.under("distillation_gradient", c, t));
    const own = t === teacher;
    return { name, sign: String(t + 1), kind: own ? "selected" : "other", side: own ? side : "", values };
  });
  const values = support.map((c) => data.under("ideal_gradient", c, teacher));
  const ideal: Arrow = { name: "ideal", sign: "ideal", kind: "ideal", side: "", values };
  const others = theirs.filter((arrow) => arrow.kind === "other");
  return [...others, ...theirs.filter((arrow) => arrow.kind === "selected"), ideal]; // what matters is drawn last
}

/** "raises 3, lowers 4 and 5": what a gradient does, in words. */
export function inWords(name: string, values: readonly number[], tokens: readonly string[]): string {
  if (values.some(Number.isNaN)) return `${isolated(name)}: undefined`;
  const some = (test: (value: number) => boolean): string => tokens.filter((_, i) => test(values[i])).join(", ");
  const parts = [
    some((v) => v > 0) && `raises ${some((v) => v > 0)}`,
    some((v) => v < 0) && `lowers ${some((v) => v < 0)}`,
  ];
  return `${isolated(name)}: ${parts.filter(Boolean).join("; ") || "changes nothing"}`;
}

function arrow(root: Node, from: Point, to: Point, kind: string): SVGElement {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const size = { other: 5, ideal: 7 }[kind] ?? 11;
  const base: Point = [to[0] - size * ux, to[1] - size * uy];
  const half = size / 2.4;
  const f = (n: number): number => Math.round(100 * n) / 100;
  const d = `M${f(from[0])} ${f(from[1])}L${f(base[0])} ${f(base[1])}M${f(base[0] - half * uy)} ${f(base[1] + half * ux)}L${f(to[0])} ${f(to[1])}L${f(base[0] + half * uy)} ${f(base[1] - half * ux)}z`;
  return svg(root, "path", { class: `opd-s-arrow opd-s-${kind}`, d });
}

function label(root: Node, text: string, [x, y]: Point, name: string, anchor = "middle"): SVGElement {
  const node = svg(root, "text", {
    class: name,
    x: Math.round(10 * x) / 10,
    y: Math.round(10 * y) / 10,
    "text-anchor": anchor,
  });
  setText(node, text);
  return node;
}

const place = ([x, y]: Point): Point => [MARGIN + SIDE * x, MARGIN + SIDE * y];

function triangle(root: Node, names: readonly string[], p: Triple, all: readonly Arrow[]): SVGElement {
  const corners = CORNERS.map(place);
  const at = place(project(p));
  const parts: SVGElement[] = [
    svg(root, "path", { class: "opd-s-frame", d: `M${corners.map((c) => c.join(" ")).join("L")}z` }),
  ];
  const [top, left, right] = corners;
  parts.push(
    label(root, names[0], [top[0] - 12, top[1]], "opd-s-corner", "end"),
    label(root, names[1], [left[0], left[1] + 18], "opd-s-corner"),
    label(root, names[2], [right[0], right[1] + 18], "opd-s-corner"),
  );
  for (const { values, kind, side, sign } of all) {
    const way = direction(values as unknown as Triple);
    if (!way) continue;
    const reach = SIDE * REACH;
    const tip: Point = [at[0] + reach * way[0], at[1] + reach * way[1]];
    parts.push(arrow(root, at, tip, kind + side));
    if (kind !== "other") parts.push(label(root, sign, [tip[0] + 9 * way[0], tip[1] + 9 * way[1] + 4], `opd-s-sign`));
  }
  parts.push(svg(root, "circle", { class: "opd-s-point", cx: at[0], cy: at[1], r: 3.5 }));
  return svg(
    root,
    "svg",
    { class: "opd-s", viewBox: `0 0 ${SIDE + 2 * MARGIN} ${SIDE * HEIGHT + 2 * MARGIN}`, role: "img" },
    ...parts,
  );
}

const LINE = 44;

function line(root: Node, names: readonly string[], p: number, all: readonly Arrow[]): SVGElement {
  const [from, to] = [MARGIN, MARGIN + SIDE];
  const x = from + SIDE * p;
  const parts: SVGElement[] = [
    svg(root, "path", { class: "opd-s-frame", d: `M${from} ${LINE}H${to}` }),
    label(root, names[0], [from - 8, LINE + 4], "opd-s-corner", "end"),
    label(root, names[1], [to + 8, LINE + 4], "opd-s-corner", "start"),
  ];
  for (const { values, kind, side, sign } of all.filter((one) => one.kind !== "other")) {
    const way = Math.sign(values[1] - values[0]);
    if (!way) continue;
    const y = kind === "ideal" ? LINE - 14 : LINE + 14;
    parts.push(arrow(root, [x, y], [x + way * SIDE * REACH, y], kind + side));
    parts.push(label(root, sign, [x - way * 6, y + 4], `opd-s-sign`, way > 0 ? "end" : "start"));
  }
  parts.push(svg(root, "circle", { class: "opd-s-point", cx: x, cy: LINE, r: 3.5 }));
  return svg(root, "svg", { class: "opd-s", viewBox: `0 0 ${SIDE + 2 * MARGIN} ${2 * LINE}`, role: "img" }, ...parts);
}

/** Null unless the support has two or three tokens: more do not fit on paper. */
export function simplexFigure(root: HTMLElement, state: AlignmentState, row: number): HTMLElement | null {
  const h = maker(root);
  const { data, places, teacher } = state;
  const support = data.candidatesOf(row).filter((c) => data.inSupport(c, teacher));
  if (support.length < 2 || support.length > 3) return null;
  const names = support.map((c) => places.shown(data.tokenId(c))[0].trim() || "␣");
  const mass = data.node("student_mass", row, teacher);
  const p = support.map((c) => Math.exp(data.candidate("student_logprob", c)) / mass);
  const all = arrows(state, support, row);
  const figure =
    support.length === 3 ? triangle(root, names, p as unknown as Triple, all) : line(root, names, p[1], all);
  const said = [...all]
    .reverse()
    .filter((one) => one.kind !== "other")
    .map((one) => inWords(one.name, one.values, names));
  setAttribute(
    figure,
    "aria-label",
    `The student's distribution on ${names.join(", ")}, with gradients. ${said.join(". ")}`,
  );
  const caption = h(
    "figcaption",
    { class: "opd-quiet opd-a-note" },
    ...said.map((text) => h("div", {}, text)),
    h("div", {}, "Point: the student, on the support. Arrows are directions, of one length."),
  );
  return h("figure", { class: "opd-a-simplex" }, figure as unknown as HTMLElement, caption);
}
