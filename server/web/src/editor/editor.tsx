/**
 * The editor. It lives in a shadow root: there CodeMirror puts its styles into adopted style sheets, which the strict
 * content policy of the page allows; in the document it would need inline styles.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { linter, lintGutter, lintKeymap, nextDiagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, placeholder,
} from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import type { QueryDocument } from "../api/types";
import { complete } from "./completion";
import { highlighting, rspql } from "./language";
import { judge, judgeAgain, type Verdict } from "./lint";
import { formatted } from "./text";
import { wrapping } from "./wrapping";

export interface EditorHandle {
  text(): string;
  set(text: string): void;
  format(): void;
  toNextFault(): void;
}

interface Properties {
  text: string;
  /** The query that is edited; null for a new one. */
  query: QueryDocument | null;
  onChange(text: string): void;
  onVerdict(verdict: Verdict): void;
  onRun(): void;
  handle(editor: EditorHandle): void;
}

const LINT_MS = 350;

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "12px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line-active)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-selectionMatch": { backgroundColor: "var(--selection)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "1px solid var(--accent-soft)" },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--border)", borderRadius: "8px",
    boxShadow: "var(--shadow)", overflow: "hidden", fontFamily: "var(--sans)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "15em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px !important" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1.2em", fontSize: "11.5px" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit", opacity: "0.8" },
  ".cm-diagnostic": { padding: "8px 12px", whiteSpace: "pre-wrap", borderLeft: "3px solid", fontSize: "13px", maxWidth: "32rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)", color: "var(--on-accent)", borderRadius: "5px", padding: "3px 9px", margin: "6px 6px 0 0",
    display: "inline-block", font: "600 12px var(--sans)", cursor: "pointer",
  },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.2px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.2px", textUnderlineOffset: "3px" },
  ".cm-gutter-lint": { width: "16px" },
  ".cm-lint-marker": { width: "8px", height: "8px", borderRadius: "50%", margin: "6px 4px", content: "''" },
  ".cm-lint-marker-error": { backgroundColor: "var(--bad)", content: "''" },
  ".cm-lint-marker-warning": { backgroundColor: "var(--warn)", content: "''" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-textfield": { backgroundColor: "var(--page)", border: "1px solid var(--border)", borderRadius: "5px", color: "inherit" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", border: "1px solid var(--border)", borderRadius: "5px", color: "inherit" },
});

export function Editor(properties: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const current = useRef(properties);
  current.current = properties;

  useEffect(() => {
    const host = place.current;
    if (host === null) return undefined;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const parent = document.createElement("div");
    parent.style.height = "100%";
    root.replaceChildren(parent);
    const view = new EditorView({ root, parent, state: stateOf(current) });
    current.current.handle(handleOf(view));
    return () => view.destroy();
  }, []);

  return <div class="editor" ref={place} />;
}

function stateOf(current: { current: Properties }): EditorState {
  const run = (): boolean => (current.current.onRun(), true);
  const format = (view: EditorView): boolean => (replaceText(view, formatted(view.state.doc.toString())), true);
  return EditorState.create({
    doc: current.current.text,
    extensions: [
      Prec.highest(keymap.of([{ key: "Mod-Enter", run }, { key: "Mod-s", run }, { key: "Shift-Alt-f", run: format }])),
      lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), history(), indentOnInput(),
      bracketMatching(), closeBrackets(), highlightSelectionMatches(), indentUnit.of("  "), rspql, highlighting, look,
      autocompletion({ override: [complete], icons: false, activateOnTyping: true }),
      linter((view) => judge(view, (verdict) => current.current.onVerdict(verdict), current.current.query), {
        delay: LINT_MS,
        needsRefresh: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(judgeAgain))),
      }),
      lintGutter(), wrapping,
      placeholder("SELECT … FROM NAMED WINDOW :w ON :stream [RANGE 10s STEP 5s] WHERE { WINDOW :w { … } }"),
      EditorView.contentAttributes.of({ "aria-label": "Query text", spellcheck: "false" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) current.current.onChange(update.state.doc.toString());
      }),
      // Escape leaves the editor, so that Tab can indent without being a trap.
      keymap.of([
        ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap,
        indentWithTab, { key: "Escape", run: (view) => (view.contentDOM.blur(), true) },
      ]),
    ],
  });
}

function replaceText(view: EditorView, text: string): void {
  if (text !== view.state.doc.toString()) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }
}

function handleOf(view: EditorView): EditorHandle {
  return {
    text: () => view.state.doc.toString(),
    set: (text) => replaceText(view, text),
    format: () => replaceText(view, formatted(view.state.doc.toString())),
    toNextFault: () => {
      view.focus();
      nextDiagnostic(view);
    },
  };
}
