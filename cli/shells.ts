/** The completion scripts. They pass the words before the cursor to `__complete`, and complete file names if it prints nothing. */
export const SHELLS: Readonly<Record<string, string>> = {
  bash: `# bash completion for snippetctl
_snippetctl() {
  local line word last start
  local -a words
  COMPREPLY=()
  words=()
  # Bash splits words at = and :, and replaces only the last part.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    last=$((\${#words[@]} - 1))
    if (( last >= 0 )) && [[ $word == [=:]* || \${words[last]} == *[=:] ]]; then
      words[last]+=$word
    else
      words+=("$word")
    fi
  done
  [[ $word == [=:] ]] && word=''
  last=$((\${#words[@]} - 1))
  start=\${words[last]%"$word"}
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    COMPREPLY+=("\${line#"$start"}")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${words[@]}" 2>/dev/null)
}
complete -o default -F _snippetctl snippetctl`,

  zsh: `#compdef snippetctl
_snippetctl() {
  local line
  local -a candidates
  while IFS= read -r line; do
    candidates+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#candidates} )); then
    _describe snippetctl candidates
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _snippetctl ]]; then
  _snippetctl "$@"
else
  compdef _snippetctl snippetctl
fi`,

  fish: `# fish completion for snippetctl
function __snippetctl_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete -- $words[2..-1] "$(commandline -ct)" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c snippetctl -f -a '(__snippetctl_complete)'`,
}
