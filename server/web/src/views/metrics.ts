/** The text format of Prometheus, as `/metrics` writes it. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Histogram {
  /** Upper bounds in seconds, with how many observations fell between the bound before and this one. */
  buckets: { to: number; count: number }[];
  count: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const found = LINE.exec(line);
    if (found === null) return [];
    const labels = Object.fromEntries(Array.from((found[2] ?? "").matchAll(LABEL), ([, name, value]) => [name, value]));
    return [{ name: found[1] ?? "", labels, value: Number(found[3]) }];
  });
}

export function sum(samples: Sample[], name: string): number {
  return samples.filter((one) => one.name === name).reduce((total, one) => total + one.value, 0);
}

/** All series of a histogram added up. */
export function histogram(samples: Sample[], name: string, where: (labels: Record<string, string>) => boolean = () => true): Histogram {
  const upTo = new Map<number, number>();
  for (const { labels, value } of samples.filter((one) => one.name === `${name}_bucket` && where(one.labels))) {
    const bound = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
    upTo.set(bound, (upTo.get(bound) ?? 0) + value);
  }
  let before = 0;
  const buckets = [...upTo].sort(([a], [b]) => a - b).map(([to, total]) => {
    const one = { to, count: total - before };
    before = total;
    return one;
  });
  return { buckets, count: before };
}

/** The bound below which this share of the observations fell. */
export function quantile({ buckets, count }: Histogram, share: number): number | null {
  let passed = 0;
  for (const { to, count: here } of buckets) {
    passed += here;
    if (count > 0 && passed >= share * count) return Number.isFinite(to) ? to : null;
  }
  return null;
}
