/** The option `document` of an application, which has the last hand on its document. */
import { stringify } from "../../http/json.ts";
import { quote } from "../../base/options.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { DocumentOptions } from "./document_options.ts";

/**
 * Gives a copy of the document to the option, and takes what it returns.
 *
 * It gets and gives JSON alone: parts that operations share, also those of other applications,
 * would otherwise change together.
 *
 * @throws {TypeError} If the result is no document.
 * @throws {Error} If the function throws, with its error as the cause.
 */
export function withLastHand(document: OpenAPIDocument, lastHand: DocumentOptions["document"]): OpenAPIDocument {
  if (lastHand === undefined) return document;
  const copy: OpenAPIDocument = JSON.parse(stringify(document));
  let result: unknown;
  try {
    result = lastHand(copy);
  } catch (error) {
    const reason = error instanceof Error ? error.message : quote(error);
    throw new Error(`Cannot describe the App: its option "document" threw: ${reason}`, { cause: error });
  }
  checkResult(result);
  try {
    return JSON.parse(stringify(result));
  } catch (error) {
    throw new TypeError('Cannot describe the App: what its option "document" returned is not JSON', { cause: error });
  }
}

function checkResult(result: unknown): asserts result is OpenAPIDocument {
  const action = 'Cannot describe the App: its option "document" returned';
  if (result === undefined) throw new TypeError(`${action} nothing, return the document, also after changing it`);
  if (result instanceof Promise) throw new TypeError(`${action} a promise, write a sync function`);
  const { openapi, info, paths, components } = Object(result);
  const isDocument = typeof openapi === "string" && [info, paths, components].every(isObject);
  if (isDocument) return;
  throw new TypeError(`${action} no document: it must be an object with openapi, info, paths and components`);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
