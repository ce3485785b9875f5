#compdef twtasksctl
# shellcheck disable=all
# Completion of twtasksctl for zsh: the program itself knows the words.

compadd -- ${(f)"$(twtasksctl complete -- "${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)"}
