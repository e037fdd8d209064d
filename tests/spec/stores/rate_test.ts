// Section 3 of the contract of stores: "**Rate.** `consume(name, { rate: { limit: 10, per: "1s" } })`
// for all nodes together."

import { assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { testConsumerRates } from "../../contract/consumer_rates.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

testConsumerRates("in a file", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body(folder.within("topics.sqlite"));
});

testConsumerRates("in SQLite", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body({ sqlite: folder.within("shop.sqlite") });
});

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
const untyped = (value: any) => value;

Deno.test("mistakes in `rate` are named where they are made", () => {
  const make = (rate: unknown, more: ConsumeOptions = {}) => () =>
    new App().topic("orders").consume("mail", untyped({ rate, ...more }), () => {});
  for (
    const [rate, error, message, more] of [
      [{ limit: 3 }, RangeError, "Cannot set the rate.per of the consumer"],
      [{ limit: 3, per: "1s", burst: 2 }, TypeError, 'the option "rate.burst" is unknown'],
      [10, TypeError, '"rate" must be an object, got number; there are limit, per'],
      [{ limit: 0, per: "1s" }, RangeError, "Cannot set the rate.limit of the consumer"],
      [{ limit: 1.5, per: "1s" }, RangeError, "it must be a whole number from 1 to 1000000, got 1.5"],
      [{ limit: 1, per: "100ms" }, RangeError, "rate.per must be from 1 second to 1 day"],
      [{ limit: 1, per: "2d" }, RangeError, "rate.per must be from 1 second to 1 day"],
      [
        { limit: 10, per: "1s" },
        RangeError,
        "a batch of 11 messages exceeds the rate.limit 10, use a smaller batch.size",
        { batch: { size: 11 } },
      ],
    ] as const
  ) assertThrows(make(rate, untyped(more ?? {})), error, message);
});
