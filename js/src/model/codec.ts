/** Bytes from Python as typed arrays. Hosts differ in offset and alignment, so nothing is assumed of a DataView. */

/** An id that is not known, or an unused column of a top-k buffer. */
export const NO_ID = 0xffffffff;

export class CodecError extends Error {
  override name = "CodecError";
}

function expect(view: DataView, items: number, width: number, what: string): void {
  if (view.byteLength !== items * width) {
    throw new CodecError(
      `${what}: ${view.byteLength} bytes found, ${items * width} expected (${items} items of ${width})`,
    );
  }
}

/** Views the bytes in place where they are aligned, copies where not. */
function place(view: DataView, width: number): [ArrayBuffer, number] {
  const buffer = view.buffer as ArrayBuffer;
  if (view.byteOffset % width === 0) return [buffer, view.byteOffset];
  return [buffer.slice(view.byteOffset, view.byteOffset + view.byteLength), 0];
}

export function float32(view: DataView, items: number, what: string): Float32Array {
  expect(view, items, 4, what);
  const [buffer, offset] = place(view, 4);
  return new Float32Array(buffer, offset, items);
}

export function uint32(view: DataView, items: number, what: string): Uint32Array {
  expect(view, items, 4, what);
  const [buffer, offset] = place(view, 4);
  return new Uint32Array(buffer, offset, items);
}

export function uint16(view: DataView, items: number, what: string): Uint16Array {
  expect(view, items, 2, what);
  const [buffer, offset] = place(view, 2);
  return new Uint16Array(buffer, offset, items);
}

export function int32(view: DataView, items: number, what: string): Int32Array {
  expect(view, items, 4, what);
  const [buffer, offset] = place(view, 4);
  return new Int32Array(buffer, offset, items);
}

export function uint8(view: DataView, items: number, what: string): Uint8Array {
  expect(view, items, 1, what);
  return new Uint8Array(view.buffer, view.byteOffset, items);
}
