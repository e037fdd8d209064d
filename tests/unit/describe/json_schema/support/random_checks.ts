// Random checks of texts and numbers.

import * as v from "valibot";
import type { Random } from "../../../support/random.ts";

/** A text with two checks. */
export function randomText(random: Random): v.GenericSchema {
  const checks: (() => v.PipeAction<string, string, v.BaseIssue<unknown>>)[] = [
    () => v.minLength(random.below(3)),
    () => v.maxLength(1 + random.below(3)),
    () => v.length(3),
    () => v.nonEmpty(),
    () => v.empty(),
    () => v.codePoints(3),
    () => v.regex(/^[a-c]+$/),
    () => v.regex(/^[a-jt]+$/u),
    () => v.regex(/^\w-?/),
    () => v.regex(/[^a-b\s]/),
    () => v.startsWith("a"),
    () => v.endsWith("c"),
    () => v.includes("b"),
    () => v.excludes("b"),
    () => v.value("abc"),
    () => v.values(["a", "abc"]),
    () => v.notValue("a"),
    () => v.notValues(["a", "b"]),
  ];
  return v.pipe(v.string(), random.pick(checks)(), random.pick(checks)());
}

/** A number with two checks. */
export function randomNumber(random: Random): v.GenericSchema {
  const checks: (() => v.PipeAction<number, number, v.BaseIssue<unknown>>)[] = [
    () => v.integer(),
    () => v.safeInteger(),
    () => v.finite(),
    () => v.minValue(random.below(5)),
    () => v.maxValue(random.below(7)),
    () => v.gtValue(0),
    () => v.ltValue(5),
    () => v.multipleOf(2),
    () => v.value(5),
    () => v.notValue(5),
    () => v.values([1, 5, 6]),
  ];
  return v.pipe(v.number(), random.pick(checks)(), random.pick(checks)());
}

/** A text of some format, with texts that have it and others. */
export function randomFormat(random: Random): { schema: v.GenericSchema; isExact: boolean; make: () => string } {
  const formats: (readonly [v.GenericSchema, ...string[]])[] = [
    [v.pipe(v.string(), v.isoTime()), "23:59", "23:59:00"],
    [v.pipe(v.string(), v.isoTimeSecond()), "23:59:00", "23:59"],
    [v.pipe(v.string(), v.isoDateTime()), "2026-01-31 10:00", "2026-01-31T10:00:00Z"],
    [v.pipe(v.string(), v.isoWeek()), "2026-W01", "2026-W54"],
    [v.pipe(v.string(), v.mac()), "00:1b:44:11:3a:b7", "00:1b:44:11:3a"],
    [v.pipe(v.string(), v.hexColor()), "#Fff", "fff"],
    [v.pipe(v.string(), v.hexadecimal()), "0xAb", "xyz"],
    [v.pipe(v.string(), v.slug()), "a-b_c", "a--b"],
    [v.pipe(v.string(), v.emoji()), "😀", "a"],
    [v.pipe(v.string(), v.hash(["md5", "crc32"])), "deadBEEF", "beef"],
    [v.pipe(v.string(), v.digits()), "007", "-1"],
  ];
  // A format is a hint, and here no rule.
  const inexact: typeof formats = [
    [v.pipe(v.string(), v.email()), "a@b.co", "A+1@b-c.org"],
    [v.pipe(v.string(), v.rfcEmail()), "a/b@c", "a@b.co"],
    [v.pipe(v.string(), v.uuid()), "6F9619FF-8B86-D011-B42D-00C04FC964FF", "6f9619ff-8b86-d011-b42d-00c04fc964ff"],
    [v.pipe(v.string(), v.isoDate()), "2026-02-31", "2026-13-01"],
    [v.pipe(v.string(), v.isoTimestamp()), "2026-01-31T10:00:00Z", "2026-01-31 10:00:00.5 +02"],
    [v.pipe(v.string(), v.ipv4()), "127.0.0.1", "256.0.0.1"],
    [v.pipe(v.string(), v.ipv6()), "FE80::1", "fe80::1%ſ", "::g"],
    [v.pipe(v.string(), v.ip()), "127.0.0.1", "::1"],
    [v.pipe(v.string(), v.base64()), "YWJj", "YWJj="],
    [v.pipe(v.string(), v.domain()), "Example.com", "com"],
    [v.pipe(v.string(), v.url()), "https://example.com/a b", "nowhere"],
    [v.pipe(v.string(), v.isbn()), "978-3-16-148410-0", "978-3-16-148410-1"],
    [v.pipe(v.string(), v.creditCard()), "4111 1111 1111 1111", "4111 1111 1111 1112"],
    [v.pipe(v.string(), v.imei()), "490154203237518", "490154203237519"],
    [v.pipe(v.string(), v.graphemes(1)), "é", "e\u0301"],
    [v.pipe(v.string(), v.minWords("en", 2)), "a b", "ab"],
    [v.pipe(v.string(), v.maxBytes(3)), "éa", "éé"],
    [v.pipe(v.string(), v.regex(/^ä$/i)), "Ä", "a"],
    [v.pipe(v.string(), v.regex(/^[a-c]+$/iu)), "Ab", "x"],
    [v.pipe(v.string(), v.regex(/^\w\-$/)), "a-", "-"],
    [v.pipe(v.string(), v.regex(/^[^a]$/)), "b", "😀"],
  ];
  const isExact = !random.oneIn(4);
  const [schema, ...values] = random.pick(isExact ? formats : inexact);
  return { schema, isExact, make: () => random.pick(values) };
}
