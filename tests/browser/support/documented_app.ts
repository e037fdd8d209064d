// An application with a documentation page, for tests of what a browser makes of it.

import { App } from "../../../mod.ts";
import { docsRoutes } from "../../../src/describe/docs_page.ts";

/** The paths of the page and of the document. */
export const DOCS_URL = "/reference";
const OPENAPI_URL = "/reference.json";

const BOOK = {
  type: "object",
  required: ["id", "title"],
  properties: {
    id: { type: "integer", minimum: 1 },
    title: { type: "string", description: "As on the *cover*", examples: ["Middlemarch"] },
    genre: { enum: ["novel", "poems"] },
    published: { type: "string", format: "date-time" },
  },
};
const BOOK_REFERENCE = { $ref: "#/components/schemas/Book" };
const ID = { name: "id", in: "path", required: true, schema: { type: "integer" } };

/** A pixel, as PNG. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/** The document of {@linkcode documentedApp}: all kinds of inputs, and every colour that Swagger UI has for a method. */
function documentOf(title: string) {
  const json = (schema: unknown) => ({ "application/json": { schema } });
  const ok = { 200: { description: "OK" } };
  const invalid = {
    422: {
      description: "The input is invalid",
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
    },
  };
  return {
    openapi: "3.1.0",
    info: {
      title,
      version: "1.0.0",
      description: "A shop of **books**, with a [link](https://shop.example) and `code`.",
    },
    tags: [{ name: "books", description: "What is on the shelves" }],
    paths: {
      "/books": {
        get: {
          tags: ["books"],
          summary: "List the books",
          description: "All of them, or those of a genre.",
          operationId: "listBooks",
          parameters: [
            { name: "limit", in: "query", schema: { type: "integer", minimum: 1, default: 20 } },
            { name: "genre", in: "query", schema: { enum: ["novel", "poems"] } },
            { name: "author", in: "query", schema: { type: "array", items: { type: "string" } } },
            { name: "x-token", in: "header", required: true, schema: { type: "string" } },
          ],
          responses: {
            200: { description: "OK", content: json({ type: "array", items: BOOK_REFERENCE }) },
            ...invalid,
          },
        },
        post: {
          tags: ["books"],
          summary: "Add a book",
          operationId: "addBook",
          requestBody: { required: true, content: json(BOOK_REFERENCE) },
          responses: {
            201: {
              description: "Created",
              headers: { location: { schema: { type: "string" } } },
              content: json(BOOK_REFERENCE),
            },
            ...invalid,
          },
        },
      },
      "/books/{id}": {
        get: {
          tags: ["books"],
          summary: "Get a book",
          operationId: "getBook",
          parameters: [ID],
          responses: { 200: { description: "OK", content: json(BOOK_REFERENCE) }, ...invalid },
        },
        put: { tags: ["books"], operationId: "putBook", parameters: [ID], responses: ok },
        patch: { tags: ["books"], operationId: "patchBook", parameters: [ID], responses: ok },
        delete: { tags: ["books"], operationId: "deleteBook", deprecated: true, parameters: [ID], responses: ok },
      },
      "/cover": {
        get: {
          summary: "See the cover",
          operationId: "getCover",
          responses: {
            200: { description: "A picture", content: { "image/png": { schema: { type: "string" } } } },
          },
        },
        post: {
          summary: "Send a cover, with a summary so long that it needs more than one line on a telephone",
          operationId: "sendCover",
          requestBody: {
            content: {
              "multipart/form-data": {
                schema: {
                  type: "object",
                  required: ["file"],
                  properties: {
                    file: { type: "string", contentMediaType: "application/octet-stream" },
                    caption: { type: "string" },
                  },
                },
              },
            },
          },
          responses: ok,
        },
        head: { operationId: "headCover", responses: ok },
        options: { operationId: "coverOptions", responses: ok },
      },
    },
    components: {
      schemas: {
        Book: BOOK,
        Problem: {
          type: "object",
          properties: { title: { type: "string" }, status: { type: "integer" }, errors: { type: "array", items: {} } },
        },
      },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
    security: [{ bearer: [] }],
  };
}

/** An application that shows its document. */
export function documentedApp(title = "Books"): App {
  const app = new App();
  const document = documentOf(title);
  app.get(OPENAPI_URL, async () => document);
  app.get("/books/{id}", async (_request, { id }) => ({ id: Number(id), title: "Middlemarch" }));
  app.post("/books", { status: 201 }, async (request) => await request.json());
  app.get("/cover", async () => new Blob([Uint8Array.fromBase64(PICTURE)], { type: "image/png" }));
  for (const { path, handler } of docsRoutes({ title, docsUrl: DOCS_URL, openapiUrl: OPENAPI_URL })) {
    app.get(path, async (request) => await handler(request));
  }
  return app;
}
