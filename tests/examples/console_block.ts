/** Reads the console blocks of a README: lines of curl, and the replies below them. */

/** A line of curl and the reply that is shown. */
export interface Exchange {
  readonly request: Request;
  /** The status, where the reply is shown with its head. */
  readonly status: number | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** The exchanges of a block: each begins with "$ ", and an empty line stands before the next. */
export function readExchanges(block: string): Exchange[] {
  return block.split(/(?:^|\n\n)\$ /).slice(1).map((text) => {
    const [command = "", ...lines] = text.trimEnd().split("\n");
    const { request, showsHead } = readCurl(command);
    const blank = showsHead ? lines.indexOf("") : -1;
    const [statusLine, ...headerLines] = showsHead ? lines.slice(0, blank) : [];
    return {
      request,
      status: statusLine === undefined ? undefined : Number(statusLine.split(" ")[1]),
      headers: headerLines.map((line) => splitHeader(line)),
      body: lines.slice(blank + 1).join("\n"),
    };
  });
}

/** Reads a command; knows no more of curl than what is used. */
function readCurl(command: string): { request: Request; showsHead: boolean } {
  const [program, ...words] = command.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? [];
  const headers = new Headers();
  let [url, method, body, showsHead]: [string?, string?, string?, boolean?] = [];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "-i") showsHead = true;
    else if (word === "-X") method = words.shift();
    else if (word === "-H") headers.set(...splitHeader(words.shift() ?? ""));
    else if (word === "--json") {
      body = words.shift();
      headers.set("content-type", "application/json");
    } else if (url === undefined && word.startsWith("http://")) url = word;
    else throw new Error(`Cannot read the command "${command}": "${word}" has no meaning here`);
  }
  if (program !== "curl" || url === undefined) throw new Error(`Cannot read the command "${command}"`);
  const init = body === undefined ? {} : { method: "POST", body };
  return { request: new Request(url, { ...init, ...(method && { method }), headers }), showsHead: showsHead ?? false };
}

function splitHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(": ");
  if (colon < 0) throw new Error(`Cannot read the header "${line}"`);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
}
