# complete.zsh DIRECTORY LINE -- types LINE and a Tab into an interactive zsh, which finds
# functions of completion in DIRECTORY, and prints the line that comes out.

zmodload zsh/zpty || exit 3
zpty shell TERM=dumb zsh -f -i
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -Uz compinit && compinit -u -D"
# The shell echoes what is typed, so no word of the answers is typed whole.
zpty -w shell "told() { BUFFER=\"print -r -- beg''in:\${(q)BUFFER}:e''nd\"; zle accept-line }; zle -N told; bindkey '^T' told; print rea''dy"
zpty -r shell answer '*ready*'
zpty -w -n shell "$2"$'\t'$'\x14'
zpty -r shell answer '*begin:*:end*'
zpty -d shell
print -r -- ${${answer##*begin:}%%:end*}
