/** A sentence that is shown for a while: what was done, or why not. */
import { signal } from "@preact/signals";
import { said } from "../api/http";

interface Toast {
  text: string;
  isBad: boolean;
}

const toast = signal<Toast | null>(null);
let timer = 0;

export function tell(text: string, isBad = false): void {
  toast.value = { text, isBad };
  clearTimeout(timer);
  timer = window.setTimeout(() => (toast.value = null), isBad ? 9000 : 4000);
}

/** Do something, and say so, or why it failed. */
export async function attempt<T>(work: () => Promise<T>, done?: string): Promise<T | null> {
  try {
    const result = await work();
    if (done !== undefined) tell(done);
    return result;
  } catch (error) {
    tell(said(error), true);
    return null;
  }
}

export function Toasts() {
  const shown = toast.value;
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown !== null && (
        <div class={shown.isBad ? "toast bad" : "toast"}>
          {shown.text}
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => (toast.value = null)}>×</button>
        </div>
      )}
    </div>
  );
}
