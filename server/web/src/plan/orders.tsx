/** The orders in which a join probes, by name, with their share, and how that share has changed in the last minute. */
import { HISTORY_MAX, type Taken } from "./readings";

/** So many orders have a colour of their own; the others are drawn together. */
const ORDERS_MAX = 5;

interface Order {
  order: (number | string)[];
  taken: number;
}

interface Properties {
  orders: readonly Order[];
  names: readonly string[];
  history: readonly Taken[];
}

export function Orders({ orders, names, history }: Properties) {
  if (orders.length === 0) return null;
  const shown = orders.slice(0, ORDERS_MAX).map((one) => one.order.join(" "));
  const recent = sums(history.slice(-10), shown);
  const all = orders.reduce((sum, one) => sum + one.taken, 0);
  // Nothing in the last seconds: the shares of all time then.
  const isRecent = recent.total > 0;
  return (
    <div class="orders">
      <h4>Probing orders <span class="quiet">{isRecent ? "in the last seconds" : "so far"}</span></h4>
      <Band history={history} shown={shown} />
      <p class="band-scale quiet"><span>a minute ago</span><span>now</span></p>
      <ul>
        {orders.slice(0, ORDERS_MAX).map((one, at) => {
          const share = isRecent ? (recent.by.get(shown[at] ?? "") ?? 0) / recent.total : one.taken / Math.max(1, all);
          return (
            <li class="order" key={shown[at]}>
              <span class="key" style={{ background: colourOf(at) }} />
              <span class="steps">{one.order.map((role, step) => <span class="step" key={step}>{names[Number(role)] ?? role}</span>)}</span>
              <strong>{share > 0 && share < 0.01 ? "<1" : Math.round(100 * share)} %</strong>
            </li>
          );
        })}
      </ul>
      {orders.length > ORDERS_MAX && <p class="quiet">{orders.length - ORDERS_MAX} other orders were used.</p>}
    </div>
  );
}

/** From the end of the colours: those at the beginning are the windows'. */
const colourOf = (at: number): string => (at < ORDERS_MAX ? `var(--series-${8 - at})` : "var(--faint)");

function sums(history: readonly Taken[], shown: readonly string[]): { by: Map<string, number>; total: number } {
  const by = new Map<string, number>();
  let total = 0;
  for (const taken of history) {
    for (const [order, times] of taken) {
      const known = shown.includes(order) ? order : "";
      by.set(known, (by.get(known) ?? 0) + times);
      total += times;
    }
  }
  return { by, total };
}

/** A column for each reading, cut by the share of each order; while nothing was searched, the last shares stay, faintly. */
function Band({ history, shown }: { history: readonly Taken[]; shown: readonly string[] }) {
  const from = HISTORY_MAX - history.length;
  let last: ReturnType<typeof sums> | null = null;
  return (
    <svg class="band" viewBox={`0 0 ${HISTORY_MAX} 20`} preserveAspectRatio="none" role="img" aria-label="Shares of the orders in the last minute">
      {history.flatMap((taken, column) => {
        const now = sums([taken], shown);
        const isIdle = now.total === 0;
        if (!isIdle) last = now;
        const { by, total } = last ?? now;
        let y = 0;
        return [...shown, ""].flatMap((order, at) => {
          const height = total === 0 ? 0 : (20 * (by.get(order) ?? 0)) / total;
          if (height === 0) return [];
          y += height;
          return [<rect key={`${column} ${at}`} x={from + column} y={20 - y} width="1.04" height={height} style={{ fill: colourOf(at), opacity: isIdle ? "0.28" : "1" }} />];
        });
      })}
    </svg>
  );
}
