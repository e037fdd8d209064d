import { assertEquals } from "@std/assert";
import { newBatchKey, toBatchId, toBatchPlace } from "../../../src/topics/batch_id.ts";

Deno.test("The id of a message of a batch names its place there, and no other text does", () => {
  const key = newBatchKey();
  for (const index of [0, 9, 10, 255]) assertEquals(toBatchPlace(toBatchId(key, index)), { key, index });
  const others = [key, `${key}.`, `${key}.01`, `${key}.-1`, `${key}.1.2`, `${key}.1 `, key.toUpperCase() + ".1", "a.1"];
  for (const id of others) assertEquals(toBatchPlace(id), undefined, id);
});
