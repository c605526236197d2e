/** Small drawings, 16 by 16, in the colour of the text. They are decoration: the text or a label beside them says it all. */

const paths = {
  timers: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3l2 1.5",
  dead: "M8 2 14.5 13.5h-13ZM8 6.5v3M8 11.4v.2",
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h6",
  namespaces: "M2.5 4.5h4l1.5 2h5.5v6h-11Z",
  status: "M2 8.5h3l2-5 2.5 9 2-4H14",
  keys: "M10.5 2.5a3 3 0 1 1-2.2 5L3 12.8V14h2l.5-1.5H7V11h1.5l1-1.6",
  filter: "M2 3.5h12M4.5 8h7M6.5 12.5h3",
  star: "M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6Z",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3 14 14",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.5 8Z",
  copy: "M5.5 5.5h7v8h-7ZM3.5 10.5v-8h7",
  duplicate: "M2.5 5.5h8v8h-8ZM5.5 2.5h8v8M6.5 7.5v4M4.5 9.5h4",
  live: "M8 7a1 1 0 1 0 .01 0M5.2 10.8a4 4 0 0 1 0-5.6M10.8 5.2a4 4 0 0 1 0 5.6M3 13a7 7 0 0 1 0-10M13 3a7 7 0 0 1 0 10",
  stopped: "M4.5 4.5h7v7h-7Z",
  check: "M3 8.5 6.5 12 13 4.5",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  more: "M3.5 7.5a.5.5 0 1 0 .01 0M8 7.5a.5.5 0 1 0 .01 0M12.5 7.5a.5.5 0 1 0 .01 0",
  export: "M8 2.5v7M5 6.5l3 3 3-3M3 13h10",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  screen: "M2 3h12v8H2ZM6 13.5h4M8 11v2.5",
  globe: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM2 8h12M8 2c2.2 2 2.2 10 0 12M8 2c-2.2 2-2.2 10 0 12",
  help: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM6.2 6.3a1.9 1.9 0 1 1 2.6 1.9c-.6.3-.8.6-.8 1.3M8 11.4v.1",
  replay: "M3 8a5 5 0 1 0 1.6-3.7M3 2.5v3h3",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9",
  edit: "M3 13l.5-3L10.5 3 13 5.5 6 12.5Z",
  bolt: "M9 2 3.5 9H8l-1 5 5.5-7H8Z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  lock: "M4 7.5h8v6H4ZM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  out: "M6.5 2.5h-4v11h4M6.5 8h7M10.5 5l3 3-3 3",
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)
