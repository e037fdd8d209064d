// Bodies that are no JSON, or JSON that few programs survive.

/** Content types that are not JSON in UTF-8. A body may also come without one. */
export const OTHER_TYPES: readonly (string | undefined)[] = [
  undefined,
  "",
  "text/plain",
  "text/csv",
  "application/jsonl",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=b",
  "application/json; charset=iso-8859-1",
  "json",
  "application/javascript",
];

/** Deeper than the call stack allows. */
const DEPTH = 20_000;

const BROKEN: readonly string[] = [
  ...[
    "{'a':1}",
    "{a:1}",
    "NaN",
    "-Infinity",
    "undefined",
    "0x10",
    "01",
    "+1",
    ".5",
    "1.",
    "[1,]",
    '{"a":1,}',
    '{"a" 1}',
  ],
  ...["// x\n1", "True", '"\\x41"', '"line\nbreak"', '"\\ud83"', '"open', "[", "{}{}", "1 2", "\u00a01", "<a/>", "a=1"],
  ..."\u0000\u2028".split(""),
  "[".repeat(DEPTH),
];

/** Texts that are nearly the JSON of a body, and no JSON. */
export function brokenJson(json: string): string[] {
  const nearly = [json.slice(0, -1), `${json}]`, `${json},`, `(${json})`];
  return [...nearly.filter((text) => text !== "" && !isJson(text)), ...BROKEN];
}

/** JSON that a body may or may not be, but no program should fail over. */
export function trickyJson(json: string): string[] {
  const nested = (open: string, close: string) => open.repeat(DEPTH) + close.repeat(DEPTH);
  return [
    nested("[", "]"),
    nested('{"a":', "}").replace("}", "1}"),
    "1e999",
    json.replace(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?=[,}\]])/, "1e999"),
    json.replace(/"(?=[,}\]])/, '\\ud800"'),
    json.replace("{", '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},'),
  ];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
