/** What the application has while it runs. */
import { stateType } from "@webfw/core";

/** The value of the application's lifespan. */
export interface State {
  /** The folder of the pictures. */
  readonly folder: string;
  /** The script of the page. */
  readonly script: Blob;
}

/** Its type, for the application and its routers. */
export const state = stateType<State>();
