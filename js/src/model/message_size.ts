/** No message to the kernel may be so large that the host closes the connection: it is refused here, where the reader sees why. */

/** Jupyter's server closes the connection at 10 MiB a message. */
export const MOST_BYTES = 8 * 2 ** 20;
/** What the host wraps around a message is less than this. */
const WRAPPING = 2 ** 14;

/** Rounded up: what is too large must not read as what is allowed. */
const mebibytes = (bytes: number): string => `${(Math.ceil((10 * bytes) / 2 ** 20) / 10).toFixed(1)} MiB`;

/** Why a message is not sent; null where it can be. */
export function tooLarge(content: unknown): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify(content)).byteLength + WRAPPING;
  if (bytes <= MOST_BYTES) return null;
  return `this makes a message of ${mebibytes(bytes)}, and at most ${mebibytes(MOST_BYTES)} can be sent to the kernel: shorten the text, or set it from Python`;
}
