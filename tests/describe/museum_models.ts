// Models of the museum: the usual inputs and outputs, each used in several places.

import { UploadFile } from "@webfw/core";
import * as v from "valibot";

export const int = v.pipe(v.number(), v.safeInteger());
export const Id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
/** A time as clients write it, and as handlers have it. */
export const Instant = v.pipe(v.string(), v.isoTimestamp(), v.toDate());
export const Kind = v.picklist(["painting", "sculpture", "coin"]);
const Name = v.pipe(v.string(), v.minLength(1), v.maxLength(80));
const Trimmed = v.pipe(v.string(), v.trim(), v.nonEmpty());

export const Person = v.pipe(
  v.object({
    id: v.pipe(v.string(), v.uuid()),
    name: Name,
    email: v.pipe(v.string(), v.email()),
    homepage: v.optional(v.pipe(v.string(), v.url())),
    born: v.optional(v.pipe(v.string(), v.isoDate())),
  }),
  v.title("Person"),
);

export const NewExhibit = v.pipe(
  v.object({
    name: Name,
    kind: Kind,
    year: v.nullable(v.pipe(int, v.minValue(-5000), v.maxValue(2100))),
    weight: v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1e6))),
    tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.slug())), v.maxLength(5)), []),
    acquired: Instant,
    insured: v.optional(v.bigint()),
    size: v.object({ width: v.number(), height: v.number(), depth: v.optional(v.number(), 0) }),
    maker: Person,
    lender: v.nullable(Person),
    note: v.nullish(v.string()),
    shown: v.optional(v.boolean(), true),
    texts: v.optional(v.record(v.string(), v.string()), {}),
    colour: v.optional(v.tuple([int, int, int])),
    place: v.optional(v.strictTuple([v.number(), v.number()])),
  }),
  v.title("NewExhibit"),
);

/** The output of the same model. */
export const Exhibit = v.pipe(
  v.object({ ...NewExhibit.entries, id: Id, acquired: v.date(), checked: v.nullable(v.date()) }),
  v.title("Exhibit"),
);
export type Exhibit = v.InferOutput<typeof Exhibit>;

export const ExhibitChanges = v.partial(v.object({
  name: Name,
  year: NewExhibit.entries.year,
  shown: v.boolean(),
}));

interface Room {
  name: string;
  rooms: Room[];
  curator?: v.InferOutput<typeof Person> | undefined;
  next?: Room | null | undefined;
}
export const Room: v.GenericSchema<Room> = v.pipe(
  v.object({
    name: v.string(),
    rooms: v.array(v.lazy(() => Room)),
    curator: v.optional(Person),
    next: v.nullish(v.lazy(() => Room)),
  }),
  v.title("Room"),
);

const Tour = v.pipe(v.object({ kind: v.literal("tour"), guide: Person, at: Instant }), v.title("Tour"));
const Concert = v.pipe(v.object({ kind: v.literal("concert"), pieces: v.array(v.string()) }), v.title("Concert"));
/** An option without a title. */
const Talk = v.object({ kind: v.picklist(["talk", "lecture"]), minutes: v.optional(int, 45) });
export const Happening = v.pipe(v.variant("kind", [Tour, Concert, Talk]), v.title("Happening"));
export const SentHappening = v.pipe(
  v.variant("kind", [v.pipe(v.object({ ...Tour.entries, at: v.date() }), v.title("Tour")), Concert, Talk]),
  v.title("Happening"),
);

export const Measure = v.pipe(
  v.object({
    value: v.union([v.number(), v.literal("unknown"), v.null()]),
    by: v.union([Person, v.string()]),
    either: v.optional(v.union([v.object({ cm: v.number() }), v.object({ inches: v.number() })])),
    exact: v.optional(v.literal(7)),
    level: v.optional(v.picklist([1, 2, 3]), 1),
    anything: v.optional(v.unknown()),
    loose: v.optional(v.looseObject({ a: v.string() })),
    strict: v.optional(v.strictObject({ a: v.string() })),
    steps: v.optional(v.pipe(v.number(), v.multipleOf(0.5), v.minValue(-1.5))),
    both: v.optional(v.intersect([v.object({ a: v.string() }), v.object({ b: int })])),
    grid: v.optional(v.array(v.array(int)), [[0]]),
    text: v.optional(v.pipe(v.string(), v.regex(/^[A-Z]{2}-\d{3}$/))),
    address: v.optional(v.pipe(v.string(), v.ip())),
    time: v.optional(v.pipe(v.string(), v.isoTime())),
  }),
  v.title("Measure"),
);

/** A value is turned into another one on its way in, or out. */
export const Converted = v.pipe(
  v.object({
    lower: v.pipe(v.string(), v.toLowerCase()),
    count: v.pipe(v.string(), v.decimal(), v.toNumber()),
    length: v.pipe(v.string(), v.transform((text) => text.length)),
    day: v.optional(v.pipe(v.string(), v.isoDate(), v.transform((text) => new Date(text))), "2026-01-01"),
  }),
  v.title("Converted"),
);
export const Conversion = v.pipe(
  v.object({
    lower: v.string(),
    count: v.number(),
    length: v.pipe(int, v.transform((length) => length * 2)),
    day: v.pipe(v.date(), v.transform((day) => day.toISOString().slice(0, 10))),
  }),
  v.title("Conversion"),
);

/** Another model of a title that is taken. */
export const Staff = v.pipe(v.object({ number: int, name: Trimmed }), v.title("Person"));

export const Ticket = v.pipe(
  v.object({
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(40)),
    email: v.pipe(v.string(), v.email()),
    count: v.optional(v.pipe(int, v.minValue(1), v.maxValue(10)), 1),
    day: v.optional(v.pipe(v.string(), v.isoDate())),
    reduced: v.optional(v.boolean(), false),
    rooms: v.optional(v.array(v.string()), []),
    seats: v.optional(v.array(int), []),
    address: v.optional(v.strictObject({ street: v.string(), city: v.optional(v.string()) })),
  }),
  v.title("Ticket"),
);

export const Pictures = v.pipe(
  v.object({
    caption: v.pipe(v.string(), v.maxLength(80)),
    cover: v.pipe(UploadFile, v.mimeType(["image/png"]), v.maxSize(10_000)),
    back: v.optional(UploadFile),
    details: v.optional(v.array(UploadFile), []),
    year: v.optional(int),
    rights: v.optional(v.strictObject({ holder: v.string(), until: v.optional(int) })),
    labels: v.optional(v.array(v.object({ text: v.string() })), []),
  }),
  v.title("Pictures"),
);
