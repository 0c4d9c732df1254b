#!/bin/sh
# The programs of a template as one script: a machine is a directory with an agent as a process of this user.
#
# Replace the four commands marked with "#" by those of a cloud, Terraform or Kubernetes. The host calls the script with the machine as JSON
# on standard input. Each step may be repeated. The standard error is the log of the workspace.
set -eu
machines=/var/lib/toolhost-machines

input=$(cat)
field() { printf %s "$input" | sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
machine=$machines/$(field id)
runs() { [ -e "$machine/pid" ] && grep -q '^State:.[^ZX]' "/proc/$(cat "$machine/pid")/status" 2>/dev/null; }

case $1 in
status)
    if [ ! -e "$machine/made" ]; then
        echo '{"state": "missing"}'
    elif runs; then
        # A text that differs for each start: the start-up script runs once for each of them.
        echo "{\"state\": \"running\", \"since\": \"$(cat "$machine/since")\"}"
    else
        echo '{"state": "stopped"}'
    fi
    ;;
create)
    mkdir -p "$machine/work"                                            #
    echo "a machine for $(field workspace)" | tee -a "$machine/made" >&2
    ;;
start)
    if runs; then exit 0; fi
    cat /proc/sys/kernel/random/uuid > "$machine/since"
    # The token is in no command line. What keeps running must not hold the output of this script.
    TOOLHOST_TOKEN=$(field token) XDG_STATE_HOME=$machine/state \
        toolhost-agent --workspace "$machine/work" --connect "$(field url)" --name "$(field name)" \
        > "$machine/output" 2>&1 < /dev/null &                          #
    echo $! > "$machine/pid"
    ;;
stop)
    if ! runs; then exit 0; fi
    kill "$(cat "$machine/pid")"                                        #
    while runs; do sleep 0.1; done
    ;;
remove)
    rm -rf "$machine"                                                   #
    ;;
esac
