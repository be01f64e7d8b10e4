/** Which of many steps have a row of text: first, last, the selected one, and others evenly between. */
export function rowsOfSteps(count: number, selected: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  const even = Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1)));
  return [...new Set([...even, ...(selected >= 0 ? [selected] : [])])].sort((a, b) => a - b);
}
