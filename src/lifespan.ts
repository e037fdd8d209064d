/** Lifespans: what is opened before the first request and closed after the last. */
import { isAsyncGeneratorFunction } from "./binding/dependency.ts";
import { describeError, log } from "./log.ts";

/**
 * Opens what the application needs, yields it as part of the state, and closes it when the application stops.
 *
 * `App` is the application, `State` the type of its state.
 */
export type Lifespan<App, State> = (
  app: App,
) => AsyncGenerator<Partial<State> | void, void, void>;

/** The lifespans of one application, in their order. */
export class Lifespans<App, State> {
  readonly #lifespans: Lifespan<App, State>[] = [];
  readonly #open: AsyncGenerator<unknown, void, void>[] = [];

  /**
   * Adds a lifespan.
   *
   * @throws {TypeError} When it is not an `async function*`.
   */
  add(lifespan: Lifespan<App, State>): void {
    if (!isAsyncGeneratorFunction(lifespan)) {
      throw new TypeError(
        "Cannot add the lifespan: it must be an async generator, write async function* (app) { … }",
      );
    }
    this.#lifespans.push(lifespan);
  }

  /** Whether there is nothing to wait for. */
  get isEmpty(): boolean {
    return this.#lifespans.length === 0;
  }

  /**
   * Starts them in order. Where one fails, those before it are unwound and its error is thrown.
   *
   * @param app The application.
   * @param check Finds out whether it can work; before the first one, and once more when all have
   * added what it is to look at.
   * @returns The state: all that they yielded, frozen.
   * @throws {TypeError} When one ends without a yield, or two yield the same name.
   */
  async start(app: App, check: () => Promise<void>): Promise<Readonly<State>> {
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
    } catch (error) {
      await this.stop();
      throw error;
    }
    return Object.freeze(state) as Readonly<State>;
  }

  /** Unwinds those that are open, the last first. What throws is logged, and the others are still unwound. */
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
