/**
 * Inks, lines and grounds where the reader asks for more contrast: base.css has those of the usual themes, and every colour it sets
 * for the dark theme has one here. Text keeps 7:1 on every ground it stands on, lines and marks 3:1 on the page.
 */
import { fromOklch, parseHex, type Rgb } from "./colour";

/** What text is written in. */
const TEXT = ["muted", "good", "bad", "only", "student"] as const;
/** What is drawn and not read. */
const LINES = ["line", "line-strong", "focus"] as const;
/** What text stands on, beside the page. */
const GROUNDS = ["field", "selected", "only-field"] as const;

export type Ink = (typeof TEXT)[number] | (typeof LINES)[number] | (typeof GROUNDS)[number];
export const INKS = { text: TEXT, lines: LINES, grounds: GROUNDS };

export const MORE: Record<"light" | "dark", Record<Ink, Rgb>> = {
  light: {
    muted: fromOklch(0.37, 0.01, 255),
    good: fromOklch(0.38, 0.11, 150),
    bad: fromOklch(0.4, 0.17, 29),
    only: fromOklch(0.37, 0.08, 80),
    student: fromOklch(0.37, 0.01, 255),
    line: fromOklch(0.6, 0.008, 255),
    "line-strong": fromOklch(0.42, 0.01, 255),
    focus: fromOklch(0.42, 0.2, 262),
    field: parseHex("#f2f3f5"),
    selected: fromOklch(0.91, 0.02, 255),
    "only-field": parseHex("#fff4d1"),
  },
  dark: {
    muted: fromOklch(0.87, 0.01, 255),
    good: fromOklch(0.86, 0.16, 150),
    bad: fromOklch(0.83, 0.11, 25),
    only: fromOklch(0.9, 0.11, 88),
    student: fromOklch(0.84, 0.01, 255),
    line: fromOklch(0.56, 0.008, 255),
    "line-strong": fromOklch(0.8, 0.01, 255),
    focus: fromOklch(0.85, 0.11, 255),
    field: parseHex("#121417"),
    selected: fromOklch(0.29, 0.02, 255),
    "only-field": parseHex("#2b2407"),
  },
};
