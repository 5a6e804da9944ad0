/** Icons, drawn here so that nothing is loaded. */
const PATHS = {
  gallery: "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z",
  streams: "M3 7c3-3 6 3 9 0s6 3 9 0M3 12c3-3 6 3 9 0s6 3 9 0M3 17c3-3 6 3 9 0s6 3 9 0",
  system: "M4 19V11M9.300 19V5M14.600 19v-6M20 19V8",
  plus: "M12 5v14M5 12h14",
  play: "M8 5.500v13l10.500-6.500z",
  pause: "M8 5v14M16 5v14",
  restart: "M19 12a7 7 0 1 1-2.200-5.100M19 4v4h-4",
  bin: "M5 7h14M10 7V4.500h4V7M7 7l1 12.500h8L17 7M10.500 11v5M13.500 11v5",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  link: "M10 14a4 4 0 0 0 5.700 0l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3a4 4 0 0 0 5.700 5.700l1-1",
  sun: "M12 8.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM12 3v2M12 19v2M3 12h2M19 12h2M5.600 5.600 7 7M17 17l1.400 1.400M5.600 18.400 7 17M17 7l1.400-1.400",
  moon: "M19.500 14.500A8 8 0 0 1 9.500 4.500a8 8 0 1 0 10 10z",
  book: "M5 4.500h10a3 3 0 0 1 3 3v12H8a3 3 0 0 1-3-3zM5 16.500a3 3 0 0 1 3-3h10",
  key: "M14.500 9.500a4 4 0 1 0-3.500 4L13 15.500h2.500V18H18v2.500h3V17z",
  export: "M12 4v11M8 11l4 4 4-4M5 19.500h14",
  chart: "M4 19h16M5 15l4-5 4 3 6-8",
  top: "M4 6h14M4 12h10M4 18h6",
  alert: "M12 4 3.500 19h17zM12 10v4M12 16.500v.1",
  graph: "M6 6.500a2 2 0 1 0 0-.1M18 8.500a2 2 0 1 0 0-.1M11 18.500a2 2 0 1 0 0-.1M8 7l8 1.300M7.300 8.200l3.700 8.400M16.700 10l-3.600 7",
  map: "M12 21c4-5 6-8 6-11a6 6 0 0 0-12 0c0 3 2 6 6 11zM12 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  join: "M4 6c6 0 5 6 9 6h7M4 18c6 0 5-6 9-6",
  filter: "M4 5h16l-6 7v6l-4 2v-8z",
  format: "M4 6h16M4 10.500h10M4 15h16M4 19.500h8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill={name === "play" ? "currentColor" : "none"} stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path
        d="M16 16c0-1.600 2.600-1.600 2.600.9 0 3.200-5.800 3.200-5.800-1.100 0-5 9-5.300 9 .6 0 6.900-12.400 6.900-12.400-.9 0-8.400 15.800-8.800 15.800.9 0 10.200-18.800 10.200-19.200-.6C6 9 10 5.200 15 4.400"
        fill="none" stroke="currentColor" stroke-width="2.600" stroke-linecap="round"
      />
    </svg>
  );
}
