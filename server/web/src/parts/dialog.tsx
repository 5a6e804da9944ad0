/** A dialog: the browser's own, which keeps the focus inside and closes on Escape. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog({ title, close, children }: { title: string; close(): void; children: ComponentChildren }) {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    place.current?.showModal();
    return () => place.current?.close();
  }, []);
  return (
    <dialog ref={place} aria-label={title} onClose={close} onClick={(event) => event.target === place.current && close()}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={close}>×</button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProperties {
  title: string;
  text: string;
  action: string;
  confirm(): void;
  close(): void;
}

export function Confirm({ title, text, action, confirm, close }: ConfirmProperties) {
  return (
    <Dialog title={title} close={close}>
      <p>{text}</p>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={close}>Cancel</button>
        <button type="button" class="button danger" onClick={() => (confirm(), close())}>{action}</button>
      </footer>
    </Dialog>
  );
}
