/** Lines that are too long continue behind their own indentation, so that the shape of a query stays in sight. */
import { RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

/** Lines that are indented further continue as if they were indented so far. */
const INDENT_MAX = 24;
const FURTHER = 2;

const indents = Array.from({ length: INDENT_MAX + 1 }, (_, indent) => Decoration.line({ class: `cm-indent-${indent}` }));
// Classes, because the content policy of the page allows no styles in the markup.
const styles = EditorView.theme({
  ...Object.fromEntries(indents.map((_, indent) => [
    `.cm-line.cm-indent-${indent}`, { textIndent: `-${indent + FURTHER}ch`, paddingLeft: `calc(${indent + FURTHER}ch + 6px)` },
  ])),
  ".cm-placeholder": { textIndent: "0" },
});

function decorated(view: EditorView): DecorationSet {
  const found = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at);
      const indent = line.text.length - line.text.trimStart().length;
      const decoration = indents[Math.min(indent, INDENT_MAX)];
      if (decoration !== undefined) found.add(line.from, line.from, decoration);
      at = line.to + 1;
    }
  }
  return found.finish();
}

const plugin = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorated(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = decorated(update.view);
    }
  },
  { decorations: (one) => one.decorations },
);

export const wrapping: Extension = [EditorView.lineWrapping, styles, plugin];
