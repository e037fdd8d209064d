/** Dependencies that a test replaces. */
import type { AnyDependency, Dependency, DependencyValue, None } from "../binding/dependency.ts";
import type { HttpRequest } from "../http/request.ts";

/** What makes the value of a dependency in its place, as a dependency does. */
export type Replacement<Value> =
  | Dependency<Value, never>
  | ((request: HttpRequest, args: None) => Promise<Value> | AsyncGenerator<Value, void, void>);

/** Pairs of a dependency and its replacement. */
export type Overrides<Given extends readonly AnyDependency[]> = readonly [
  ...{
    [Index in keyof Given]: readonly [
      dependency: Given[Index],
      replacement: Replacement<DependencyValue<Given[Index]>>,
    ];
  },
];
