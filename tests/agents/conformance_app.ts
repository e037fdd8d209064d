// An application with the tools that the official conformance suite calls, as far as a route can be
// one of them.

import { App, HTTPError, text } from "@webfw/core";
import * as v from "valibot";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const Address = v.pipe(v.object({ street: v.string(), city: v.string() }), v.title("address"));

/** Makes the application. */
export function conformanceApp(): App {
  const app = new App({ title: "Conformance", version: "1.0.0" });
  app.get("/text", { tool: true }, async function test_simple_text() {
    return text("This is a simple text response for testing.");
  });
  app.get("/image", { tool: true }, async function test_image_content() {
    return new Blob([Uint8Array.fromBase64(PIXEL)], { type: "image/png" });
  });
  app.get("/audio", { tool: true }, async function test_audio_content() {
    return new Blob([Uint8Array.fromBase64(SILENCE)], { type: "audio/wav" });
  });
  app.get("/resource", { tool: true }, async function test_embedded_resource() {
    return new Blob(["%PDF-1.7"], { type: "application/pdf" });
  });
  app.get("/error", { tool: true }, async function test_error_handling() {
    throw new HTTPError(500, "This tool intentionally returns an error for testing");
  });
  // Features that webfw leaves out: a route writes no log to its caller, and asks it for nothing.
  app.get("/log", { tool: true }, async function test_logging_tool() {});
  app.get("/stream", { tool: true }, async function test_streaming_elicitation() {});
  app.post("/schema", {
    body: v.strictObject({ name: v.string(), home: Address, work: Address }),
    tool: { name: "json_schema_2020_12_tool" },
  }, async function schema(_request, { body }) {
    return body;
  });
  return app;
}
