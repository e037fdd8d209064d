// What the board says of its application.

import { Store, useStore } from "./store.ts";

export interface Info {
  readonly title: string;
  readonly version: string;
  readonly readOnly: boolean;
}

export const info = new Store<Info | undefined>(undefined);

/** Whether this page may change something. */
export function useMayAct(): boolean {
  return useStore(info)?.readOnly === false;
}
