// Fields of forms.  The hint and the fault of a field are read after its name.
import { cloneElement, createContext, toChildArray } from 'preact';
import { useContext, useId } from 'preact/hooks';

// Faults of fields by their names, as an answer of the server has them.
export const Faults = createContext({});

export function Field({ label, name, hint, fault, children }) {
	const id = useId();
	const said = useContext(Faults)[name] ?? fault;
	const control = toChildArray(children)[0];
	const about = [hint && `${id}-hint`, said && `${id}-fault`].filter(Boolean).join(' ');

	return (
		<div class="field">
			<label for={id}>{label}</label>
			{cloneElement(control, { id, name: name ?? control.props.name, 'aria-describedby': about || undefined, 'aria-invalid': said ? 'true' : undefined })}
			{hint && <small id={`${id}-hint`}>{hint}</small>}
			{said && <small class="fault" id={`${id}-fault`}><i aria-hidden="true">✕</i> {said}</small>}
		</div>
	);
}

export const Reason = ({ value, onInput }) => (
	<Field label="Reason" name="reason" hint="For the audit: a ticket, or what you know.">
		<input required maxlength="500" autocomplete="off" value={value} onInput={(e) => onInput(e.currentTarget.value)} />
	</Field>
);

// The fault of one field, by its name: the server begins such details with the name.
export function faultOf(problem) {
	const [, name, text] = /^"(\w+)" (.*)$/s.exec(problem?.body?.detail ?? '') ?? [];
	return name ? { [name]: text[0].toUpperCase() + text.slice(1) } : {};
}
