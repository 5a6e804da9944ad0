/**
 * A ring index, seen: slots in arrival order on a ring. Lit slots are live mappings, as a share of the most there were;
 * the ring turns by a slot for each match.
 */
const SLOTS = 28;

export function Ring({ live, most, matched, size = 40 }: { live: number; most: number; matched: number; size?: number }) {
  const lit = live === 0 ? 0 : Math.max(1, Math.round((SLOTS * live) / Math.max(most, live)));
  const head = matched % SLOTS;
  return (
    <svg class="ring" width={size} height={size} viewBox="0 0 40 40" role="img" aria-label={`${live} live mappings`}>
      {Array.from({ length: SLOTS }, (_, slot) => {
        const behind = (head - slot + SLOTS) % SLOTS;
        const isLit = behind < lit;
        const angle = (slot / SLOTS) * 2 * Math.PI - Math.PI / 2;
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        return (
          <line
            key={slot}
            class={isLit ? "lit" : ""}
            x1={20 + 12.5 * cos} y1={20 + 12.5 * sin} x2={20 + 18 * cos} y2={20 + 18 * sin}
            style={{ opacity: isLit ? `${1 - (0.65 * behind) / Math.max(lit, 1)}` : "1" }}
          />
        );
      })}
      <text x="20" y="23.5" text-anchor="middle">{live > 9999 ? `${Math.round(live / 1000)}k` : live}</text>
    </svg>
  );
}
