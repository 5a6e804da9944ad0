/** Four weather stations, one of them on the mountain that two queries ask for, through a day with rain and gusts; one falls silent. */
import { between, dateTime, double, HOUR, type Random, type Sample } from "./sample";

const PREFIXES = `PREFIX om: <http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#> PREFIX weather: <http://knoesis.wright.edu/ssw/ont/weather.owl#>
PREFIX geo: <http://www.w3.org/2003/01/geo/wgs84_pos#> PREFIX : <http://example.org/srbench/>`;
const STATIONS = [["A01", 32.892, -116.42, 6300], ["B02", 33.1, -116.8, 1200], ["C03", 32.7, -117.1, 40], ["D04", 34.2, -118.1, 900]] as const;

const stations = STATIONS.map(([id, lat, lon, feet]) =>
  `:${id} om:processLocation :at${id} . :at${id} geo:lat ${double(lat)} ; geo:long ${double(lon)} ; geo:alt ${double(feet)} .`).join("\n");

interface Kind {
  property: string;
  type: string;
  unit: string;
  value(hour: number, random: Random): number;
}

const KINDS: readonly Kind[] = [
  { property: "_AirTemperature", type: "TemperatureObservation", unit: "weather:fahrenheit", value: (hour, random) => 60 + 14 * Math.sin(((hour - 9) / 12) * Math.PI) + between(-1, 1, random) },
  { property: "_WindSpeed", type: "WindSpeedObservation", unit: "weather:milesPerHour", value: (_, random) => between(3, 14, random) },
  { property: "_WindGust", type: "WindObservation", unit: "weather:milesPerHour", value: (_, random) => between(8, 32, random) },
  { property: "_WindDirection", type: "WindObservation", unit: "weather:degrees", value: (_, random) => between(180, 300, random) },
  { property: "_RelativeHumidity", type: "RelativeHumidityObservation", unit: "weather:percent", value: (_, random) => between(60, 100, random) },
  { property: "_DewPoint", type: "DewPointObservation", unit: "weather:fahrenheit", value: (hour, random) => 58 + 13 * Math.sin(((hour - 9) / 12) * Math.PI) + between(-1, 1, random) },
  { property: "_Precipitation", type: "RainfallObservation", unit: "weather:centimeters", value: (_, random) => between(0, 2, random) },
  { property: "_Pressure", type: "PressureObservation", unit: "", value: (_, random) => between(29, 31, random) },
];

export const weather: Sample = {
  graphs: { "http://example.org/srbench/stations": `${PREFIXES}\n${stations}` },
  spanMs: 27 * HOUR,
  at: (step, t, random) =>
    STATIONS.flatMap(([id], number) => {
      // The last station is silent in the second half.
      if (number === 3 && step % 120 > 60) return [];
      const hour = new Date(t).getUTCHours();
      const readings = KINDS.map(({ property, type, unit, value }, at) => `:${id} om:generatedObservation _:o${at} . _:o${at} a weather:${type} ;
  om:observedProperty weather:${property} ; om:procedure :${id} ; om:samplingTime _:now ; om:result _:m${at} .
_:m${at} om:floatValue ${double(value(hour, random))}${unit === "" ? "" : ` ; om:uom ${unit}`} .`);
      return [{ stream: "http://example.org/srbench/observations", turtle: `${PREFIXES}\n${readings.join("\n")}\n_:now a om:Instant ; om:inXSDDateTime ${dateTime(t)} .` }];
    }),
};
