/** Numbers, instants and sizes as people read them. */

export function count(value: number): string {
  return Math.abs(value) < 10_000 ? String(value) : compact.format(value);
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0/s";
  if (perSecond < 1) return `${(perSecond * 60).toFixed(perSecond * 60 < 10 ? 1 : 0)}/min`;
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))}/s`;
}

/** A time of day, with the day where it is not today's. */
export function instant(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  const at = new Date(ms);
  const time = clock(ms);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? time : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

export function clock(ms: number): string {
  const at = new Date(ms);
  const fraction = at.getMilliseconds() === 0 ? "" : `.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${fraction}`;
}

const two = (value: number): string => String(value).padStart(2, "0");

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${trimmed(ms / 1000)} s`;
  if (ms < 3_600_000) return `${trimmed(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${trimmed(ms / 3_600_000)} h`;
  return `${trimmed(ms / 86_400_000)} d`;
}

const trimmed = (value: number): string => String(Number(value.toFixed(1)));

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let left = value;
  for (; left >= 1024 && unit < units.length - 1; unit += 1) left /= 1024;
  return `${unit === 0 ? left : left.toFixed(1)} ${units[unit]}`;
}

export function seconds(value: number): string {
  return value < 1 ? duration(value * 1000) : duration(Math.round(value * 10) * 100);
}
