// Numbers with their units, times, and JSON.

const NUMBER = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export function count(value: number): string {
  return NUMBER.format(value);
}

/** A duration in milliseconds, with the unit that suits it. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms === 0) return "0 s";
  if (ms < 1) return `${SHORT.format(ms * 1_000)} µs`;
  if (ms < 1_000) return `${SHORT.format(ms)} ms`;
  if (ms < 60_000) return `${SHORT.format(ms / 1_000)} s`;
  if (ms < 3_600_000) return parts(ms / 60_000, "min", Math.floor(ms / 1_000) % 60, "s");
  if (ms < 86_400_000) return parts(ms / 3_600_000, "h", Math.floor(ms / 60_000) % 60, "min");
  return parts(ms / 86_400_000, "d", Math.floor(ms / 3_600_000) % 24, "h");
}

function parts(large: number, unit: string, rest: number, restUnit: string): string {
  return `${Math.floor(large)} ${unit}${rest === 0 ? "" : ` ${rest} ${restUnit}`}`;
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  let size = value;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${SHORT.format(size)} ${units[unit]}`;
}

export function rate(perSecond: number): string {
  return `${perSecond >= 100 ? count(Math.round(perSecond)) : SHORT.format(perSecond)}/s`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });

/** The time of day, and the day unless it is today. */
export function clock(time: number): string {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return isToday ? CLOCK.format(time) : `${DAY.format(time)}, ${CLOCK.format(time)}`;
}

/** The date and time in a zone, with the day, and the year unless it is this one. */
export function inZone(time: number, timeZone?: string): string {
  const isThisYear = new Date(time).getFullYear() === new Date().getFullYear();
  return new Intl.DateTimeFormat("en-GB", {
    ...{ weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
    ...(!isThisYear && { year: "numeric" as const }),
    ...(timeZone !== undefined && { timeZone }),
  }).format(time);
}

export function ago(time: number, now: number = Date.now()): string {
  const ms = now - time;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`;
}

function coarse(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.round(ms / 60_000) % 60} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor(ms / 3_600_000) % 24} h`;
}

/** JSON with line breaks; any other text as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The end of an id, which differs within a topic. */
export function shortId(id: string): string {
  return `…${id.slice(-12)}`;
}
