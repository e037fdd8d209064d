// Models of the stations. Most of them have different inputs and outputs.

import * as v from "valibot";

export const int = v.pipe(v.number(), v.integer());
/** A time as clients write it, and as handlers have it. */
export const Instant = v.pipe(v.string(), v.isoTimestamp(), v.toDate());
export const Code = v.pipe(v.string(), v.regex(/^[A-Z]{2}-\d{3}$/), v.description("Such as `AB-123`."));
export const Network = v.picklist(["north", "south", "7"]);

const Position = v.pipe(
  v.strictTuple([
    v.pipe(v.number(), v.minValue(-90), v.maxValue(90)),
    v.pipe(v.number(), v.gtValue(-180), v.ltValue(180)),
  ]),
  v.title("Position"),
);

export const NewStation = v.pipe(
  v.object({
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(12)),
    position: Position,
    altitude: v.optional(v.number(), 0),
    opened: Instant,
    closed: v.nullish(Instant),
    keeper: v.nullable(v.string(), null),
    serial: v.pipe(v.bigint()),
    tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.slug())), v.maxLength(3), v.excludes("secret")), []),
    limits: v.optional(v.record(v.picklist(["low", "high"]), v.optional(int)), {}),
  }),
  v.title("Station"),
);

/** The output, under the same title. */
export const Station = v.pipe(
  v.object({
    ...NewStation.entries,
    code: Code,
    network: Network,
    opened: v.date(),
    closed: v.nullish(v.date()),
    serial: v.bigint(),
  }),
  v.title("Station"),
);

export const StationChanges = v.partial(v.object(NewStation.entries));

const Temperature = v.pipe(
  v.object({ kind: v.literal("temperature"), celsius: v.pipe(v.number(), v.minValue(-273.15)) }),
  v.title("Temperature"),
);
const Rain = v.object({
  kind: v.literal("rain"),
  millimetres: v.pipe(v.number(), v.minValue(0), v.maxValue(500), v.multipleOf(0.5)),
  at: v.optional(Instant, "2026-01-01T00:00:00Z"),
});
const Sky = v.strictObject({
  kind: v.picklist(["clear", "cloudy"]),
  note: v.optional(v.pipe(v.string(), v.startsWith("* "), v.endsWith("."))),
});

export const NewReading = v.pipe(v.variant("kind", [Temperature, Rain, Sky]), v.title("Reading"));
export const Reading = v.variant("kind", [Temperature, v.object({ ...Rain.entries, at: v.date() }), Sky]);

export interface Region {
  name: string;
  parts: Region[];
  around?: Region | null | undefined;
}
export const Region: v.GenericSchema<Region> = v.pipe(
  v.object({
    name: v.pipe(v.string(), v.nonEmpty()),
    parts: v.pipe(v.array(v.lazy(() => Region)), v.maxLength(2)),
    around: v.nullish(v.lazy(() => Region)),
  }),
  v.title("Region"),
);

/** All keywords for objects, lists and texts. */
export const Settings = v.strictObject({
  mode: v.optional(v.union([v.literal("auto"), v.pipe(int, v.minValue(1), v.notValue(13))]), "auto"),
  loose: v.exactOptional(v.looseObject({ a: v.boolean() })),
  rest: v.optional(v.objectWithRest({ a: v.nullable(v.boolean()) }, v.pipe(v.string(), v.maxLength(3)))),
  counts: v.optional(v.pipe(v.record(v.pipe(v.string(), v.regex(/^n\d$/)), int), v.minEntries(1), v.maxEntries(2))),
  both: v.optional(v.intersect([v.looseObject({ a: v.string() }), v.looseObject({ b: v.optional(int, 3) })])),
  pair: v.optional(v.tuple([v.string(), v.optional(int, 1)])),
  list: v.optional(v.tupleWithRest([v.boolean()], v.pipe(v.string(), v.length(2)))),
  odd: v.optional(v.pipe(v.array(int), v.includes(1), v.maxLength(4))),
  some: v.optional(v.nonNullable(v.nullable(v.picklist(["x", 1, 5n])))),
  word: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z]+$/), v.minLength(2), v.notValue("no"))),
  address: v.optional(v.pipe(v.string(), v.email())),
  id: v.optional(v.pipe(v.string(), v.uuid())),
  day: v.optional(v.pipe(v.string(), v.isoDate())),
  colour: v.optional(v.fallback(v.picklist(["red", "blue"]), "red")),
});
