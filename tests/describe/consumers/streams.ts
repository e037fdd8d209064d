// Reads the streams of an application by generated clients: `streams.ts <URL>`. It is copied into the
// folder of the generated clients, and the compiler checks what they know of the items.

import createFetch from "openapi-fetch";
import { client } from "./museum/hey_api/client.gen.ts";
import { answer, getTable, watchSteps } from "./museum/hey_api/index.ts";
import type { components, paths as Museum } from "./museum/openapi_typescript.ts";

const [baseUrl = ""] = Deno.args;
// As an option of a call, Deno would take it for a client of its own.
client.setConfig({ baseUrl });
/** Otherwise a stream that fails is tried again without end. */
const once = { sseMaxRetryAttempts: 1, onSseError: (error: unknown) => console.error(error) };

function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

// hey-api makes an iterable of the data of events, which has the type of the schema.
const { stream } = await watchSteps(once);
const steps: { n: number; done: boolean }[] = [];
for await (const step of stream) steps.push(step);
assert(JSON.stringify(steps) === '[{"n":1,"done":false},{"n":2,"done":true}]', `Wrong steps: ${JSON.stringify(steps)}`);

const { stream: answers } = await answer({ ...once, body: { to: 2 } });
const numbers: number[] = [];
for await (const { n } of answers) numbers.push(n);
assert(numbers.join() === "1,2", `Wrong answers: ${numbers}`);

const table: string | undefined = (await getTable()).data;
assert(table === "a,b\r\n", `Wrong table: ${table}`);

// openapi-fetch reads lines as text; the type of a line is that of its model.
const museum = createFetch<Museum>({ baseUrl });
const lines = await museum.GET("/streams/declared/lines", { parseAs: "text" });
const line: components["schemas"]["Step"] = JSON.parse(String(lines.data).split("\n")[0]!);
const isDone: boolean = line.done;
assert(isDone, `Wrong line: ${lines.data}`);

const added = await museum.POST("/streams/declared/headers");
const n: number | undefined = added.data?.n;
assert(n === 1 && added.response.headers.get("location") !== null, `Not added: ${JSON.stringify(added.error)}`);
type Headers201 = Museum["/streams/declared/headers"]["post"]["responses"][201]["headers"];
const location: Headers201["location"] = added.response.headers.get("location")!;
assert(location === "/streams/declared/lines", `Wrong location: ${location}`);

const csv = await museum.GET("/streams/declared/csv", { parseAs: "text" });
const text: string | undefined = csv.data;
assert(text === table, `Wrong text: ${text}`);
console.log("Done");
