# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion for fish. The program itself lists its commands and options, so that this file names none of them.

function __rdmadump_devices
    for device in /sys/class/infiniband/* /sys/class/net/*
        string replace -r '.*/' '' -- $device
    end
end

# Whether the line is one of this command; without a command it is one of capture
function __rdmadump_is -a command
    set -l words (commandline -opc)
    contains -- "$words[2]" $__rdmadump_commands; or set words[2] capture
    test "$words[2]" = $command
end

set -g __rdmadump_commands
complete -c rdmadump -f
for line in (rdmadump help 2>/dev/null | sed -nE '/^Commands/,$s/^  ([a-z]+) +(.*)/\1\t\2/p'; printf 'help\tprint the options\n')
    set -l command (string split -m 1 \t -- $line)
    set -ga __rdmadump_commands $command[1]
    complete -c rdmadump -n 'test (count (commandline -opc)) = 1; or __rdmadump_is help' -a $command[1] -d $command[2]
    set -l of "__rdmadump_is $command[1]"
    contains -- $command[1] analyze compare counters digest export; and complete -c rdmadump -n $of -F
    contains -- $command[1] bundle counters events info record selftest; and complete -c rdmadump -n $of -a '(__rdmadump_devices)'
    test $command[1] = help; and continue
    for row in (rdmadump $command[1] --option-list 2>/dev/null)
        # name, argument, shown or hidden, what it is
        set -l option (string split \t -- $row)
        test "$option[3]" = shown; or continue
        set -l name -s (string sub -s 2 -- $option[1])
        string match -q -- '--*' $option[1]; and set name -l (string sub -s 3 -- $option[1])
        set -l values -x
        switch $option[2]
            case -
                set values
            case FILE 'DIR*'
                set values -rF
            case COMMAND
                set values -xa '(__fish_complete_command)'
            case USER
                set values -xa '(__fish_complete_users)'
            case 'DEV*' 'NAME*'
                set values -xa '(__rdmadump_devices)'
            case '*|*'
                set values -xa (string replace -a '|' ' ' -- $option[2])
        end
        complete -c rdmadump -n $of $name $values -d "$option[4]"
    end
end
