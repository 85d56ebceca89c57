#!/bin/sh
# Runs a command as a phase of `make test`, beside which others may run: what it says goes into target/phases/NAME.log, and is printed in one
# piece at the end, where CI is set or the command fails. target/phases.tsv gets a line: name, when it began, seconds, those of processors, status.
# usage: phase.sh NAME COMMAND...
set -eu
name=$1
shift
mkdir -p target/phases
log=target/phases/$name.log
# Places in the line of a `make -j` are not for what runs here: cargo and others have jobs of their own.
MAKEFLAGS=$(printf '%s' "${MAKEFLAGS:-}" | sed 's/ *-j[0-9]*//g; s/ *--jobserver-[a-z]*=[^ ]*//g')
export MAKEFLAGS
echo "$name begins"
begun=$(date +%s) status=0
"$@" >"$log" 2>&1 </dev/null || status=$?
# The second line is of children: minutes and seconds for the user, and for the system.
times >"target/phases/$name.times"
processor=$(awk 'NR == 2 { for (k = 1; k <= 2; k++) { split($k, t, /[ms]/); sum += 60 * t[1] + t[2] } printf "%.0f", sum }' "target/phases/$name.times")
rm "target/phases/$name.times"
seconds=$(($(date +%s) - begun))
printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$begun" "$seconds" "$processor" "$status" >>target/phases.tsv
if [ $status -ne 0 ]; then
    { echo "=== $name failed, status $status:"; cat "$log"; echo "=== end of $name"; } >&2
elif [ -n "${CI:-}" ]; then
    echo "=== $name:"
    cat "$log"
else
    grep '^skipped' "$log" || true
fi
echo "$name: $seconds s, $processor s of processors"
exit $status
