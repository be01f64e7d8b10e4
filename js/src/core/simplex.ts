/** Distributions over three tokens as points of a triangle, and gradients as directions in it. */

export type Triple = readonly [number, number, number];
export type Point = readonly [number, number];

/** Corners of a triangle with sides of 1, the first on top; y grows downwards, as on a screen. */
export const HEIGHT = Math.sqrt(3) / 2;
export const CORNERS: readonly [Point, Point, Point] = [
  [0.5, 0],
  [0, HEIGHT],
  [1, HEIGHT],
];

/**
 * Where three numbers lie: a distribution inside the triangle, or, as a difference of two, a direction in its plane. The map keeps
 * angles: what sums to 0 lies in the plane already, so that the angle seen is the one whose cosine is the alignment.
 */
export function project(v: Triple): Point {
  return [
    v[0] * CORNERS[0][0] + v[1] * CORNERS[1][0] + v[2] * CORNERS[2][0],
    v[0] * CORNERS[0][1] + v[1] * CORNERS[1][1] + v[2] * CORNERS[2][1],
  ];
}

/** The direction of a gradient, of length 1 on the screen; null where it has none. */
export function direction(gradient: Triple): Point | null {
  const [x, y] = project(gradient);
  const length = Math.hypot(x, y);
  return Number.isFinite(length) && length > 0 ? [x / length, y / length] : null;
}

/** Two or more numbers over their length, so that rows of unlike length can be drawn on one scale; as they are where there is none. */
export function unit(values: readonly number[]): number[] {
  const length = Math.hypot(...values.filter((v) => !Number.isNaN(v)));
  return length > 0 && Number.isFinite(length) ? values.map((v) => v / length) : [...values];
}
