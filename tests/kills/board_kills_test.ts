/** The boards while their nodes are killed: each row has its message, and no message is there twice. */
import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { ProblemError } from "@webfw/core/client";
import { DatabaseSync } from "node:sqlite";
import { Changes } from "../../examples/board/state.ts";
import { BoardNodes, hasNginx } from "./board_nodes.ts";

const REQUESTS = 2_000;
const WRITERS = 8;
const RETRY_MS = 50;

Deno.test({
  name: "of 2,000 requests while nodes are killed, each row has its message, and none is doubled",
  ignore: !hasNginx,
}, async () => {
  await using nodes = await BoardNodes.start();
  const ada = await nodes.register("ada");
  const { id: teamId } = await ada.post("/teams", { body: { name: "Engines" } });
  const { id: boardId } = await ada.post("/teams/{teamId}/boards", { teamId, body: { name: "Notes" } });

  // A request that fails, or whose reply is lost, is sent again with its key.
  let next = 0;
  let repeated = 0;
  const add = async (title: string) => {
    const headers = { "idempotency-key": title };
    for (;;) {
      try {
        return await ada.post("/boards/{boardId}/cards", { boardId, body: { title } }, { headers });
      } catch (error) {
        if (error instanceof ProblemError && error.status < 409) throw error;
        repeated++;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  };
  let isWriting = true;
  const writing = Promise.all(Array.from({ length: WRITERS }, async () => {
    while (next < REQUESTS) await add(`card-${next++}`);
  })).finally(() => isWriting = false);
  let kills = 0;
  while (isWriting) await nodes.restart(kills++ % 2, "SIGKILL");
  await writing;

  using db = new DatabaseSync(nodes.file);
  const rows = db.prepare("SELECT id, title FROM cards").all().map(({ id, title }) => `${id} ${title}`);
  const reader = new App({ topics: { sqlite: nodes.file } });
  const changes = reader.topic(Changes);
  const end = await changes.head();
  const messages: string[] = [];
  for await (const entry of changes.subscribe({ from: "earliest" })) {
    if ("gap" in entry) throw new Error(`Messages are missing: ${entry.gap.reason}`);
    messages.push(`${entry.data.id} ${entry.data.title}`);
    if (entry.id >= end) break;
  }
  await reader.stop();
  assertEquals(rows.length, REQUESTS);
  assertEquals(messages.toSorted(), rows.toSorted());
  console.log(`${kills} nodes were killed, ${repeated} requests were repeated`);
});
