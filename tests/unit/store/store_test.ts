import { assertEquals } from "@std/assert";
import { parseGeneratedId, toGeneratedId } from "../../../src/store/topic_store.ts";

Deno.test("A generated id names the session and the sequence number, and no other text does", () => {
  const session = crypto.randomUUID();
  for (const sequence of [0, 9, 10, 255, 999_999_999_999]) {
    assertEquals(parseGeneratedId(toGeneratedId(session, sequence)), { session, sequence });
  }
  const others = ["", ".", ".01", ".-1", ".1.2", ".1 ", ".1000000000000"].map((rest) => session + rest);
  for (const id of [...others, session.toUpperCase() + ".1", "a.1"]) assertEquals(parseGeneratedId(id), undefined, id);
});
