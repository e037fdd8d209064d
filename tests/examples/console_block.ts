// Reads the console blocks of a README: curl commands, each with the reply below it.

/** A curl command, and what is shown below it. */
export interface Exchange {
  readonly request: Request;
  /** What the command prints. */
  readonly body: string;
  /** What the command prints for the body of a reply. */
  readonly print: (reply: string) => string;
}

/**
 * Reads the exchanges of a block. Each begins with "$ ", and an empty line separates two of them.
 */
export function readExchanges(block: string): Exchange[] {
  return block.split(/(?:^|\n\n)\$ /).slice(1).map((text) => {
    const [line = "", ...lines] = text.trimEnd().split("\n");
    const [command = "", filter] = line.split(" | ");
    return { request: readCurl(command), body: lines.join("\n"), print: readFilter(filter) };
  });
}

/** Reads what prints the reply: nothing, `jq`, or `jq .name` for one member. */
function readFilter(filter: string | undefined): Exchange["print"] {
  if (filter === undefined) return (reply) => reply.trimEnd();
  const [, name] = /^jq(?: \.(\w+))?$/.exec(filter) ?? fail(filter);
  return (reply) => JSON.stringify(name === undefined ? JSON.parse(reply) : JSON.parse(reply)[name], null, 2);
}

function fail(command: string, word = command): never {
  throw new Error(`Cannot read the command "${command}": "${word}" has no meaning here`);
}

/** Reads a curl command. It knows only the options that the README and docs/ use. */
function readCurl(command: string): Request {
  const [program, ...words] = command.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? [];
  const headers = new Headers();
  let [url, method, body]: [string?, string?, string?] = [];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "-X") method = words.shift();
    else if (word === "-H") headers.set(...splitHeader(words.shift() ?? ""));
    else if (word === "--json" || word === "-d") {
      body = words.shift();
      headers.set("content-type", word === "-d" ? "application/x-www-form-urlencoded" : "application/json");
    } else if (word === "-s") continue;
    else if (url === undefined && word.startsWith("http://")) url = word;
    else fail(command, word);
  }
  if (program !== "curl" || url === undefined) throw new Error(`Cannot read the command "${command}"`);
  const init = body === undefined ? {} : { method: "POST", body };
  return new Request(url, { ...init, ...(method && { method }), headers });
}

function splitHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(": ");
  if (colon < 0) throw new Error(`Cannot read the header "${line}"`);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
}
