/**
 * A ring index, seen: slots in arrival order on a ring. Lit slots are live mappings, as a share of the most there were;
 * the ring turns by a slot for each match.
 */
import { count } from "../parts/format";

const SLOTS = 40;
const [INNER, OUTER] = [21, 28];

interface Properties {
  live: number;
  most: number;
  matched: number;
  colour: string;
}

export function Ring({ live, most, matched, colour }: Properties) {
  const lit = live === 0 ? 0 : Math.max(1, Math.round((SLOTS * live) / Math.max(most, live)));
  const head = matched % SLOTS;
  return (
    <svg class="ring" width="62" height="62" viewBox="0 0 62 62" role="img" aria-label={`${live} live mappings`}>
      {Array.from({ length: SLOTS }, (_, slot) => {
        const behind = (head - slot + SLOTS) % SLOTS;
        const isLit = behind < lit;
        const angle = (slot / SLOTS) * 2 * Math.PI - Math.PI / 2;
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        return (
          <line
            key={slot}
            class={isLit ? "lit" : ""}
            x1={31 + INNER * cos} y1={31 + INNER * sin} x2={31 + OUTER * cos} y2={31 + OUTER * sin}
            style={isLit ? { stroke: colour, opacity: `${1 - (0.65 * behind) / Math.max(lit, 1)}` } : {}}
          />
        );
      })}
      <text x="31" y="35" text-anchor="middle">{count(live)}</text>
    </svg>
  );
}
