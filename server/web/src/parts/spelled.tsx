/** Text with variables of queries: browsers break lines behind a question mark, which would tear them apart. */

export function Spelled({ text }: { text: string }) {
  return <>{text.split(/([?$]\w+)/).map((part, at) => (at % 2 === 1 ? <span key={at} class="unbroken">{part}</span> : part))}</>;
}
