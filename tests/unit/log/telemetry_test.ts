// OpenTelemetry is off in tests: what it costs then, and the numbers of its package.

import { assertEquals } from "@std/assert";
import { SpanKind as OfPackage } from "npm:@opentelemetry/api@^1.10.0";
import { isTrace, meter, SpanKind, traceFields, traceOf, tracing } from "../../../src/log/telemetry.ts";

Deno.test("without OpenTelemetry there are no spans, no gauges and no fields in the log", () => {
  assertEquals([tracing, meter], [undefined, undefined]);
  assertEquals(traceFields(), {});
});

Deno.test("the kinds of spans are those of the package", () => {
  for (const [name, kind] of Object.entries(SpanKind)) assertEquals(kind, OfPackage[name as keyof typeof SpanKind]);
});

Deno.test("the trace of a span is a traceparent", () => {
  const context = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
  const trace = traceOf({ spanContext: () => context } as Parameters<typeof traceOf>[0]);
  assertEquals(trace, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  assertEquals(isTrace(trace), true);
  for (const other of ["", "x".repeat(1e5), trace + "0", trace.toUpperCase(), `01${trace.slice(2)}`]) {
    assertEquals(isTrace(other), false, other.slice(0, 60));
  }
});
