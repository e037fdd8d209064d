/** Lifespans: they open resources before the first request and close them after the last one. */
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { describeError, log } from "../log/log.ts";

/**
 * Opens what the application needs, yields it as part of the state, and closes it when the
 * application stops.
 *
 * `App` is the application, `State` the type of its state.
 *
 * @category Applications
 */
export type Lifespan<App, State> = (
  app: App,
) => AsyncGenerator<Partial<State> | void, void, void>;

/** The lifespans of one application. */
export class Lifespans<App, State> {
  readonly #lifespans: Lifespan<App, State>[] = [];
  readonly #open: AsyncGenerator<unknown, void, void>[] = [];

  /**
   * Adds a lifespan.
   *
   * @throws {TypeError} If it is not an `async function*`.
   */
  add(lifespan: Lifespan<App, State>): void {
    if (!isAsyncGeneratorFunction(lifespan)) {
      throw new TypeError(
        "Cannot add the lifespan: it must be an async generator, write async function* (app) { … }",
      );
    }
    this.#lifespans.push(lifespan);
  }

  get isEmpty(): boolean {
    return this.#lifespans.length === 0;
  }

  /**
   * Starts the lifespans in order. If one fails, the open ones are unwound and its error is thrown.
   *
   * @param app The application.
   * @param check Checks whether the application can work. It runs before the first lifespan and
   * after the last, because a lifespan can add what is to be checked.
   * @param begin Begins the work that needs all lifespans.
   * @returns The state: all yielded values in one frozen object.
   * @throws {TypeError} If a lifespan ends without a yield, or two yield the same name.
   */
  async start(
    app: App,
    check: () => Promise<void>,
    begin: (state: Readonly<State>) => Promise<void>,
  ): Promise<Readonly<State>> {
    const state: Record<string, unknown> = {};
    try {
      await check();
      for (const lifespan of this.#lifespans) {
        const generator = lifespan(app);
        const { done, value } = await generator.next();
        if (done) {
          throw new TypeError(
            `Cannot start ${nameOf(lifespan)}: it ended without a yield`,
          );
        }
        this.#open.push(generator);
        for (const [name, part] of Object.entries(value ?? {})) {
          if (Object.hasOwn(state, name)) {
            throw new TypeError(
              `Cannot start ${nameOf(lifespan)}: another one yielded "${name}" already`,
            );
          }
          state[name] = part;
        }
      }
      await check();
      const frozen = Object.freeze(state) as Readonly<State>;
      await begin(frozen);
      return frozen;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Unwinds the open lifespans, the last one first. Errors are logged. */
  async stop(): Promise<void> {
    for (
      let generator = this.#open.pop();
      generator;
      generator = this.#open.pop()
    ) {
      try {
        const { done } = await generator.next();
        if (!done) {
          await generator.return();
          throw new TypeError(
            "Cannot end the lifespan: it yielded more than once",
          );
        }
      } catch (error) {
        log("error", "A lifespan failed to end", {
          error: describeError(error),
        });
      }
    }
  }
}

function nameOf(lifespan: { readonly name: string }): string {
  return lifespan.name === "" ? "the lifespan" : `the lifespan "${lifespan.name}"`;
}
