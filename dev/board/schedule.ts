// A cron expression in words.

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

/** Five fields; what is not usual stays as it is written. */
export function inWords(schedule: string): string {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = schedule.trim().split(/\s+/);
  const when = [timeInWords(minute, hour), dayInWords(day, weekday), monthInWords(month)].filter(Boolean);
  const text = when.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function timeInWords(minute: string, hour: string): string {
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (minute === "*" && hour === "*") return "every minute";
  if (step !== undefined && hour === "*") return `every ${step} minutes`;
  const hourStep = /^\*\/(\d+)$/.exec(hour)?.[1];
  if (/^\d+$/.test(minute)) {
    const at = minute.padStart(2, "0");
    if (hour === "*") return minute === "0" ? "every hour" : `every hour at :${at}`;
    if (hourStep !== undefined) return `every ${hourStep} hours at :${at}`;
    if (/^\d+(?:,\d+)*$/.test(hour)) {
      return `at ${listed(hour.split(",").map((one) => `${one.padStart(2, "0")}:${at}`))}`;
    }
    const [, from, to] = /^(\d+)-(\d+)$/.exec(hour) ?? [];
    if (from !== undefined) return `every hour at :${at} from ${from.padStart(2, "0")} to ${to!.padStart(2, "0")} h`;
  }
  return `in minutes ${minute} of hours ${hour}`;
}

function dayInWords(day: string, weekday: string): string {
  const onDay = day === "*" ? "" : `on day ${listed(day.split(","))} of the month`;
  const onWeekday = weekday === "*" ? "" : `on ${listed(weekday.split(",").map(weekdayName))}`;
  if (onDay === "" && onWeekday === "") return "";
  return [onDay, onWeekday].filter(Boolean).join(" or ");
}

function monthInWords(month: string): string {
  if (month === "*") return "";
  return `in ${listed(month.split(",").map((one) => MONTHS[Number(one) - 1] ?? one))}`;
}

function weekdayName(text: string): string {
  const [from = "", to] = text.split("-");
  const name = (one: string) => {
    const index = /^\d$/.test(one) ? Number(one) % 7 : DAYS.findIndex((day) => day.slice(0, 3) === capitalized(one));
    return DAYS[index] ?? one;
  };
  return to === undefined ? name(from) : `${name(from)} to ${name(to)}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1, 3).toLowerCase();
}

function listed(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}
