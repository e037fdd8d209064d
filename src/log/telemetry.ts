/**
 * OpenTelemetry, if Deno's own is on (`OTEL_DENO=true`); otherwise nothing. The package
 * `@opentelemetry/api` finds the same objects, so spans of applications and of the framework are
 * one tree.
 */
import { redactText } from "./redaction.ts";

/** `SpanKind` of `@opentelemetry/api`. */
export const SpanKind = { INTERNAL: 0, SERVER: 1, PRODUCER: 3, CONSUMER: 4 } as const;

/** Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

export interface Span {
  spanContext(): SpanContext;
  setAttribute(name: string, value: string | number | boolean): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  recordException(exception: { readonly name: string; readonly message: string; readonly stack: string }): void;
  updateName(name: string): unknown;
  end(): void;
}

interface Context {
  getValue(key: symbol): unknown;
  deleteValue(key: symbol): Context;
}

interface ContextManager {
  active(): Context;
  with<Result>(context: Context, work: () => Result): Result;
}

interface StartOptions {
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly context: SpanContext }[];
  readonly root: boolean;
  readonly startTime?: number;
}

interface Tracer {
  startSpan(name: string, options: StartOptions): Span;
  startActiveSpan<Result>(name: string, options: StartOptions, work: (span: Span) => Result): Result;
}

export interface SpanOptions {
  /** By default `SpanKind.INTERNAL`. */
  readonly kind?: number;
  readonly attributes?: SpanAttributes;
  /** As {@linkcode traceOf} writes them. */
  readonly links?: Iterable<string | undefined>;
  readonly isRoot?: boolean;
  /** Whether an error is a reply, and no failure. */
  readonly isExpected?: (thrown: unknown) => boolean;
}

/** The keys of the implementations, and of the span of a context. */
const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

const SCOPE = "@webfw/core";
const ERROR = 2;
/** Exporters drop further links. */
const MAX_LINKS = 128;
/** In characters. */
const MAX_MESSAGE = 1_000;
const MAX_STACK = 16_000;
/** W3C Trace Context, section 3.2: version, trace, span and flags. */
const TRACE = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export class Tracing {
  readonly #tracer: Tracer;
  readonly #contexts: ContextManager;
  readonly #named = new WeakSet<Span>();

  constructor(tracer: Tracer, contexts: ContextManager) {
    this.#tracer = tracer;
    this.#contexts = contexts;
  }

  get active(): Span | undefined {
    return this.#contexts.active().getValue(SPAN) as Span | undefined;
  }

  /** Records failures. */
  run<Result>(name: string, options: SpanOptions, work: (span: Span) => Promise<Result>): Promise<Result> {
    return this.#tracer.startActiveSpan(name, toStartOptions(options), async (span) => {
      this.#named.add(span);
      try {
        return await work(span);
      } catch (thrown) {
        if (!options.isExpected?.(thrown)) this.fail(thrown, span);
        throw thrown;
      } finally {
        span.end();
      }
    });
  }

  record(name: string, options: SpanOptions, startTime: number): void {
    this.#tracer.startSpan(name, { ...toStartOptions(options), startTime }).end();
  }

  /** For later work. */
  capture(): RunInSpan {
    const context = this.#contexts.active();
    return (work) => this.#contexts.with(context, work);
  }

  /** Names the span of Deno's server, but not that of a handler that calls an application. */
  nameRequest(method: string, route: string): void {
    const { active } = this;
    if (!active || this.#named.has(active)) return;
    this.#named.add(active);
    active.updateName(`${method} ${route}`);
    // Deno's metrics read it.
    active.setAttribute("http.route", route);
  }

  /** By default on the active span. */
  fail(thrown: unknown, span: Span | undefined = this.active): void {
    if (!span) return;
    const exception = describe(thrown);
    span.recordException(exception);
    span.setStatus({ code: ERROR, message: exception.message });
  }
}

const api = (globalThis as { readonly [API]?: { readonly trace?: unknown; readonly metrics?: unknown } })[API];

/** Undefined if OpenTelemetry is off. */
export const tracing: Tracing | undefined = api?.trace !== undefined && api.trace === Deno.telemetry.tracerProvider
  ? new Tracing(Deno.telemetry.tracerProvider.getTracer(SCOPE), Deno.telemetry.contextManager)
  : undefined;

export interface ObservableGauge {
  addCallback(measure: (result: GaugeResult) => void | Promise<void>): void;
  removeCallback(measure: (result: GaugeResult) => void | Promise<void>): void;
}

export interface GaugeResult {
  observe(value: number, attributes: Readonly<Record<string, string>>): void;
}

interface Meter {
  createObservableGauge(
    name: string,
    options: { readonly description: string; readonly unit: string },
  ): ObservableGauge;
}

/** Undefined if metrics are off. */
export const meter: Meter | undefined = api?.metrics !== undefined && api.metrics === Deno.telemetry.meterProvider
  ? Deno.telemetry.meterProvider.getMeter(SCOPE)
  : undefined;

type RunInSpan = <Result>(work: () => Result) => Result;

export function captureSpan(): RunInSpan {
  return tracing ? tracing.capture() : (work) => work();
}

/** A `traceparent` of W3C Trace Context, for links. */
export function traceOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** As {@linkcode traceOf} writes it. */
export function isTrace(text: string): boolean {
  return TRACE.test(text);
}

/** Empty without an active span. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = tracing?.active;
  if (!span) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

function toStartOptions({ kind = SpanKind.INTERNAL, attributes = {}, links = [], isRoot = false }: SpanOptions) {
  const given: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) given[name] = value;
  return { kind, attributes: given, links: toLinks(links), root: isRoot };
}

function toLinks(traces: Iterable<string | undefined>): { readonly context: SpanContext }[] {
  const links: { readonly context: SpanContext }[] = [];
  for (const trace of new Set(traces)) {
    const [, traceId, spanId, flags] = TRACE.exec(trace ?? "") ?? [];
    if (traceId === undefined || links.length === MAX_LINKS) continue;
    links.push({ context: { traceId, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16), isRemote: true } });
  }
  return links;
}

/** Without secrets. Never throws. */
function describe(thrown: unknown): { readonly name: string; readonly message: string; readonly stack: string } {
  try {
    const stack = redactText(Deno.inspect(thrown, { colors: false, depth: 1 }).slice(0, MAX_STACK));
    const { name, message } = thrown instanceof Error ? thrown : { name: "Error", message: `Thrown: ${stack}` };
    return { name: `${name}`, message: redactText(`${message}`.slice(0, MAX_MESSAGE)), stack };
  } catch {
    return { name: "Error", message: "Thrown: a value that cannot be described", stack: "" };
  }
}
