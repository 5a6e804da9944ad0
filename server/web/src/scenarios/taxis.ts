/** Trips of taxis between a few busy corners of Manhattan. */
import { between, dateTime, HOUR, MINUTE, pick, type Random, type Sample } from "./sample";

const CORNERS: readonly (readonly [number, number])[] = [[40.7506, -73.9935], [40.7527, -73.9772], [40.7614, -73.9776], [40.7308, -73.9973], [40.7769, -73.874], [40.7061, -74.0088]];
const TAXIS = 40;

function near([lat, lon]: readonly [number, number], random: Random): [string, string] {
  return [between(lat - 0.0015, lat + 0.0015, random).toFixed(6), between(lon - 0.002, lon + 0.002, random).toFixed(6)];
}

export const taxis: Sample = {
  graphs: {},
  spanMs: HOUR,
  at: (step, t, random) =>
    Array.from({ length: 3 }, (_, trip) => {
      // The first corners are the busiest.
      const from = near(CORNERS[Math.floor(random() * random() * CORNERS.length)] ?? [40.75, -73.99], random);
      const to = near(pick(CORNERS, random), random);
      const fare = between(5, 40, random);
      const lasts = between(5, 25, random) * MINUTE;
      return {
        stream: "http://example.org/debs2015/trips",
        turtle: `PREFIX : <http://example.org/debs2015/> :trip${step}-${trip}-${t} :taxi :taxi${Math.floor(random() * TAXIS)} ;
  :pickLat ${from[0]} ; :pickLon ${from[1]} ; :dropLat ${to[0]} ; :dropLon ${to[1]} ; :fare ${fare.toFixed(2)} ; :tip ${(fare * between(0, 0.25, random)).toFixed(2)} ;
  :pickupTime ${dateTime(t - lasts)} ; :dropoffTime ${dateTime(t)} .`,
      };
    }),
};
