/** The methods of applications and routers that register routes. */
import type { RouteDeclaration, WebSocketDeclaration } from "../http/route_info.ts";
import { type OptionNames, readOptions } from "../options.ts";
import { checkOrder, type Registry } from "./registry.ts";
import { ROUTE_OPTIONS } from "./route.ts";
import type { RegisterDeclared, RegisterRoute } from "./route_options.ts";
import type { RegisterWebSocket } from "./websocket_options.ts";

/** The option that `route()` takes beside those of every route. */
export interface MethodsOption {
  /** The methods to serve, at least one. */
  methods: readonly string[];
}

const METHODS_OPTIONS: OptionNames<RouteDeclaration & MethodsOption> = { ...ROUTE_OPTIONS, methods: true };

/** Makes the function that registers routes for one method: `get`, `post`, … */
export function registersMethod<State, Prefix extends string>(
  registry: Registry,
  method: string,
): RegisterRoute<State, Prefix> {
  const register = (path: string, ...rest: unknown[]): void => {
    const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
    registry.register([method], path, options as RouteDeclaration, handler);
  };
  return register as RegisterRoute<State, Prefix>;
}

/** Makes `route`, which registers routes for the methods that its options name. */
export function registersMethods<State, Prefix extends string>(
  registry: Registry,
): RegisterDeclared<State, Prefix, MethodsOption> {
  const register = (path: string, options: RouteDeclaration & MethodsOption, handler: unknown): void => {
    checkOrder(options, `register a route at "${path}"`);
    const { methods, ...declared } = readOptions(options, METHODS_OPTIONS, `register a route at "${path}"`);
    if (!Array.isArray(methods) || methods.length === 0) {
      throw new TypeError(`Cannot register a route at "${path}": methods must be a list of at least one`);
    }
    const names = new Set(methods.map((method) => String(method).toUpperCase()));
    registry.register([...names], path, declared, handler);
  };
  return register as RegisterDeclared<State, Prefix, MethodsOption>;
}

/** Makes `websocket`, which registers WebSocket routes. */
export function registersWebSocket<State, Prefix extends string>(
  registry: Registry,
): RegisterWebSocket<State, Prefix> {
  const register = (path: string, ...rest: unknown[]): void => {
    const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
    registry.registerWebSocket(path, options as WebSocketDeclaration, handler);
  };
  return register as RegisterWebSocket<State, Prefix>;
}
