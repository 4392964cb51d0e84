// Every kind of field that React controls, and what it thinks of them: `window.told()`.
import { StrictMode, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { createRoot } from "react-dom/client";

const EMPTY = {
  text: "", upper: "", amount: "", area: "", select: "s", several: [], agreed: false, size: "", day: "", loud: "5",
  note: "", dialog: "", isOpen: false, items: ["One", "Two", "Three"], sent: [],
};

function App() {
  const [state, setState] = useState(EMPTY);
  const put = (change) => setState((before) => ({ ...before, ...change }));
  const bind = (name, made = (value) => value) => ({
    id: name,
    value: state[name],
    onChange: (event) => put({ [name]: made(event.target.value) }),
  });
  useEffect(() => {
    window.told = () => state;
  });
  return (
    <main>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setState((before) => ({ ...before, sent: [...before.sent, before.text] }));
        }}
      >
        <label>Text <input {...bind("text")} /></label>
        <label>Upper <input {...bind("upper", (value) => value.toUpperCase())} /></label>
        <label>Amount <input {...bind("amount", (value) => value.replace(/\D/g, "").slice(0, 6))} /></label>
        <label>Area <textarea {...bind("area")} /></label>
        <label>Select <select {...bind("select")}><option value="s">Small</option><option value="b">Big</option></select></label>
        <label>Several <select multiple id="several" value={state.several}
          onChange={(event) => put({ several: [...event.target.selectedOptions].map(({ value }) => value) })}>
          <option>Red</option><option>Green</option><option>Blue</option></select></label>
        <label><input type="checkbox" id="agreed" checked={state.agreed}
          onChange={(event) => put({ agreed: event.target.checked })} /> Agreed</label>
        {["Short", "Tall"].map((size) => (
          <label key={size}><input type="radio" name="size" id={size} value={size} checked={state.size === size}
            onChange={(event) => put({ size: event.target.value })} /> {size}</label>
        ))}
        <label>Day <input type="date" {...bind("day")} /></label>
        <label>Loud <input type="range" min="0" max="10" {...bind("loud")} /></label>
        <button id="send">Send</button>
      </form>
      <Note onChange={(note) => put({ note })} />
      <button id="open" type="button" onClick={() => put({ isOpen: true })}>Open</button>
      {state.isOpen && createPortal(
        <div role="dialog" aria-modal="true" aria-label="Portal" style={{ position: "fixed", inset: 40, background: "white" }}>
          <label>Inside <input {...bind("dialog")} /></label>
          <button id="close" type="button" onClick={() => put({ isOpen: false })}>Close</button>
        </div>,
        document.body,
      )}
      <ul>
        {state.items.map((item) => (
          <li key={item}>
            <b>{item}</b>
            <button id={`first-${item}`} type="button"
              onClick={() => put({ items: [item, ...state.items.filter((other) => other !== item)] })}>First</button>
            <button id={`drop-${item}`} type="button"
              onClick={() => put({ items: state.items.filter((other) => other !== item) })}>Drop</button>
          </li>
        ))}
      </ul>
    </main>
  );
}

/** What is written in here is the browser's: only what comes of it is known. */
function Note({ onChange }) {
  const box = useRef(null);
  return <div ref={box} id="note" role="textbox" aria-label="Note" contentEditable suppressContentEditableWarning
    onInput={() => onChange(box.current.innerText)} />;
}

createRoot(document.getElementById("root")).render(<StrictMode><App /></StrictMode>);
