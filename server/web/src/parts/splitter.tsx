/** A border that can be moved, by mouse, finger or arrow keys; where it was left is kept. */
import { signal } from "@preact/signals";

const KEY = "split";
const [LEAST, MOST] = [18, 75];
const kept = Number(localStorage.getItem(KEY));
/** The share of the left part in percent; null until somebody has moved it. */
export const split = signal<number | null>(kept >= LEAST && kept <= MOST ? kept : null);

function move(to: number): void {
  split.value = Math.min(MOST, Math.max(LEAST, to));
  localStorage.setItem(KEY, String(split.value));
}

export function Splitter({ usual }: { usual: number }) {
  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    const box = handle.parentElement?.getBoundingClientRect();
    if (box === undefined) return;
    handle.setPointerCapture(event.pointerId);
    const follow = (moved: PointerEvent): void => move((100 * (moved.clientX - box.left)) / box.width);
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", follow), { once: true });
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowLeft" ? -2 : event.key === "ArrowRight" ? 2 : 0;
    if (step === 0) return;
    event.preventDefault();
    move((split.value ?? usual) + step);
  };
  return (
    <div
      class="splitter" role="separator" aria-orientation="vertical" aria-label="Width of the editor" tabIndex={0}
      aria-valuemin={LEAST} aria-valuemax={MOST} aria-valuenow={Math.round(split.value ?? usual)} onPointerDown={drag} onKeyDown={press}
    />
  );
}
