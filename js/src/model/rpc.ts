/** Requests to Python: an id, one answer, an error with Python's own class and text, cancel by AbortSignal. */
import type { RpcCancel, RpcRequest, RpcResponse } from "./contract";
import { tooLarge } from "./message_size";

export interface Channel {
  send(content: RpcRequest | RpcCancel): void;
  /** Returns the function that ends listening. */
  listen(receive: (content: unknown, buffers?: readonly DataView[]) => void): () => void;
}

export class RpcError extends Error {
  override name = "RpcError";
  constructor(
    /** Name of the Python exception's class. */
    readonly type: string,
    message: string,
  ) {
    super(message);
  }
}

export interface Answer {
  result: Record<string, unknown>;
  /** Binary parts, in the order the method says. */
  buffers: readonly DataView[];
}

type Ask<T> = (method: RpcRequest["method"], params: Record<string, unknown>, signal: AbortSignal) => Promise<T>;

export interface Rpc {
  request: Ask<Answer["result"]>;
}

/** Where answers have binary parts. */
export interface BinaryRpc extends Rpc {
  fetch: Ask<Answer>;
}

interface Pending {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

const isResponse = (m: unknown): m is RpcResponse =>
  typeof m === "object" &&
  m !== null &&
  (m as RpcResponse).kind === "response" &&
  typeof (m as RpcResponse).id === "string";

export function createRpc(channel: Channel, life: AbortSignal): BinaryRpc {
  const pending = new Map<string, Pending>();
  // Several views share one comm and all hear every answer: the prefix keeps their ids apart.
  const prefix = Math.random().toString(36).slice(2, 10);
  let count = 0;

  const unlisten = channel.listen((message, buffers = []) => {
    if (!isResponse(message)) return;
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.ok) waiting?.resolve({ result: message.result, buffers });
    else waiting?.reject(new RpcError(message.error.type, message.error.message));
  });
  life.addEventListener(
    "abort",
    () => {
      unlisten();
      for (const { reject } of pending.values()) reject(life.reason);
      pending.clear();
    },
    { once: true },
  );

  const fetch: BinaryRpc["fetch"] = (method, params, signal) => {
    signal.throwIfAborted();
    const id = `${prefix}-${count++}`;
    const content: RpcRequest = { kind: "request", id, method, params };
    const refusal = tooLarge(content);
    if (refusal) return Promise.reject(new RpcError("MessageTooLarge", refusal));
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        if (!pending.delete(id)) return;
        reject(signal.reason);
        channel.send({ kind: "cancel", id });
      };
      const settled = (): void => signal.removeEventListener("abort", abandon);
      pending.set(id, {
        resolve(answer) {
          settled();
          resolve(answer);
        },
        reject(error) {
          settled();
          reject(error);
        },
      });
      signal.addEventListener("abort", abandon, { once: true });
      try {
        channel.send(content);
      } catch {
        // The comm is closed: the kernel was restarted, or has died.
        pending.delete(id);
        settled();
        reject(new RpcError("Disconnected", "the kernel no longer knows this view: run its cell again"));
      }
    });
  };
  return { fetch, request: async (...asked) => (await fetch(...asked)).result };
}
