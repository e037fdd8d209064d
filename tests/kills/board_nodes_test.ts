/** The boards on two nodes behind nginx: what a browser sees while the nodes restart. */
import { assert, assertEquals } from "@std/assert";
import { ProblemError } from "@webfw/core/client";
import { BoardNodes, hasNginx } from "./board_nodes.ts";

const WRITERS = 4;
/** Of both nodes together. CI of each night sets more. */
const RESTARTS = Number(Deno.env.get("WEBFW_RESTARTS") ?? 4);
const RETRY_MS = 100;

Deno.test(
  { name: "rolling restarts of both nodes lose no request, no event and no mail", ignore: !hasNginx },
  async () => {
    await using nodes = await BoardNodes.start();
    const ada = await nodes.register("ada");
    const { id: teamId } = await ada.post("/teams", { body: { name: "Engines" } });
    const { id: boardId } = await ada.post("/teams/{teamId}/boards", { teamId, body: { name: "Notes" } });

    // Two users see each other, on whichever nodes their sockets are.
    const bob = await nodes.register("bob");
    await ada.post("/teams/{teamId}/members", { teamId, body: { email: "bob@example.com" } });
    const { members } = await ada.get("/teams/{teamId}", { teamId });
    const bobId = members.find(({ name }) => name === "bob")!.id;
    {
      await using first = await ada.websocket("/boards/{boardId}/online", { boardId });
      await using _second = await bob.websocket("/boards/{boardId}/online", { boardId });
      for await (const names of first) if (names.length === 2) break;
    }

    // A reader of events, which reconnects by itself.
    const { head } = await ada.get("/boards/{boardId}", { boardId });
    const stop = new AbortController();
    const seen: string[] = [];
    let wanted = Infinity;
    const reading = (async () => {
      const options = { headers: { "last-event-id": head }, signal: stop.signal };
      for await (const event of ada.events("/boards/{boardId}/events", { boardId }, options)) {
        if (event.gap) throw new Error(`Events are missing: ${event.gap.reason}`);
        seen.push(`${event.data.title} ${event.data.version}`);
        if (seen.length >= wanted) break;
      }
    })();

    // Each writer adds a card, assigns it, and reads the teams, again and again. No request is repeated.
    let isRestarting = true;
    let writes = 0;
    const failures: unknown[] = [];
    const write = async (writer: number) => {
      for (let count = 0; isRestarting; count++) {
        try {
          const title = `${writer}-${count}`;
          const { id: cardId } = await ada.post("/boards/{boardId}/cards", { boardId, body: { title } });
          writes++;
          await ada.patch("/boards/{boardId}/cards/{cardId}", { boardId, cardId, body: { assignee: bobId } });
          await ada.get("/teams");
        } catch (error) {
          failures.push(error);
        }
      }
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    const codes: number[] = [];
    try {
      for (let count = 0; count < RESTARTS; count++) codes.push(await nodes.restart(count % 2));
    } finally {
      isRestarting = false;
      await writing;
    }

    assertEquals(codes, Array(RESTARTS).fill(0));
    assertEquals(failures, []);
    const { cards } = await ada.get("/boards/{boardId}", { boardId });
    assertEquals(cards.length, writes);
    // The last events may not have arrived yet.
    wanted = 2 * writes;
    if (seen.length >= wanted) stop.abort();
    await reading;
    assertEquals(seen.toSorted(), cards.flatMap(({ title }) => [`${title} 1`, `${title} 2`]).toSorted());
    const mails = await nodes.mails(writes);
    const assigned = mails.map((mail) => mail.match(/the card "(.*)" of the board/)?.[1]);
    assertEquals(assigned.toSorted(), cards.map(({ title }) => title).toSorted());
    assert(writes > WRITERS);
    console.log(`${writes} cards were added, ${failures.length} requests failed`);
  },
);

Deno.test({
  name: "a card that is added while its node is killed is added once, and its event comes",
  ignore: !hasNginx,
}, async () => {
  await using nodes = await BoardNodes.start();
  const ada = await nodes.register("ada");
  const { id: teamId } = await ada.post("/teams", { body: { name: "Engines" } });
  const { id: boardId } = await ada.post("/teams/{teamId}/boards", { teamId, body: { name: "Notes" } });
  const { head } = await ada.get("/boards/{boardId}", { boardId });
  const titles = Array.from({ length: 20 }, (_, index) => `${index}`);
  const adding = titles.map(async (title) => {
    const headers = { "idempotency-key": `k-${title}` };
    for (;;) {
      try {
        return await ada.post("/boards/{boardId}/cards", { boardId, body: { title } }, { headers });
      } catch (error) {
        // The key is in progress, or the proxy has reached no node: repeat the request.
        if (error instanceof ProblemError && error.status < 409) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  });
  await Promise.race(adding);
  await nodes.restart(0, "SIGKILL");
  await Promise.all(adding);
  const { cards } = await ada.get("/boards/{boardId}", { boardId });
  assertEquals(cards.map(({ title }) => title).toSorted(), titles.toSorted());
  const seen = new Set<string>();
  const options = { headers: { "last-event-id": head } };
  for await (const event of ada.events("/boards/{boardId}/events", { boardId }, options)) {
    if (event.gap) throw new Error(`Events are missing: ${event.gap.reason}`);
    seen.add(event.data.title);
    if (seen.size === titles.length) break;
  }
});
