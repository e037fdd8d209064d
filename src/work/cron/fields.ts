/**
 * The five fields of a cron expression: their check where a cron is declared, and what they say.
 */

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of values: the first one is that of `least`. */
  readonly names?: readonly string[];
  /** Forms that only this field has. */
  readonly special?: RegExp;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: readonly Field[] = [
  { name: "minute", least: 0, most: 59 },
  { name: "hour", least: 0, most: 23 },
  { name: "day of the month", least: 1, most: 31, special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i },
  { name: "month", least: 1, most: 12, names: MONTHS },
  {
    name: "day of the week",
    least: 0,
    most: 7,
    names: DAYS,
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/i,
  },
];

/** A value, a range, or `*`, with a step perhaps. */
const ITEM = /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/;

/**
 * Says what is wrong with a cron expression.
 *
 * @returns The reason; undefined if nothing is wrong.
 */
export function faultOf(schedule: unknown): string | undefined {
  const rule = 'the schedule must have five fields, such as "0 3 * * *" for each day at 3:00';
  if (typeof schedule !== "string") return rule;
  const texts = schedule.trim().split(/\s+/);
  if (texts.length !== FIELDS.length) return rule;
  for (const [index, field] of FIELDS.entries()) {
    const wrong = texts[index]!.split(",").find((item) => !isItem(item, field));
    if (wrong === undefined) continue;
    return `its ${field.name} must be from ${field.least} to ${field.most}, a range, a list, "*" or "*/2", got ${
      JSON.stringify(wrong)
    }`;
  }
  return undefined;
}

/** Whether the hour of a schedule is `*`: such a cron follows the time that passes. */
export function hasEachHour(schedule: string): boolean {
  const [, hour] = schedule.trim().split(/\s+/);
  return hour!.split(",").includes("*");
}

/**
 * A schedule in UTC that comes at least at all times of another one, whatever its time zone and the
 * day are.
 */
export function triggersOf(schedule: string, timeZone: string): string {
  const [minute, hour] = schedule.trim().split(/\s+/) as [string, string];
  const minutes = listOf(minute, FIELDS[0]!);
  if (timeZone === "UTC") return `${minutes} ${listOf(hour, FIELDS[1]!)} * * *`;
  // Zones differ from UTC by quarters of an hour. A time in a gap runs at the full hour.
  const quarters = [0, 15, 30, 45];
  const all = [0, ...minutes.split(",").map(Number)].flatMap((minute) => {
    return quarters.map((quarter) => (minute + quarter) % 60);
  });
  return `${listOf(all.join(","), FIELDS[0]!)} * * * *`;
}

function isItem(item: string, field: Field): boolean {
  if (field.special?.test(item)) return true;
  const [found, from, to, step] = ITEM.exec(item) ?? [];
  if (found === undefined) return false;
  const [least, most] = [from, to].map((text) => text === undefined ? undefined : valueOf(text, field));
  if (least !== undefined && Number.isNaN(least) || most !== undefined && !(most >= least!)) return false;
  if (step === undefined) return true;
  // A step of one value means nothing.
  return Number(step) > 0 && Number(step) <= field.most && (from === undefined || to !== undefined);
}

/** The number of a value; NaN if it is out of range. */
function valueOf(text: string, { least, most, names }: Field): number {
  const index = names?.indexOf(text.toUpperCase()) ?? -1;
  const value = index >= 0 ? index + least : /^\d+$/.test(text) ? Number(text) : NaN;
  return value >= least && value <= most ? value : NaN;
}

function listOf(text: string, field: Field): string {
  const values = text.split(",").flatMap((item) => {
    const [, from, to, step] = ITEM.exec(item)!;
    const first = from === undefined ? field.least : Number(from);
    const last = from === undefined ? field.most : Number(to ?? from);
    return Array.from({ length: Math.floor((last - first) / Number(step ?? 1)) + 1 }, (_, index) => {
      return first + index * Number(step ?? 1);
    });
  });
  return [...new Set(values)].sort((one, other) => one - other).join(",");
}
