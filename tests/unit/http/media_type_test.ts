import { assertEquals } from "@std/assert";
import { isJson, mediaTypeOf } from "../../../src/http/json.ts";

Deno.test("The media type stands before the parameters, in lower case", () => {
  const table: [header: string, type: string][] = [
    ["text/plain", "text/plain"],
    ["Text/HTML; Charset=UTF-8", "text/html"],
    [" multipart/form-data ;boundary=x", "multipart/form-data"],
    ["", ""],
    [";", ""],
  ];
  for (const [header, type] of table) assertEquals(mediaTypeOf(new Headers({ "content-type": header })), type, header);
  assertEquals(mediaTypeOf(new Headers()), "");
});

Deno.test("JSON is application/json and every +json of application, in UTF-8", () => {
  const json = [
    "application/json",
    "APPLICATION/JSON",
    " application/json ",
    "application/json;charset=utf-8",
    'application/json; Charset="UTF-8"',
    "application/json; charset=utf8",
    "application/json; odata=verbose",
    "application/ld+json",
    "application/vnd.api+json; version=1; charset=utf-8",
  ];
  const other = [
    "",
    "json",
    "text/json",
    "application/jsonl",
    "application/json-seq",
    "application/+json",
    "application/json+xml",
    "application/json/x",
    "application/x+json+y",
    "application/json, application/json",
    "application/json; charset=utf-16",
    "application/json; version=1; charset=latin1",
    "application/json; charset=",
    "text/plain; a=application/json",
    "model/gltf+json",
  ];
  for (const type of json) assertEquals(isJson(type), true, type);
  for (const type of other) assertEquals(isJson(type), false, type);
  assertEquals(isJson(null), false);
});
