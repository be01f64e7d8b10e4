import { expect, it, vi } from "vitest";
import { MOST_BYTES } from "../src/model/message_size";
import { createRpc, RpcError } from "../src/model/rpc";

it("sends no message of more than 8 MiB, counted in bytes as they travel", async () => {
  const send = vi.fn();
  const life = new AbortController();
  const rpc = createRpc({ send, listen: () => () => undefined }, life.signal);
  const ask = (text: string): Promise<unknown> =>
    rpc.request("set_context", { teacher: "T", rollout: 0, text }, life.signal);

  const sent = ask("a".repeat(MOST_BYTES - 2 ** 15)).catch(() => undefined);
  expect(send).toHaveBeenCalledTimes(1);
  for (const text of ["a".repeat(MOST_BYTES), "语".repeat(MOST_BYTES / 3), "\u0000".repeat(MOST_BYTES / 6)]) {
    const refused = ask(text);
    await expect(refused).rejects.toThrow(RpcError);
    await expect(refused).rejects.toThrow(
      /of 8\.1 MiB, and at most 8\.0 MiB can be sent to the kernel: shorten the text/,
    );
  }
  expect(send).toHaveBeenCalledTimes(1);
  life.abort(new Error("over"));
  await sent;
});
