# shellcheck shell=bash
# Completion of twtasksctl for bash: the program itself knows the words.

_twtasksctl()
{
	local word

	COMPREPLY=()
	while IFS= read -r word; do
		COMPREPLY+=("$(printf '%q' "$word")")
	done < <(twtasksctl complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _twtasksctl twtasksctl
