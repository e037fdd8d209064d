// The checks are checked: whatever a document, an application or a tool is wrong about has to be
// found out.

import { assert, assertEquals } from "@std/assert";
import { Agent } from "../../agents/agent.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";
import { findFaults } from "./conformity.ts";
import { plainApp, shapedApp } from "./shaped_app.ts";
import { findToolFaults } from "./tool_conformity.ts";

const SEED = 1;
const MANY_ROUNDS = 40;
/** Enough to find out most. */
const FEW_ROUNDS = 4;
const KNOWN = { isPure: true, failing: ["GET /failure"] };

/** Any part of JSON, to be changed. */
// deno-lint-ignore no-explicit-any
type Json = any;
type Fetch = (request: Request) => Promise<Response>;

/** Wrong changes of the document of one operation that has all kinds of input. */
const LIES: Readonly<Record<string, (operation: Json, document: Json) => void>> = {
  "a status that is not there": ({ responses }) => delete responses[404],
  "a status that never comes": ({ responses }) => {
    responses[201] = responses[200];
    delete responses[200];
  },
  "another content type": ({ responses }) => responses[200].content = { "text/html": {} },
  "another content type of errors": (_, { components: { responses } }) => {
    responses.Problem.content = { "application/json": {} };
  },
  "another type in a reply": ({ responses }, document) => {
    schemaOf(responses[200], document).properties.id.type = "string";
  },
  "a key that is in no reply": ({ responses }, document) => schemaOf(responses[200], document).required.push("more"),
  "a refusal of another shape": (_, { components: { responses } }) => {
    responses.ValidationProblem.content = { "application/vnd.failure+json": { schema: { type: "string" } } };
  },
  "no refusal of what is invalid": ({ responses }) => {
    delete responses[422];
    delete responses["4XX"];
  },
  "a parameter that may be left out": ({ parameters }) => parameterOf(parameters, "level").required = true,
  "a parameter that is not there": ({ parameters }) => {
    parameters.push({ name: "more", in: "query", required: true, schema: { type: "string" } });
  },
  "a parameter elsewhere": ({ parameters }) => parameterOf(parameters, "level").in = "header",
  "a parameter of another type": ({ parameters }) => parameterOf(parameters, "id").schema = { type: "boolean" },
  "a bound that is wider": ({ parameters }) => parameterOf(parameters, "id").schema.maximum = 10,
  "a bound that is narrower": ({ parameters }) => parameterOf(parameters, "id").schema.maximum = 8,
  "another default of a parameter": ({ parameters }) => parameterOf(parameters, "level").schema.default = "b",
  "another default in a body": ({ requestBody }, document) => {
    schemaOf(requestBody, document).properties.old.default = true;
  },
  "a body that may be left out": ({ requestBody }) => requestBody.required = false,
  "a body of another content type": ({ requestBody }) => {
    requestBody.content = { "application/xml": requestBody.content["application/json"] };
  },
  "a key of a body that may be left out": ({ requestBody }, document) => {
    schemaOf(requestBody, document).required.push("old");
  },
  "a longer text in a body": ({ requestBody }, document) => {
    schemaOf(requestBody, document).properties.name.maxLength = 6;
  },
  "a shorter text in a body": ({ requestBody }, document) => {
    schemaOf(requestBody, document).properties.name.maxLength = 4;
  },
  "keys that a body may not have": ({ requestBody }, document) => {
    schemaOf(requestBody, document).additionalProperties = false;
  },
  "another method": (_, { paths }) => {
    paths["/members/{id}"] = { put: paths["/members/{id}"].post };
  },
  "another path": (_, { paths }) => {
    paths["/member/{id}"] = paths["/members/{id}"];
    delete paths["/members/{id}"];
  },
};

