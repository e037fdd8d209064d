// The document equals the behaviour: what it says is valid is taken, what it says is not is refused, and each reply is as it says.

import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Random } from "../unit/support/random.ts";
import { findFaults, type Findings, type Subject } from "./conformity/faults.ts";
import { hostileApp } from "./hostile_app.ts";

const SEED = Number(Deno.env.get("WEBFW_SEED") ?? 20261121);
const ROUNDS = Number(Deno.env.get("WEBFW_ROUNDS") ?? 30);

function hostile(): Subject {
  const app = hostileApp();
  return {
    document: JSON.parse(JSON.stringify(app.openapi())),
    fetch: (request) => app.fetch(request),
    choosy: {
      "POST /models/lower": "A pattern is held against the text in lower case",
      "POST /models/checked": "A check of the application's own",
      "POST /models/big-object": "A bound of a bigint, which is a text",
      "POST /models/formats": "A format, which the validator that this test holds values against takes for a hint",
      "POST /models/to-number": "A bound of the number that the text is turned into",
      "POST /models/transformed": "A text that has to be turned into a number",
      "POST /models/awkward-keys": "The validator that this test holds values against lets a key go that is empty",
    },
    failing: ["GET /replies/failure"],
  };
}

async function holds(subject: Subject): Promise<Findings> {
  using _log = new CapturedLog();
  const findings = await findFaults(subject, new Random(SEED), ROUNDS);
  const { faults } = findings;
  assertEquals(faults.length, 0, `Seed ${SEED}, ${faults.length} faults:\n${faults.slice(0, 12).join("\n")}`);
  return findings;
}

Deno.test("A hostile application does what its document says", async () => {
  const { sent } = await holds(hostile());
  assert(sent.valid > 500 && sent.invalid > 1000, JSON.stringify(sent));
});

Deno.test("The bookshop does what its document says", async () => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_behaviour_" });
  const app = bookshop(join(folder, "shop.sqlite"));
  const checksum = "The check digit of an ISBN";
  const byIsbn = ["GET", "PATCH", "DELETE"].map((method) => [`${method} /shops/{slug}/books/{isbn}`, checksum]);
  await holds({
    document: JSON.parse(JSON.stringify(app.openapi())),
    fetch: (request) => app.fetch(request),
    choosy: {
      ...Object.fromEntries(byIsbn),
      "POST /shops/{slug}/books": checksum,
      "POST /shops/{slug}/orders": `${checksum}; a book that stands in it twice`,
    },
    failing: [],
  });
  await app.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("A document that is wrong in one place is found out", async () => {
  const lies: Record<string, (document: Lie) => void> = {
    "a status that is not there": ({ paths }) => delete paths["/replies/created"]!.put!.responses["201"],
    "another content type": ({ paths }) => {
      const reply = paths["/replies/maybe"]!.get!.responses["200"]!;
      reply.content = { "text/html": reply.content!["application/json"]! };
    },
    "another type in a reply": ({ paths }) => {
      paths["/replies/maybe"]!.get!.responses["200"]!.content!["application/json"]!.schema = { type: "integer" };
    },
    "another type of a line": ({ paths }) => {
      const reply = paths["/replies/lines"]!.get!.responses["200"]!;
      reply.content!["application/jsonl"]!["x-oai-itemSchema"] = { type: "string" };
    },
    "a parameter that is said to be optional": ({ paths }) => {
      paths["/replies/maybe"]!.get!.parameters![0]!.required = false;
    },
    "a parameter of another type": ({ paths }) => {
      paths["/replies/maybe"]!.get!.parameters![0]!.schema = { type: "string", enum: ["yes", "no"] };
    },
    "a key that is said to be required": ({ paths }) => {
      paths["/replies/created"]!.put!.requestBody!.content["application/json"]!.schema = {
        type: "object",
        properties: { taken: { type: "boolean" }, by: { type: "string" } },
        required: ["taken", "by"],
      };
    },
    "a body that is said to be optional": ({ paths }) => {
      paths["/replies/created"]!.put!.requestBody!.required = false;
    },
  };
  using _log = new CapturedLog();
  for (const [name, lie] of Object.entries(lies)) {
    const subject = hostile();
    const document = subject.document as Lie;
    document.paths = Object.fromEntries(
      Object.entries(document.paths).filter(([path]) => path.startsWith("/replies/")),
    );
    lie(document);
    const { faults } = await findFaults(subject, new Random(20261121), 40);
    assert(faults.length > 0, `The checker takes ${name}`);
  }
});

/** A document, to be changed. */
interface Lie {
  paths: Record<
    string,
    Record<string, {
      parameters?: { required: boolean; schema: object }[];
      requestBody?: { required: boolean; content: Record<string, { schema: object }> };
      responses: Record<string, { content?: Record<string, Record<string, object>> }>;
    }>
  >;
}
