/** How fast the demo plays, on a server that plays one. */
import { useEffect, useState } from "preact/hooks";
import { refresh, streams } from "../api/catalogue";
import { api, ApiProblem, OfflineError } from "../api/http";
import { attempt } from "../parts/toast";

const RATES = [0, 1, 2, 4, 8] as const;
/** Servers without the streams of the demo are not asked. */
const isDemo = (): boolean => streams.value.some((one) => one.streamIRI.startsWith("http://whorl.example/"));

export function DemoRate() {
  const [rate, setRate] = useState<number | null>(null);
  const isHere = isDemo();
  useEffect(() => {
    if (isHere) void read().then(setRate);
  }, [isHere]);
  if (rate === null) return null;
  const choose = async (wanted: number): Promise<void> => {
    const now = await attempt(() => api.setDemoRate(wanted), wanted === 0 ? "The demo is paused." : wanted === 1 ? "The demo sends events at its usual rate." : `The demo sends ${wanted}× as many events.`);
    if (now !== null) setRate(now);
    await refresh();
  };
  return (
    <div class="rates" role="group" aria-label="Event rate of the demo">
      <span class="quiet">event rate</span>
      {RATES.map((one) => (
        <button type="button" key={one} class="chip" aria-pressed={one === rate} onClick={() => void choose(one)}>
          {one === 0 ? "Pause" : `${one}×`}
        </button>
      ))}
    </div>
  );
}

/** The rate; null on a server whose streams were fed by a demo, and which plays none now. */
async function read(): Promise<number | null> {
  try {
    return await api.demoRate();
  } catch (error) {
    if (error instanceof ApiProblem || error instanceof OfflineError) return null;
    throw error;
  }
}
