/** A line of the last minute or so, without axes: whether something moves, and how. */
const LENGTH = 40;
const WIDTH = 96;
const HEIGHT = 24;
const kept = new Map<string, { values: number[]; at: number }>();

/** Keep a value, whether or not somebody looks; one is added at most every second. */
export function note(id: string, value: number): void {
  const of = kept.get(id) ?? { values: [], at: 0 };
  if (Date.now() - of.at < 900) return;
  kept.set(id, { at: Date.now(), values: [...of.values, value].slice(-LENGTH) });
}

export function Spark({ id }: { id: string }) {
  const values = kept.get(id)?.values ?? [];
  const most = Math.max(...values, 0.001);
  const x = (at: number): number => (at / Math.max(1, values.length - 1)) * WIDTH;
  const y = (one: number): number => HEIGHT - 2 - (one / most) * (HEIGHT - 5);
  const line = values.map((one, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(one).toFixed(1)}`).join("");
  const area = `${line}L${WIDTH} ${HEIGHT}L${x(0).toFixed(1)} ${HEIGHT}Z`;
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {values.length > 1 && <path class="spark-area" d={area} />}
      {values.length > 1 && <path class="spark-line" d={line} />}
    </svg>
  );
}