/** Wrong replies of an application. */
const MISTAKES: Readonly<Record<string, (request: Request, fetch: Fetch) => Promise<Response>>> = {
  "no Allow": async (request, fetch) => {
    const response = await fetch(request);
    response.headers.delete("allow");
    return response;
  },
  "what was sent in a refusal": async (request, fetch) => {
    const sent = await request.clone().text();
    const { status, headers, body } = await fetch(request);
    if (status !== 422) return new Response(body, { status, headers });
    const refusal = await new Response(body).json();
    return Response.json({ ...refusal, why: `Not ${sent}` }, { status, headers });
  },
  "another place in a refusal": async (request, fetch) => {
    const { status, headers, body } = await fetch(request);
    if (status !== 422) return new Response(body, { status, headers });
    const refusal = await new Response(body).json();
    return Response.json({ ...refusal, errors: [{ in: "query", path: ["other"] }] }, { status, headers });
  },
  "a failure over deep nesting": async (request, fetch) => {
    const text = await request.clone().text();
    return text.startsWith('{"a":{') ? new Response(null, { status: 500 }) : await fetch(request);
  },
  "a refusal of well-formed JSON": async (request, fetch) => {
    const isTyped = request.headers.get("content-type") === "application/json; charset=utf-8";
    return isTyped ? new Response(null, { status: 415 }) : await fetch(request);
  },
};

/** Wrong changes of the description of a tool. */
const TOLD: Readonly<Record<string, (tool: Json) => void>> = {
  "an argument of another type": ({ inputSchema }) => inputSchema.properties.id = { type: "boolean" },
  "an argument that may be left out": ({ inputSchema }) => inputSchema.required.push("level"),
  "an argument that has to be given": ({ inputSchema }) => inputSchema.required = ["body"],
  "a wider bound": ({ inputSchema }) => inputSchema.properties.id.maximum = 10,
  "a shorter text": ({ inputSchema }) => inputSchema.properties.body.properties.name.maxLength = 4,
  "another result": ({ outputSchema }) => outputSchema.properties.id.type = "string",
};

Deno.test("A document that is wrong in one place is found out", async () => {
  await findsOut(LIES, (lie, rounds) => {
    return faultsOf(rounds, (document) => lie(document.paths["/members/{id}"].post, document));
  });
});

Deno.test("An application that does one thing otherwise is found out", async () => {
  await findsOut(MISTAKES, (mistake, rounds) => {
    return faultsOf(rounds, () => {}, (fetch) => (request) => mistake(request, fetch));
  });
});

Deno.test("An agent with one wrong description finds the fault", async () => {
  const { fetch } = plainApp();
  await findsOut(TOLD, async (lie, rounds) => {
    const tools = await new Agent(fetch).list();
    tools.forEach(lie);
    return (await findToolFaults({ fetch, tools }, SEED, rounds)).faults;
  });
});

Deno.test("Nothing is found where nothing is wrong", async () => {
  const { fetch } = plainApp();
  assertEquals(await faultsOf(MANY_ROUNDS), []);
  assertEquals((await findToolFaults({ fetch }, SEED, MANY_ROUNDS)).faults, []);
});

async function findsOut<Lie>(
  lies: Readonly<Record<string, Lie>>,
  faultsOf: (lie: Lie, rounds: number) => Promise<readonly string[]>,
): Promise<void> {
  for (const [name, lie] of Object.entries(lies)) {
    const few = await faultsOf(lie, FEW_ROUNDS);
    const faults = few.length > 0 ? few : await faultsOf(lie, MANY_ROUNDS);
    assert(faults.length > 0, `Nobody finds out: ${name}`);
  }
}

async function faultsOf(
  rounds: number,
  lie: (document: Json) => void = () => {},
  mistaken: (fetch: Fetch) => Fetch = (fetch) => fetch,
): Promise<readonly string[]> {
  using _log = new CapturedLog();
  const { fetch } = shapedApp();
  const document = await (await fetch(new Request("http://localhost/openapi.json"))).json();
  lie(document);
  return (await findFaults({ fetch: mistaken(fetch), document, ...KNOWN }, SEED, rounds)).faults;
}

function parameterOf(parameters: Json[], name: string): Json {
  return parameters.find((parameter) => parameter.name === name);
}

function schemaOf({ content }: Json, { components }: Json): Json {
  const { schema } = content["application/json"];
  return schema.$ref ? components.schemas[schema.$ref.split("/").at(-1)] : schema;
}
