/**
 * `completion`: prints scripts that complete the command in a shell. The scripts ask the command itself for
 * suggestions.
 */
import { Argument, type Command } from 'commander';
import { listSuggestions } from '../arguments/suggestions.ts';
import type { CommandContext } from '../command-context.ts';

type Shell = 'bash' | 'zsh' | 'fish';
const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for task-gateway
_task_gateway() {
  local word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    COMPREPLY+=("$word")
  done < <(task-gateway __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _task_gateway task-gateway
`,
  zsh: `#compdef task-gateway
# zsh completion for task-gateway
_task_gateway() {
  local word meaning
  local -a found
  while IFS=$'\\t' read -r word meaning; do
    found+=("\${word//:/\\\\:}:$meaning")
  done < <(task-gateway __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then
    _describe 'task-gateway' found
  else
    _files
  fi
}
compdef _task_gateway task-gateway
`,
  fish: `# fish completion for task-gateway
function __task_gateway_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l token (commandline -ct)
    set -l found (task-gateway __complete -- $words "$token" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$token"
    end
end
complete -c task-gateway -f -a '(__task_gateway_complete)'
`,
};

const EXAMPLES = `
Examples:
  $ source <(task-gateway completion bash)                 # in ~/.bashrc
  $ source <(task-gateway completion zsh)                  # in ~/.zshrc, after compinit
  $ task-gateway completion fish > ~/.config/fish/completions/task-gateway.fish`;

/** Adds `completion` to the program, and the hidden command `__complete` that its scripts call. */
export function addCompletionCommands(program: Command, { terminal }: CommandContext): void {
  program
    .command('completion')
    .summary('print a completion script for bash, zsh or fish')
    .description('Prints a script with which a shell completes this command.')
    .addArgument(new Argument('<shell>', 'shell to print the script for').choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell) => terminal.print(SCRIPTS[shell]));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      const lines = listSuggestions(program, words).map(({ word, meaning }) => `${word}\t${meaning}\n`);
      await terminal.print(lines.join(''));
    });
}
