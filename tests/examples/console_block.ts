// Reads the console blocks of a README: curl commands, each with the reply below it.

/** A curl command, and the body of the reply that is shown below it. */
export interface Exchange {
  readonly request: Request;
  readonly body: string;
}

/**
 * Reads the exchanges of a block. Each begins with "$ ", and an empty line separates two of them.
 */
export function readExchanges(block: string): Exchange[] {
  return block.split(/(?:^|\n\n)\$ /).slice(1).map((text) => {
    const [command = "", ...lines] = text.trimEnd().split("\n");
    return { request: readCurl(command), body: lines.join("\n") };
  });
}

/** Reads a curl command. It knows only the options that the README uses. */
function readCurl(command: string): Request {
  const [program, ...words] = command.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? [];
  const headers = new Headers();
  let [url, method, body]: [string?, string?, string?] = [];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "-X") method = words.shift();
    else if (word === "-H") headers.set(...splitHeader(words.shift() ?? ""));
    else if (word === "--json") {
      body = words.shift();
      headers.set("content-type", "application/json");
    } else if (url === undefined && word.startsWith("http://")) url = word;
    else throw new Error(`Cannot read the command "${command}": "${word}" has no meaning here`);
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
