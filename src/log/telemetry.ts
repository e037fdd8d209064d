/**
 * OpenTelemetry, where Deno's own is on (`OTEL_DENO=true`). Deno's objects are those that the
 * package `@opentelemetry/api` finds, so the spans of an application and of the framework are in
 * one tree without the package. Where it is off, nothing here does anything.
 */
import { redactText } from "./redaction.ts";

/** What `@opentelemetry/api` calls `SpanKind`. */
export const SpanKind = { INTERNAL: 0, SERVER: 1, PRODUCER: 3, CONSUMER: 4 } as const;

/** Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

/** A span, as far as the framework uses it. */
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
  /** The traces of messages that it links to, as {@linkcode traceOf} writes them. */
  readonly links?: Iterable<string | undefined>;
  /** Whether it begins a trace of its own. */
  readonly isRoot?: boolean;
  /** Whether an error is a reply to a client, and no failure. */
  readonly isExpected?: (thrown: unknown) => boolean;
}

/** Where the package and Deno keep the implementations, and a context its span. */
const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

const SCOPE = "@webfw/core";
const ERROR = 2;
/** Exporters drop further links. */
const MAX_LINKS = 128;
/** In characters. */
const MAX_MESSAGE = 1_000;
const MAX_STACK = 16_000;
/** Version, trace, span and flags (W3C Trace Context, section 3.2). */
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

  /** Runs work in a span of its own, which records a failure. */
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

  /** Records a span that has ended. */
  record(name: string, options: SpanOptions, startTime: number): void {
    this.#tracer.startSpan(name, { ...toStartOptions(options), startTime }).end();
  }

  /** Captures the current context, to do later work in it. */
  capture(): RunInSpan {
    const context = this.#contexts.active();
    return (work) => this.#contexts.with(context, work);
  }

  /**
   * Names the span of a request by its route, if Deno's server has made it: an application that is
   * mounted in another one, or called by a handler, leaves the span as it is.
   */
  nameRequest(method: string, route: string): void {
    const { active } = this;
    if (!active || this.#named.has(active)) return;
    this.#named.add(active);
    active.updateName(`${method} ${route}`);
    // Deno's metrics read it.
    active.setAttribute("http.route", route);
  }

  /** Records a failure, by default on the active span. */
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

/** Undefined if the metrics of OpenTelemetry are off. */
export const meter: Meter | undefined = api?.metrics !== undefined && api.metrics === Deno.telemetry.meterProvider
  ? Deno.telemetry.meterProvider.getMeter(SCOPE)
  : undefined;

type RunInSpan = <Result>(work: () => Result) => Result;

const runNow: RunInSpan = (work) => work();

/** Captures the current context, to do later work in it. */
export function captureSpan(): RunInSpan {
  return tracing ? tracing.capture() : runNow;
}

/** The trace of a span, for a message that others link to: a `traceparent` of W3C Trace Context. */
export function traceOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Whether a string is a trace of {@linkcode traceOf}. */
export function isTrace(text: string): boolean {
  return TRACE.test(text);
}

/** The fields of log entries for the active span, if there is one. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = tracing?.active;
  if (!span) return NOTHING;
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

const NOTHING = {};

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

/** What a span records of an error, without secrets. It never throws. */
function describe(thrown: unknown): { readonly name: string; readonly message: string; readonly stack: string } {
  try {
    const stack = redactText(Deno.inspect(thrown, { colors: false, depth: 1 }).slice(0, MAX_STACK));
    const { name, message } = thrown instanceof Error ? thrown : { name: "Error", message: `Thrown: ${stack}` };
    return { name: `${name}`, message: redactText(`${message}`.slice(0, MAX_MESSAGE)), stack };
  } catch {
    return { name: "Error", message: "Thrown: a value that cannot be described", stack: "" };
  }
}
