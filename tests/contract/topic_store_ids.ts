// What every store of topics must do with the ids of messages; a part of `testTopicStore`.

import { assert, assertEquals } from "@std/assert";
import { type Cursor, LOG_START, toGeneratedId, type TopicStore } from "../../src/store/topic_store.ts";
import { Random } from "../unit/support/random.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll, type StoreTest, trim } from "./store_fixture.ts";

const MINUTE = 60_000;

/**
 * Registers the tests.
 *
 * @param test Registers a test.
 * @param timed Registers one that sets the clock of the stores.
 */
export function testIds(test: StoreTest, timed: StoreTest): void {
  test("a message whose id is known is not stored again, and has the cursor of the first", async ({ one, other }) => {
    const log = logOf("duplicates");
    const { outcomes: [first] } = await append(one, log, [messageOf(1, "a")]);
    assertEquals(first!.duplicate, false);
    const { outcomes } = await append(other, log, [
      messageOf(2, "b"),
      messageOf(3, "a"),
      messageOf(4, "b"),
      messageOf(5),
    ]);
    assertEquals(outcomes.map(({ duplicate }) => duplicate), [false, true, true, false]);
    assertEquals([outcomes[1]!.cursor, outcomes[2]!.cursor], [first!.cursor, outcomes[0]!.cursor]);
    assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), [1, 2, 5]);
  });

  test("names and ids may end with texts that have a meaning in keys", async ({ one, other }) => {
    for (const end of ["z".repeat(20), "head", "0".repeat(22), "\0"]) {
      const log = logOf(`log ${end}`);
      for (const id of [end, `order-${end}`]) {
        const { outcomes: [first] } = await append(one, log, [messageOf(1, id)]);
        const { outcomes } = await append(other, log, [messageOf(2, id)]);
        assertEquals(outcomes, [{ cursor: first!.cursor, duplicate: true }]);
      }
      assertEquals(dataOf((await other.read(log, LOG_START, ALL)).messages), [1, 1]);
    }
  });

  test("of messages of one id that are appended at once, one is stored", async ({ one, other }) => {
    const log = logOf("race");
    for (let round = 0; round < 20; round++) {
      const id = `id ${round}`;
      const results = await Promise.all([one, other].map((store) => append(store, log, [messageOf(round, id)])));
      const outcomes = results.map(({ outcomes: [outcome] }) => outcome!);
      assertEquals(outcomes.map(({ duplicate }) => duplicate).sort(), [false, true]);
      assertEquals(outcomes[0]!.cursor, outcomes[1]!.cursor);
    }
    assertEquals((await readAll(one, log)).length, 20);
  });

  timed("an id is remembered for its time, whether its message is kept or not", async ({ one, clock }) => {
    const log = logOf("window", { count: 1, dedupe: MINUTE });
    const { outcomes: [first] } = await append(one, log, [messageOf(0, "a")]);
    await append(one, log, [messageOf(1, "b")]);
    await trim(one, log);
    clock.advance(MINUTE);
    assertEquals((await append(one, log, [messageOf(2, "a")])).outcomes, [{ cursor: first!.cursor, duplicate: true }]);
  });

  test("a generated id is remembered if its publisher may abort", async ({ one, other }) => {
    const log = logOf("fresh");
    const session = crypto.randomUUID();
    const { signal } = new AbortController();
    const batch = [messageOf("own", "id"), messageOf("first"), messageOf("id", "id"), messageOf("second")];
    const { outcomes } = await append(one, log, batch, { session, sequence: 0, signal });
    for (const index of [3, 1]) {
      const again = await append(other, log, [messageOf("again", toGeneratedId(session, index))]);
      assertEquals(again.outcomes, [{ cursor: outcomes[index]!.cursor, duplicate: true }]);
    }
    const { outcomes: [another] } = await append(other, log, [
      messageOf("another", toGeneratedId(crypto.randomUUID(), 1)),
    ]);
    assertEquals(another!.duplicate, false);
    assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), ["own", "first", "second", "another"]);
  });

  test("a batch with a message that was published again before it arrived stores the others", async ({ one, other }) => {
    const log = logOf("overtaken");
    const session = crypto.randomUUID();
    const { signal } = new AbortController();
    const { outcomes: [again] } = await append(other, log, [messageOf("again", toGeneratedId(session, 0))]);
    const { outcomes } = await append(one, log, [messageOf("again"), messageOf("other")], {
      session,
      sequence: 0,
      signal,
    });
    assertEquals(outcomes[0], { cursor: again!.cursor, duplicate: true });
    const { outcomes: [known] } = await append(other, log, [messageOf("other", toGeneratedId(session, 1))]);
    assertEquals(known, { cursor: outcomes[1]!.cursor, duplicate: true });
    assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), ["again", "other"]);
  });

  test("the batches of a session are stored, and the outcome of each sequence number of the last one is known", async (nodes) => {
    const { one, other } = nodes;
    const log = logOf("session");
    const session = crypto.randomUUID();
    const { signal } = new AbortController();
    await append(one, log, [messageOf(0), messageOf(1)], { session, sequence: 0, signal });
    await append(one, log, [messageOf("id", "id")], { session, sequence: 2, signal });
    const { outcomes } = await append(one, log, [messageOf(3), messageOf(4)], { session, sequence: 3, signal });
    for (const number of [4, 3]) {
      const again = await append(other, log, [messageOf("again", toGeneratedId(session, number))]);
      assertEquals(again.outcomes, [{ cursor: outcomes[number - 3]!.cursor, duplicate: true }]);
    }
    assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), [0, 1, "id", 3, 4]);
  });

  test("a session continues after a message that was published again before it arrived", async ({ one, other }) => {
    const log = logOf("overtaken session");
    const session = crypto.randomUUID();
    const { signal } = new AbortController();
    await append(one, log, [messageOf(0)], { session, sequence: 0, signal });
    const { outcomes: [again] } = await append(other, log, [messageOf("again", toGeneratedId(session, 1))]);
    const { outcomes } = await append(one, log, [messageOf(1), messageOf(2)], { session, sequence: 1, signal });
    assertEquals(outcomes[0], { cursor: again!.cursor, duplicate: true });
    for (const sequence of [3, 4]) await append(one, log, [messageOf(sequence)], { session, sequence, signal });
    for (const [number, isKnown] of [[1, true], [2, true], [4, true], [5, false]] as const) {
      const { outcomes: [outcome] } = await append(other, log, [messageOf(number, toGeneratedId(session, number))]);
      assertEquals(outcome!.duplicate, isKnown);
    }
    assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), [0, "again", 2, 3, 4, 5]);
  });

  test("of batches with many ids that are appended at once, each id is one message", async ({ one, other }) => {
    const random = new Random(7);
    const log = logOf("many ids");
    const cursorOfId = new Map<string, Cursor>();
    const stored: { cursor: Cursor; data: string }[] = [];
    const publish = async (store: TopicStore, node: string): Promise<void> => {
      for (let round = 0; round < 12; round++) {
        const batch = Array.from({ length: 25 }, (_, index) => {
          const id = random.oneIn(5) ? undefined : `id ${round * 12 + random.below(40)}`;
          return messageOf(`${node} ${round} ${index}`, id);
        });
        const { outcomes } = await append(store, log, batch);
        for (const [index, { cursor, duplicate }] of outcomes.entries()) {
          const { id, data } = batch[index]!;
          if (!duplicate) stored.push({ cursor, data: JSON.parse(data) });
          if (id === undefined) continue;
          assertEquals(cursorOfId.get(id) ?? cursor, cursor);
          cursorOfId.set(id, cursor);
        }
        const own = outcomes.filter(({ duplicate }) => !duplicate).map(({ cursor }) => cursor);
        assertEquals(own, own.toSorted());
      }
    };
    await Promise.all([publish(one, "one"), publish(other, "other")]);
    stored.sort((a, b) => a.cursor < b.cursor ? -1 : 1);
    const messages = await readAll(one, log);
    assertEquals(messages.map(({ cursor, data }) => ({ cursor, data: JSON.parse(data) })), stored);
    const cursors = new Set(stored.map(({ cursor }) => cursor));
    assert([...cursorOfId.values()].every((cursor) => cursors.has(cursor)));
  });

  test("ids belong to their topic", async ({ one }) => {
    for (const name of ["a", "b"]) {
      assertEquals((await append(one, logOf(name), [messageOf(name, "id")])).outcomes[0]!.duplicate, false);
    }
  });
}
