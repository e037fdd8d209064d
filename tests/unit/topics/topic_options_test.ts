import { assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";
import { checkAgreement, resolveTopicOptions, type TopicOptions } from "../../../src/topics/topic_options.ts";

// deno-lint-ignore no-explicit-any -- options that TypeScript would refuse
type Untyped = any;

Deno.test("By default, a topic keeps its last 1,000 messages, a durable one those of 7 days, and both remember ids for two minutes", () => {
  const others = { schema: undefined, buffer: 256 };
  const policy = { bytes: 64 * 1024 * 1024, dedupe: 120_000 };
  assertEquals(resolveTopicOptions({}, "a"), {
    ...others,
    isDurable: false,
    policy: { ...policy, age: Infinity, count: 1000 },
  });
  assertEquals(resolveTopicOptions({ durable: true }, "a"), {
    ...others,
    isDurable: true,
    policy: { ...policy, age: 7 * 86_400_000, count: Infinity },
  });
});

Deno.test("A given retention has only its own bounds, and that of the size", () => {
  const policyOf = (options: TopicOptions) => resolveTopicOptions(options, "a").policy;
  assertEquals(policyOf({ retention: { age: "7d" }, dedupe: "1h" }), {
    age: 7 * 86_400_000,
    count: Infinity,
    bytes: 64 * 1024 * 1024,
    dedupe: 3_600_000,
  });
  assertEquals(policyOf({ retention: { count: 5, bytes: 1000 } }).count, 5);
  // A retention without a bound is like none.
  for (const durable of [true, false]) assertEquals(policyOf({ durable, retention: {} }), policyOf({ durable }));
  assertEquals(policyOf({ retention: { bytes: 1000 } }), {
    age: Infinity,
    count: Infinity,
    bytes: 1000,
    dedupe: 120_000,
  });
});

Deno.test("A mistake in the options is an error that names the topic, the option and the cure", () => {
  const table: [options: Untyped, error: typeof TypeError | typeof RangeError, message: string][] = [
    [{ lasting: true }, TypeError, 'Cannot make the topic "a": the option "lasting" is unknown, the nearest is '],
    [{ durable: "yes" }, TypeError, 'Cannot make the topic "a": durable must be true or false'],
    [{ schema: {} }, TypeError, 'Cannot make the topic "a": schema must be a valibot schema'],
    [{ retention: null }, TypeError, 'the retention of the topic "a": the options must be an object, got null'],
    [{ retention: "7d" }, TypeError, 'the retention of the topic "a": the options must be an object, got string'],
    [{ retention: [] }, TypeError, 'the retention of the topic "a": the options must be an object, got an array'],
    [{ retention: { size: 1 } }, TypeError, 'retention of the topic "a": the option "size" is unknown, the nearest is'],
    [{ retention: { age: "1w" } }, RangeError, 'the retention.age of the topic "a"'],
    [{ durable: true, dedupe: Infinity }, RangeError, "a store remembers ids for ten years at most, got "],
    [{ durable: true, dedupe: "3651d" }, RangeError, 'the dedupe of the topic "a"'],
    [
      { retention: { count: 0 } },
      RangeError,
      'the retention.count of the topic "a": it must be a whole number above 0',
    ],
    [{ retention: { count: 1.5 } }, RangeError, "the retention.count"],
    [{ retention: { count: "5" } }, RangeError, "the retention.count"],
    [
      { retention: { bytes: 2 ** 40 } },
      RangeError,
      'the retention.bytes of the topic "a": it must be a whole number from 1',
    ],
    [{ retention: { bytes: Infinity } }, RangeError, "the retention.bytes"],
    [{ retention: { bytes: NaN } }, RangeError, "the retention.bytes"],
    [{ dedupe: 0 }, RangeError, 'the dedupe of the topic "a"'],
    [{ buffer: -1 }, RangeError, 'the buffer of the topic "a": it must be a whole number from 1 to 100000, got -1'],
    [{ buffer: 1e6 }, RangeError, "the buffer"],
  ];
  for (const [options, error, message] of table) {
    assertThrows(() => resolveTopicOptions(options, "a"), error as ErrorConstructor, message);
  }
});

Deno.test("Repeated options must agree; missing options always agree", () => {
  const schema = v.string();
  const existing = resolveTopicOptions({ schema, retention: { age: "1h" }, buffer: 10 }, "a");
  const agreeing: TopicOptions[] = [
    {},
    { schema },
    { retention: { age: 3_600_000 } },
    { buffer: 10, dedupe: "120s" },
    { schema, retention: { age: "60m" }, buffer: 10, dedupe: "2m" },
  ];
  for (const options of agreeing) checkAgreement(existing, options, "a");
  const large: TopicOptions = { durable: true, retention: { bytes: 1e9 } };
  checkAgreement(resolveTopicOptions(large, "a"), { retention: { bytes: 1e9 } }, "a");
  const differing: [option: string, options: TopicOptions][] = [
    ["schema", { schema: v.string() }],
    ["retention", { schema, retention: {} }],
    ["retention", { retention: { age: "1h", count: 5 } }],
    ["dedupe", { dedupe: "3m" }],
    ["buffer", { buffer: 256 }],
    ["durable", { durable: true }],
  ];
  for (const [option, options] of differing) {
    const message =
      `Cannot declare the topic "a" again: its ${option} is another one, give the same options everywhere`;
    assertThrows(() => checkAgreement(existing, options, "a"), TypeError, message);
  }
});
