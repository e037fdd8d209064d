// A collector of OpenTelemetry: what programs export to it by OTLP over HTTP as JSON.

import { PATIENCE_MS } from "../../support/patience.ts";

/** The kinds of spans, as OTLP numbers them. */
export const INTERNAL = 1;
export const SERVER = 2;
export const CLIENT = 3;
export const PRODUCER = 4;
export const CONSUMER = 5;

/** The status of a span that has failed. */
export const ERROR = 2;

type Attributes = Readonly<Record<string, unknown>>;

/** A span that was exported. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first one of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2 for a failure. */
  readonly status: number;
}

/** A measurement that was exported. */
export interface ExportedPoint {
  readonly name: string;
  readonly attributes: Attributes;
  /** Undefined for a histogram. */
  readonly value: number | undefined;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Collects spans and metrics until it is disposed of. */
export class OtlpCollector implements AsyncDisposable {
  readonly spans: ExportedSpan[] = [];
  readonly points: ExportedPoint[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #more = Promise.withResolvers<void>();

  constructor() {
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      this.#take(await request.json());
      return Response.json({});
    });
  }

  /** The variables that let a program export to it, almost at once. */
  get env(): Readonly<Record<string, string>> {
    return {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.#server.addr.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "20",
      OTEL_METRIC_EXPORT_INTERVAL: "100",
    };
  }

  /** Waits for a span. */
  span(isSought: (span: ExportedSpan) => boolean): Promise<ExportedSpan> {
    return this.#find(this.spans, isSought, () => this.spans.map(({ name }) => name).join(", "));
  }

  /** Waits for a span with a name. */
  named(name: string): Promise<ExportedSpan> {
    return this.span((span) => span.name === name);
  }

  /** Waits for a measurement. */
  point(isSought: (point: ExportedPoint) => boolean): Promise<ExportedPoint> {
    return this.#find(this.points, isSought, () => JSON.stringify(this.points.slice(-50)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #find<Item>(items: readonly Item[], isSought: (item: Item) => boolean, describe: () => string): Promise<Item> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`It did not come, but: ${describe()}`)), PATIENCE_MS);
    try {
      for (;;) {
        const found = items.find(isSought);
        if (found) return found;
        await Promise.race([this.#more.promise, late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  // deno-lint-ignore no-explicit-any
  #take(body: any): void {
    for (const { spans } of scopesOf(body.resourceSpans, "scopeSpans")) for (const span of spans) this.#takeSpan(span);
    for (const { metrics } of scopesOf(body.resourceMetrics, "scopeMetrics")) {
      for (const { name, gauge, sum, histogram } of metrics) {
        for (const { attributes, asInt, asDouble } of (gauge ?? sum ?? histogram).dataPoints) {
          const value = asDouble ?? (asInt === undefined ? undefined : Number(asInt));
          this.points.push({ name, attributes: toRecord(attributes), value });
        }
      }
    }
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  // deno-lint-ignore no-explicit-any
  #takeSpan({ attributes, events, status, ...span }: any): void {
    this.spans.push({
      ...span,
      attributes: toRecord(attributes),
      // deno-lint-ignore no-explicit-any
      events: events.map(({ name, attributes }: any) => ({ name, attributes: toRecord(attributes) })),
      status: status.code,
    });
  }
}

// deno-lint-ignore no-explicit-any
function scopesOf(resources: any[] | undefined, key: string): any[] {
  return (resources ?? []).flatMap((resource) => resource[key]);
}

function toRecord(attributes: readonly Attribute[]): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
