import { assertEquals } from "@std/assert";
import { CronTimes } from "../../../../src/work/cron/times.ts";
import { Random } from "../../support/random.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Zones, and a year in which they change: gaps at and around midnight, half hours, two hours. */
const YEARS: readonly (readonly [timeZone: string, year: number])[] = [
  ["America/Nuuk", 2026],
  ["America/Santiago", 2026],
  ["America/Havana", 2026],
  ["America/New_York", 2026],
  ["America/St_Johns", 2010],
  ["Asia/Beirut", 2026],
  ["Asia/Amman", 2021],
  ["Africa/Cairo", 2026],
  ["Africa/Casablanca", 2026],
  ["Atlantic/Azores", 2026],
  ["Antarctica/Troll", 2026],
  ["Australia/Lord_Howe", 2026],
  ["Europe/Berlin", 2026],
  ["Pacific/Apia", 2011],
  ["Pacific/Chatham", 2026],
];

interface Minute {
  readonly time: number;
  /** The local time: `2026-03-28 23:30`. */
  readonly local: string;
}

/** All minutes from one moment to another, with their local times. */
function minutesOf(timeZone: string, from: number, to: number): Minute[] {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return Array.from({ length: (to - from) / MINUTE }, (_, index) => {
    const time = from + index * MINUTE;
    return { time, local: format.format(time) };
  });
}

/** The days around each change of the offset in a year. */
function* changes(timeZone: string, year: number): Generator<readonly [from: number, to: number]> {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const offset = (time: number) => format.formatToParts(time).find(({ type }) => type === "timeZoneName")!.value;
  for (let time = Date.UTC(year, 0, 1); time < Date.UTC(year + 1, 0, 1); time += DAY) {
    if (offset(time) !== offset(time + DAY)) yield [time - DAY, time + 3 * DAY];
  }
}

/** The times of a schedule between two moments, and the last ones that it finds again. */
function timesOf(schedule: string, timeZone: string, from: number, to: number): number[] {
  const cron = new CronTimes({ name: "t", schedule, timeZone, catchUp: 0, handler: () => {} });
  const times: number[] = [];
  for (let time = cron.next(from - 1); time < to; time = cron.next(time)) times.push(time);
  for (const [index, time] of times.entries()) {
    const before = times[index - 1];
    assertEquals(cron.latest(from - 1, time), time);
    assertEquals(cron.latest(from - 1, time - 1), before);
    if (before !== undefined) assertEquals(cron.latest(before, time - 1), undefined);
  }
  return times;
}

const two = (number: number) => String(number).padStart(2, "0");

for (const [timeZone, year] of YEARS) {
  Deno.test(`Each local time that is skipped or doubled runs once: ${timeZone} in ${year}`, () => {
    const random = new Random(year);
    let count = 0;
    for (const [from, to] of changes(timeZone, year)) {
      count++;
      const minutes = minutesOf(timeZone, from, to);
      const first = new Map<string, number>();
      for (const { time, local } of minutes) if (!first.has(local)) first.set(local, time);
      // Local times before the first day's end may have come before the first minute.
      const begin = minutes[0]!.local.slice(0, 10) + " 24";
      const end = minutes.at(-1)!.local;
      const days = Array.from({ length: 6 }, (_, day) => new Date(from + (day - 1) * DAY).toISOString().slice(0, 10));
      const start = minutes.find(({ local }) => local > begin)!.time;
      const schedules = Array.from({ length: 8 }, (_, index) => {
        const hours = index < 6 ? [23, 0, 1, 2, 3, 22][index]! : random.below(24);
        return [random.below(2) * 30 || random.below(60), hours] as const;
      });
      for (const [minute, hour] of schedules) {
        const expected = new Set<number>();
        for (const day of days) {
          const local = `${day} ${two(hour)}:${two(minute)}`;
          if (local < begin || local >= end) continue;
          expected.add(first.get(local) ?? minutes.find((other) => other.local > local)!.time);
        }
        const schedule = `${minute} ${hour} * * *`;
        const times = timesOf(schedule, timeZone, start, minutes.at(-1)!.time);
        assertEquals(times.map(toText), [...expected].sort((one, other) => one - other).map(toText), schedule);
      }
    }
    assertEquals(count > 0, true);
  });
}

const toText = (time: number) => new Date(time).toISOString();

Deno.test("Where the hour is `*`, a cron runs at each minute of the clock that matches, as often as it passes", () => {
  for (
    const [timeZone, year] of [["America/Nuuk", 2026], ["Australia/Lord_Howe", 2026], ["Europe/Berlin", 2026]] as const
  ) {
    for (const [from, to] of changes(timeZone, year)) {
      const minutes = minutesOf(timeZone, from, to);
      const expected = minutes.filter(({ local }) => local.endsWith(":30")).map(({ time }) => toText(time));
      assertEquals(timesOf("30 * * * *", timeZone, from, to).map(toText), expected);
    }
  }
});

Deno.test("Days count on the calendar of the zone, also where the time of a day is skipped", () => {
  const next = (schedule: string, timeZone: string, after: string) => {
    return toText(
      new CronTimes({ name: "t", schedule, timeZone, catchUp: 0, handler: () => {} }).next(Date.parse(after)),
    );
  };
  // In Nuuk, 23:00 to 24:00 of March 28, a Saturday, is skipped.
  for (const schedule of ["30 23 * * *", "0 23 * * SAT", "15 23 28 3 *", "0-59 23 28 * *"]) {
    assertEquals(next(schedule, "America/Nuuk", "2026-03-28T20:00:00Z"), "2026-03-29T01:00:00.000Z", schedule);
  }
  assertEquals(next("30 23 L 2 *", "America/Nuuk", "2026-01-01T00:00:00Z"), "2026-03-01T01:30:00.000Z");
  assertEquals(next("0 * 29 2 *", "Europe/Berlin", "2026-01-01T00:00:00Z"), "2028-02-28T23:00:00.000Z");
  assertEquals(next("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z"), "2011-12-30T10:00:00.000Z");
});
