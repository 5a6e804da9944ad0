/** The same thing from a program: curl, Python, JavaScript. The token is never part of them. */
import { useState } from "preact/hooks";
import { base } from "../api/http";
import { Dialog } from "../parts/dialog";
import { tell } from "../parts/toast";

type Language = "curl" | "Python" | "JavaScript";

const WRITERS: Record<Language, (name: string, text: string) => string> = {
  curl: (name, text) => `# export TOKEN=…   it is in the file 'token' of the data directory
curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/rsp-ql' \\
  ${base}/queries/${name} --data-binary @- <<'EOF'
${text.trimEnd()}
EOF
curl -N -H "Authorization: Bearer $TOKEN" ${base}/queries/${name}/events
`,
  Python: (name, text) => `import os
from whorl_client import Client

with Client("${base}", token=os.environ["TOKEN"]) as client:
    query = client.register('''${text.trimEnd().replace(/\\/g, "\\\\").replace(/'''/g, "\\'\\'\\'")}
''', name="${name}")
    with query.subscribe("earliest") as results:
        for result in results:
            print(result.rows)
`,
  JavaScript: (name, text) => `const headers = { Authorization: \`Bearer \${process.env.TOKEN}\`, "Content-Type": "application/rsp-ql" };
await fetch("${base}/queries/${name}", { method: "PUT", headers, body: ${JSON.stringify(text)} });

const socket = new WebSocket("${base.replace(/^http/, "ws")}/ws", "rsp.v1.json");
const say = (message) => socket.send(JSON.stringify(message));
socket.onopen = () => say({ type: "connection_init", payload: { token: process.env.TOKEN } });
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "connection_ack") say({ type: "subscribe", id: "1", payload: { query: "${name}", credit: 1000 } });
  if (message.type === "ping") say({ type: "pong" });
  if (message.type === "next") console.log(message.payload.results);
};
`,
};

export function Snippets({ name, text, close }: { name: string; text: string; close(): void }) {
  const [language, choose] = useState<Language>("curl");
  const snippet = WRITERS[language](name || "my-query", text);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(snippet);
    tell(`Copied as ${language}.`);
  };
  return (
    <Dialog title="Copy as" close={close}>
      <div class="choices" role="group" aria-label="Language">
        {(Object.keys(WRITERS) as Language[]).map((one) => (
          <button type="button" key={one} class={one === language ? "chip on" : "chip"} aria-pressed={one === language} onClick={() => choose(one)}>{one}</button>
        ))}
      </div>
      <pre class="snippet" tabIndex={0}>{snippet}</pre>
      <footer class="dialog-foot"><button type="button" class="button primary" onClick={() => void copy()}>Copy</button></footer>
    </Dialog>
  );
}
