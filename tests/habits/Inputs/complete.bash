# complete.bash SCRIPT: has bash's completion of stc, in the file SCRIPT, complete lines from the standard input, each of whose words are as
# bash splits them (= stands alone), the last of which is to be completed ("" for an empty one). Prints what there is, a line each.
source "$1"
while read -r line; do
  eval "COMP_WORDS=($line)"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _stc 2>/dev/null
  printf '%s:' "$line"
  printf ' %s' "$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd ' ')"
  echo
done
