// Section 10 of the contract: how documents and tools describe forms, files and streams.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, Form, RouteError, Stream, UploadFile } from "@webfw/core";
import type { OpenAPIRequestBody } from "@webfw/core/openapi";
import * as v from "valibot";
import { Agent } from "../agents/agent.ts";
import { operationAt } from "../describe/look_up.ts";
import { INT64 } from "../unit/describe/json_schema/support/integer_bounds.ts";

const int = v.pipe(v.number(), v.integer());
const answer = async () => null;

/** The form in a document, with its schema resolved. */
function formOf(schema: v.GenericSchema): OpenAPIRequestBody {
  const app = new App();
  app.post("/", { form: Form(schema) }, async function send() {});
  const { paths, components } = app.openapi();
  const body = paths["/"]!.post!.requestBody!;
  for (const media of Object.values(body.content)) {
    if (media.schema?.$ref) media.schema = components.schemas![media.schema.$ref.split("/").at(-1)!]!;
  }
  return body;
}

Deno.test("A form without files is documented as urlencoded, its fields as the values of their texts", () => {
  assertEquals(formOf(v.object({ title: v.string(), copies: v.optional(int, 1), gift: v.optional(v.boolean()) })), {
    required: true,
    content: {
      "application/x-www-form-urlencoded": {
        schema: {
          title: "SendForm",
          type: "object",
          properties: {
            title: { type: "string" },
            copies: { ...INT64, default: 1 },
            gift: { type: "boolean" },
          },
          required: ["title"],
        },
      },
    },
  });
});

Deno.test("A form that may be left out is documented so", () => {
  assertEquals(formOf(v.optional(v.object({ title: v.string() }))).required, false);
});

Deno.test("A field that is an UploadFile, at any depth, makes a form multipart", () => {
  interface Folder {
    files: File[];
    folders: Folder[];
  }
  const file = UploadFile as unknown as v.GenericSchema<File>;
  const Folder: v.GenericSchema<Folder> = v.object({ files: v.array(file), folders: v.array(v.lazy(() => Folder)) });
  const forms: v.GenericSchema[] = [
    v.object({ file }),
    v.object({ files: v.optional(v.array(file)) }),
    v.object({ inner: v.nullable(v.object({ file: v.pipe(file, v.maxSize(9)) })) }),
    v.variant("kind", [v.object({ kind: v.literal("a") }), v.object({ kind: v.literal("b"), file })]),
    v.pipe(v.object({ file: v.union([file, v.string()]) }), v.check(() => true)),
    v.object({ folder: Folder }),
    v.object({ file: v.file() }),
    v.object({ file: v.instance(File) }),
  ];
  for (const form of forms) assertEquals(Object.keys(formOf(form).content), ["multipart/form-data"]);
});

Deno.test("A file is documented as a binary string, with the media types that it has to be of", () => {
  const Picture = v.pipe(UploadFile as unknown as v.GenericSchema<File>, v.mimeType(["image/png"]));
  const Any = v.pipe(UploadFile as unknown as v.GenericSchema<File>, v.mimeType(["image/png", "image/jpeg"]));
  const { content } = formOf(v.object({ picture: Picture, others: v.optional(v.array(Any)), file: UploadFile }));
  const { schema, encoding } = content["multipart/form-data"]!;
  const bytes = { type: "string" as const, format: "binary", contentMediaType: "application/octet-stream" };
  assertEquals(schema!.properties, {
    picture: { type: "string", format: "binary", contentMediaType: "image/png" },
    others: { type: "array", items: bytes },
    file: bytes,
  });
  // Clients take the content type of a part from its encoding alone.
  assertEquals(encoding, {
    picture: { contentType: "image/png" },
    others: { contentType: "image/png, image/jpeg" },
  });
});

Deno.test("The encoding documents lists as repeated names, objects as JSON text, and in brackets if they contain files", () => {
  const Line = v.object({ isbn: v.string() });
  const fields = {
    tags: v.optional(v.array(v.string())),
    pair: v.nullish(v.strictTuple([int, v.string()])),
    address: v.object({ street: v.string() }),
    scores: v.record(v.string(), int),
    lines: v.optional(v.array(Line)),
    either: v.union([Line, v.object({ title: v.string() })]),
    text: v.union([v.string(), v.number()]),
  };
  const repeated = { style: "form" as const, explode: true as const };
  const bracketed = { style: "deepObject" as const, explode: true as const };
  const json = { contentType: "application/json" };
  const encoding = { tags: repeated, pair: repeated, address: json, scores: json, lines: repeated, either: json };
  assertEquals(formOf(v.object(fields)).content["application/x-www-form-urlencoded"]!.encoding, encoding);
  const page = v.object({ title: v.string(), file: UploadFile });
  const mixed = v.union([Line, v.string()]);
  assertEquals(formOf(v.object({ ...fields, page, mixed })).content["multipart/form-data"]!.encoding, {
    ...encoding,
    page: bracketed,
    mixed: bracketed,
  });
  assertEquals(formOf(v.object({ tags: fields.tags, page })).description, undefined);
});

