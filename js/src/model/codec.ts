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

interface Kind<T> {
  new (buffer: ArrayBuffer, offset: number, items: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

const reader =
  <T>(Kind: Kind<T>) =>
  (view: DataView, items: number, what: string): T => {
    const width = Kind.BYTES_PER_ELEMENT;
    expect(view, items, width, what);
    const [buffer, offset] = place(view, width);
    return new Kind(buffer, offset, items);
  };

export const float32 = /* @__PURE__ */ reader<Float32Array>(Float32Array);
export const uint32 = /* @__PURE__ */ reader<Uint32Array>(Uint32Array);
export const uint16 = /* @__PURE__ */ reader<Uint16Array>(Uint16Array);
export const int32 = /* @__PURE__ */ reader<Int32Array>(Int32Array);
export const uint8 = /* @__PURE__ */ reader<Uint8Array>(Uint8Array);
