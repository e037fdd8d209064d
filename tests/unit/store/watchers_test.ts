import { assertEquals } from "@std/assert";
import { Watchers } from "../../../src/store/topic_store.ts";

Deno.test("A watcher that is added during a call gets the next call first", () => {
  const watchers = new Watchers();
  const calls: string[] = [];
  watchers.add("orders", () => {
    calls.push("first");
    if (calls.length === 1) watchers.add("orders", () => calls.push("second"));
  });
  watchers.call("orders");
  assertEquals(calls, ["first"]);
  watchers.call("orders");
  assertEquals(calls, ["first", "first", "second"]);
});

Deno.test("A watcher that is removed during a call is not called", () => {
  const watchers = new Watchers();
  const calls: string[] = [];
  watchers.add("orders", () => {
    calls.push("first");
    removeSecond();
  });
  const removeSecond = watchers.add("orders", () => calls.push("second"));
  watchers.call("orders");
  assertEquals(calls, ["first"]);
});

Deno.test("A watcher that replaces itself does not prolong a call", () => {
  const watchers = new Watchers();
  let calls = 0;
  const replace = (): void => {
    remove();
    // Without an end, this would be a loop for ever.
    if (++calls < 10) remove = watchers.add("orders", replace);
  };
  let remove = watchers.add("orders", replace);
  watchers.call("orders");
  assertEquals(calls, 1);
});

Deno.test("One function that watches twice stays until both watches end", () => {
  const watchers = new Watchers();
  let calls = 0;
  const count = (): void => void calls++;
  const [endFirst, endSecond] = [watchers.add("orders", count), watchers.add("orders", count)];
  endFirst();
  endFirst();
  watchers.call("orders");
  assertEquals([calls, watchers.has("orders")], [1, true]);
  endSecond();
  assertEquals(watchers.has("orders"), false);
});