Deno.test("The description explains JSON text and names in brackets, and such fields are accepted", async () => {
  const Line = v.object({ isbn: v.string(), copies: v.optional(int, 1) });
  const forms: Record<string, [schema: v.GenericSchema, text: string]> = {
    "line[isbn]": [v.object({ line: Line }), 'line={"isbn":"1"}'],
    "lines[0][isbn]": [v.object({ lines: v.array(Line) }), 'lines=[{"isbn":"1"}]'],
    "order[line]": [v.object({ order: v.object({ line: v.optional(Line) }) }), 'order={"line":{"isbn":"1"}}'],
    "order[lines]": [
      v.object({ order: v.object({ lines: v.nullable(v.array(Line)) }) }),
      'order={"lines":[{"isbn":"1"}]}',
    ],
  };
  for (const [name, [schema, text]] of Object.entries(forms)) {
    const [field] = name.split("[");
    const json = `JSON text is taken for \`${field}\`; a list is one text, or one for each item.`;
    assertEquals(formOf(schema).description, `${json} Names may nest in brackets, as in \`${name}\`.`);
    const app = new App();
    app.post("/", { form: Form(schema) }, async (_request, { form }) => form);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await app.fetch(new Request("http://localhost/", { method: "POST", body: text, headers }));
    assert((await response.text()).includes('{"isbn":"1","copies":1}'), name);
  }
  const Page = v.object({ title: v.string(), file: UploadFile });
  const pages = formOf(v.object({ pages: v.array(Page) }));
  assertEquals(pages.description, "Names nest in brackets, as in `pages[0][title]`.");
});

Deno.test("A stream is documented as application/octet-stream, of which nothing can be invalid", () => {
  const app = new App();
  app.put("/", { body: Stream() }, answer);
  const { requestBody, responses } = operationAt(app.openapi(), "put", "/");
  assertEquals(requestBody, {
    required: false,
    content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
  });
  assertEquals(Object.keys(responses), ["200", "4XX", "5XX"]);
});

Deno.test("A form without files is the argument form of a tool, which reaches the handler as other clients' does", async () => {
  const app = new App();
  const Order = v.object({
    title: v.string(),
    copies: v.optional(int, 1),
    tags: v.array(v.string()),
    note: v.nullable(v.string()),
    lines: v.optional(v.array(v.object({ isbn: v.string(), gift: v.boolean() })), []),
    address: v.object({ street: v.string(), lines: v.optional(v.array(v.string())) }),
  });
  app.post("/orders", { form: Form(Order), tool: true }, async function order(_request, { form }) {
    return form;
  });
  const agent = new Agent(app);
  const { inputSchema } = await agent.tool();
  assertEquals(inputSchema.required, ["form"]);
  assertEquals(Object.keys((inputSchema.properties as { form: { properties: object } }).form.properties), [
    ...["title", "copies", "tags", "note", "lines", "address"],
  ]);
  const form = {
    title: "a&b=c [d]",
    copies: 3,
    tags: ["x", "y,z"],
    note: null,
    lines: [{ isbn: "1", gift: true }, { isbn: "2", gift: false }],
    address: { street: "Grüße", lines: ["one", "two"] },
  };
  assertEquals(await agent.result("order", { form }), form);
  assertEquals(
    await agent.failure("order", { form: { ...form, copies: "3", tags: [], address: { "a[b]": 1 } } }),
    [
      "422 Invalid input: The request does not fit its description",
      "- form.a[b]: Must be a name without brackets",
      "- form.copies: Invalid type: expected number",
      "- form.address.street: Missing value",
    ].join("\n"),
  );
  assertEquals(
    await agent.failure("order"),
    "422 Invalid input: The request does not fit its description\n- form: Missing value",
  );
});

Deno.test("A route that takes files or a stream, or streams, is no tool: RouteError when it is registered", () => {
  const mistakes: Record<string, (app: App) => void> = {
    "its form takes files": (app) => app.post("/", { form: Form(v.object({ f: UploadFile })), tool: true }, answer),
    "its body is a stream": (app) => app.post("/", { body: Stream(), tool: true }, answer),
    "its handler streams": (app) => {
      app.get("/", { tool: true }, async function* () {
        yield 1;
      });
    },
    "its result is a stream": (app) => {
      app.get("/", { response: v.instance(ReadableStream), tool: true }, async () => new ReadableStream());
    },
  };
  for (const [message, register] of Object.entries(mistakes)) {
    const { code } = assertThrows(() => register(new App()), RouteError, message);
    assertEquals(code, "tool");
  }
});
