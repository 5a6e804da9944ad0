/** What is on the server, read again every two seconds while somebody looks. */
import { signal } from "@preact/signals";
import { api, OfflineError } from "./http";
import { note } from "../parts/spark";
import { isRefused, token } from "./session";
import type { QueryDocument, StreamDocument } from "./types";

const EVERY_MS = 2000;
const OFFLINE_MS = 700;

export const queries = signal<QueryDocument[]>([]);
export const streams = signal<StreamDocument[]>([]);
export const isLoaded = signal(false);

let timer = 0;

export async function refresh(): Promise<void> {
  clearTimeout(timer);
  let wait = EVERY_MS;
  try {
    [queries.value, streams.value] = await Promise.all([api.queries(), api.streams()]);
    isLoaded.value = true;
    for (const one of streams.value) note(one.streamIRI, one.rate);
  } catch (error) {
    if (error instanceof OfflineError) wait = OFFLINE_MS;
  }
  clearTimeout(timer);
  if (!(isRefused.value && token.value === null)) timer = window.setTimeout(() => void refresh(), wait);
}

export const queryNamed = (name: string): QueryDocument | undefined => queries.value.find((one) => one.id === name);
