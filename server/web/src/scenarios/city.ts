/** Roads, car parks, weather and air of Aarhus: every stream that a query asks for has its sensor. The weather falls silent for a while. */
import { between, HOUR, type Random, type Sample, type SampleEvent } from "./sample";

const PREFIXES = `PREFIX ssn: <http://purl.oclc.org/NET/ssnx/ssn#> PREFIX sao: <http://purl.oclc.org/NET/sao/> PREFIX ct: <http://www.insight-centre.org/citytraffic#>
PREFIX service: <http://www.insight-centre.org/dataset/SampleEventService#> PREFIX : <http://example.org/citybench/>`;
const SERVICE = "http://www.insight-centre.org/dataset/SampleEventService#";

type Values = Readonly<Record<string, (random: Random) => number>>;
/** By the kind of sensor, the properties that it measures. */
const KINDS: Readonly<Record<string, Values>> = {
  Traffic: { CongestionLevel: (random) => between(0, 0.0025, random), EstimatedTime: (random) => between(60, 400, random), AverageSpeed: (random) => between(20, 80, random) },
  Parking: { ParkingVacancy: (random) => Math.max(0, Math.round(between(-3, 60, random))) },
  Weather: { Temperature: (random) => between(5, 20, random), Humidity: (random) => between(40, 95, random), WindSpeed: (random) => between(0, 12, random) },
  Pollution: { API: (random) => Math.round(between(20, 140, random)) },
};
const SENSORS = [
  "AarhusTrafficData182955", "AarhusTrafficData158505", "AarhusTrafficData186979", "AarhusParkingDataKALKVAERKSVEJ", "AarhusParkingDataSKOLEBAKKEN",
  "AarhusWeatherData0", "AarhusPollutionData201399", "AarhusPollutionData197626", "AarhusPollutionData158505", "AarhusPollutionData206502",
];

const kindOf = (sensor: string): string => Object.keys(KINDS).find((kind) => sensor.includes(kind)) ?? "Traffic";

const sensors = SENSORS.flatMap((sensor, at) => [
  `:street${at} ct:hasStartLatitude ${(56.15 + 0.003 * at).toFixed(4)} ; ct:hasStartLongitude ${(10.2 + 0.003 * at).toFixed(4)} .`,
  ...Object.keys(KINDS[kindOf(sensor)] ?? {}).map((property) => `:${sensor}-${property} a ct:${property} ; ssn:isPropertyOf :street${at} .`),
]).join("\n");

const venue = (name: string, title: string): string => `:${name} ssn:featureOfInterest :venue-${name} ; sao:value "${title}" . :venue-${name} ct:hasFirstNode :node-${name} .
:node-${name} ct:hasNodeName "${name}" ; ct:hasLatitude 56.1580 ; ct:hasLongitude 10.2080 .`;

export const city: Sample = {
  graphs: {
    "http://example.org/citybench/sensors": `${PREFIXES}\n${sensors}`,
    "http://example.org/citybench/cultural-events": `${PREFIXES}\n${venue("concert", "Koncert i parken. Price: 95.00 kr")}\n${venue("opera", "Koncert og opera. Price: 240.00 kr")}`,
    "http://example.org/citybench/library-events": `${PREFIXES}\n${venue("library", "Reading for children")}`,
  },
  spanMs: HOUR,
  at: (step, t, random) => [
    ...SENSORS.filter((sensor) => !(sensor === "AarhusWeatherData0" && step % 60 > 25)).flatMap((sensor) => readings(sensor, t, random)),
    // A user walks about; some queries ask what is near.
    { stream: `${SERVICE}UserLocationService`, turtle: `${PREFIXES}\n${walk(step, t)}` },
  ],
};

function readings(sensor: string, t: number, random: Random): SampleEvent[] {
  const values = Object.entries(KINDS[kindOf(sensor)] ?? {});
  const lines = values.map(([property, value]) => {
    const shown = value(random);
    const literal = Number.isInteger(shown) ? `"${shown}"^^<http://www.w3.org/2001/XMLSchema#integer>` : shown.toFixed(6);
    return `:${sensor}-${property}-${t} ssn:observedBy service:${sensor} ; ssn:observedProperty :${sensor}-${property} ; sao:hasValue ${literal} .`;
  });
  return [{ stream: SERVICE + sensor, turtle: `${PREFIXES}\n${lines.join("\n")}` }];
}

const walk = (step: number, t: number): string => `:fix${t} ssn:observedBy service:UserLocationService ; sao:hasValue :place${t} . :place${t} ct:hasLatitude ${(56.15 + 0.0005 * (step % 40)).toFixed(5)} ; ct:hasLongitude ${(10.2 + 0.0005 * (step % 40)).toFixed(5)} .`;
