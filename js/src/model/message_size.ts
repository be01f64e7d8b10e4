/** No message to the kernel may be so large that the host closes the connection: it is refused here, where the reader sees why. */

/** Jupyter's server closes the connection at 10 MiB a message. */
export const MOST_BYTES = 8 * 2 ** 20;
/** What the host wraps around a message is less than this. */
const WRAPPING = 2 ** 14;

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** Why a message is not sent; null where it can be. */
export function tooLarge(content: unknown): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify(content)).byteLength + WRAPPING;
  if (bytes <= MOST_BYTES) return null;
  const most = mebibytes(MOST_BYTES);
  return `this makes a message of ${mebibytes(bytes)}, and at most ${most} can be sent to the kernel: shorten the text, or set it from Python`;
}
